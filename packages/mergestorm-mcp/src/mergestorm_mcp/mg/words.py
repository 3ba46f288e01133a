"""Messages meant for a tool's caller, told to somebody who has a command line instead.

A message is written once, for the tool. Where it names a tool, an argument or the server, a person at a terminal is told
of the command, the flag or the machine that is theirs. `--json` has the message as it is.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["in_commands", "refusal"]

_COMMANDS: Final = {
    "review_list": "mg jobs",
    "review_submit": "mg review",
    "review_wait": "mg status --wait",
    "review_wait_pr": "mg pr --wait",
    "review_dismiss": "mg dismiss",
    "issue_create": "mg issue create",
    "queue_status": "mg queue",
    "stack_adopt": "mg stack adopt",
    "stack_list": "mg stack list",
    "stack_publish": "mg stack publish",
    "stack_publish_status": "mg stack publish-status",
    "stack_set": "mg stack set",
    "stack_status": "mg stack status",
    "stack_wait": "mg stack wait",
    "settings_get": "mg settings",
    "repo_settings_get": "mg repo-settings",
}
_PHRASES: Final = {
    "Run `mg login` on the machine of this server, or": "Run `mg login`, or",
    "pass owner and repo": "pass --repo owner/repo",
    "pass branch": "pass --branch",
    "cwd is not in a git checkout; name a directory of one": "This directory is in no git checkout; go to one",
}
_NAMED: Final = re.compile(rf"\b(?:{'|'.join(sorted(_COMMANDS, key=len, reverse=True))})\b")


def in_commands(message: str) -> str:
    """`message` with commands and flags where it names tools and their arguments."""
    for told, here in _PHRASES.items():
        message = message.replace(told, here)
    return _NAMED.sub(lambda found: f"`{_COMMANDS[found[0]]}`", message)


def refusal(message: str, code: str | None, reason: str | None = None) -> str:
    """A failure as `mg` words it, whichever command failed: the message first, then what scripts go by."""
    named = ", ".join(part for part in (code, reason) if part)
    return f"{in_commands(message)} [{named}]" if named else in_commands(message)

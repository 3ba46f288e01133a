"""Messages that name a tool, told to somebody who has a command line instead."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["in_commands"]

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
_NAMED: Final = re.compile(rf"\b(?:{'|'.join(sorted(_COMMANDS, key=len, reverse=True))})\b")


def in_commands(message: str) -> str:
    """`message` with the names of commands where it names tools."""
    return _NAMED.sub(lambda found: f"`{_COMMANDS[found[0]]}`", message)

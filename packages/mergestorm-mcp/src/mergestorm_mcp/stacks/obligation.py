"""The watch contract: when a stack is done, and until then the next call (contract 3.13).

Every result about a stack carries `watch`. Its message is for the agent: the task is not over before the stack has
landed or the human has taken it back, whatever else the result says.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.stacks.model import Stack
from mergestorm_mcp.text import one_line

__all__ = ["SLICE_SECONDS", "done_watch", "open_watch", "terminal_reason"]

SLICE_SECONDS: Final = 45
"""How long the next call should wait."""

_NOT_DONE: Final = (
    "This stack has not landed, so the task is not done: call stack_wait again with the cursor below."
)
_BACKGROUND: Final = (
    "Leave the wait to the background command only if this host has confirmed that it will wake you on output matching "
    "MS-WATCH (ATTENTION|LANDED)."
)
_WHOLE: Final = "Watch the whole stack, not one pull request."
_FRESH: Final = "This cursor is a new one: if you hold an older cursor of this stack, pass that instead."

_DONE: Final = {
    "landed": "The stack has landed. The watch is over.",
    "closed": (
        "The stack is over, but not all of it landed: some pull requests were closed. Tell the human which. The watch is "
        "over."
    ),
    "archived": "The human took the stack back (it is archived). Do not push to it any more. The watch is over.",
    "not_found": (
        "Mergestorm no longer lists this stack, which does not prove that it landed. Check each pull request before you "
        "report a landing. The watch is over."
    ),
}


def terminal_reason(stack: Stack | None) -> str | None:
    """How a stack ended: landed, closed, archived or not_found; None while it goes on."""
    if stack is None:
        return "not_found"
    if stack.archived:
        return "archived"
    unit = stack.unit
    if not stack.layers_known or not all(layer.terminal for layer in stack.layers):
        return None
    if not stack.layers and unit is None:
        return None
    if unit is not None and ((unit.land_pr is not None and unit.land_pr.open) or not unit.over):
        return None
    merged = all(layer.state == "merged" for layer in stack.layers)
    return "landed" if merged and (unit is None or unit.state == "landed") else "closed"


def done_watch(reason: str) -> dict[str, Any]:
    """The `watch` of a stack that is over."""
    return {"done": True, "until": "landed", "reason": reason, "next": None, "message": _DONE[reason]}


def open_watch(
    stack_id: str,
    *,
    reason: str = "open",
    selectors: Mapping[str, str | None] | None = None,
    fresh: bool = False,
    pr_number: int | None = None,
    blocker: str | None = None,
    retry_after: float | None = None,
) -> dict[str, Any]:
    """The `watch` of a stack that goes on.

    Args:
        stack_id: the stack.
        reason: open, attention, unread, failed or rate_limited.
        selectors: the cursor's arguments for the next call; null is kept.
        fresh: whether the cursor was made just now, so that an older one is better.
        pr_number: where the attention is.
        blocker: what it is.
        retry_after: seconds the service asks to be left alone.
    """
    arguments = {"stack_id": stack_id, **(selectors or {}), "timeout_s": SLICE_SECONDS}
    call = json.dumps(arguments)
    sentences = [_NOT_DONE, _BACKGROUND, _WHOLE]
    special = _special(reason, pr_number, blocker, retry_after)
    sentences += [special] if special else []
    sentences.append(f"Next call: stack_wait {call}")
    sentences += [_FRESH] if fresh else []
    shown_id = shlex.quote(one_line(stack_id, 200))
    return {
        "done": False,
        "until": "landed",
        "reason": reason,
        "next": {
            "tool": "stack_wait",
            "args": arguments,
            "command": f"mg stack wait {shown_id} --json",
            "background": f"mg stack watch {shown_id}",
        },
        "message": " ".join(sentences),
    }


def _special(
    reason: str, pr_number: int | None, blocker: str | None, retry_after: float | None
) -> str | None:
    match reason:
        case "rate_limited":
            return (
                "First wait as long as Mergestorm asks."
                if retry_after is None
                else f"First wait {retry_after:g} s."
            )
        case "failed":
            return "The stack could not be read. Try once more; if that fails too, tell the human."
        case "attention":
            where = f"#{pr_number}" if pr_number is not None else "the stack"
            what = f" ({one_line(blocker)})" if blocker else ""
            return (
                f"First deal with {where}{what} as repair says. If you pushed, pass the pushed commit as enrolled_head_sha, "
                "or as --head to the background command."
            )
        case "unread":
            return "The stack's state was not read for this result."
    return None

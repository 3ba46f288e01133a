"""`ragit config set`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.config.editing import set_value

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Change one setting."""
    key, text = context.invocation.arguments
    outcome = set_value(context.root, key, text)
    value = list(outcome.value) if isinstance(outcome.value, tuple) else outcome.value
    return Answer({"key": outcome.key, "value": value, "changed": outcome.changed}, _draw)


def _draw(screen: Screen, data: Any) -> None:
    value = data["value"]
    shown = (
        ", ".join(value)
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    note = "" if data["changed"] else " (it was so already)"
    screen.line((data["key"], "name"), f" = {shown}{note}")

"""The JSON that programs get, and which format is meant (contract B).

    {command, ok, version, cwd, data, warnings[], error?}

`--format` decides. Without it a terminal gets text, unless the user's own configuration says otherwise; a pipe gets what
the contract gives each command, for query and context pack what `output.format` says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from mcpkit.terminal.visible import visible_json
from ragit_mcp import __version__
from ragit_mcp.cli.catalogue import Command

__all__ = ["OutputFormat", "choose_format", "envelope", "render_envelope"]

OutputFormat = Literal["text", "json", "both"]


def choose_format(
    command: Command | None,
    requested: str | None,
    *,
    terminal: bool,
    configured: str | None = None,
    configured_by_user: bool = False,
) -> OutputFormat:
    """What a command prints.

    Args:
        command: the command; None if the command line names none.
        requested: value of `--format`.
        terminal: stdout is a terminal.
        configured: `output.format`, where it was read.
        configured_by_user: it was chosen outside the repository.
    """
    default: str = "text" if command is None else command.format
    if requested is not None:
        return _checked(requested)
    if terminal:
        return _checked(configured) if configured is not None and configured_by_user else "text"
    return _checked(configured if configured is not None and default == "both" else default)


def envelope(
    command: str,
    cwd: str,
    *,
    data: Any,
    ok: bool = True,
    warnings: Sequence[str] = (),
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One reply; not masked yet."""
    value: dict[str, Any] = {
        "command": command,
        "ok": ok,
        "version": __version__,
        "cwd": cwd,
        "data": data,
        "warnings": list(warnings),
    }
    if error is not None:
        value["error"] = error
    return value


def render_envelope(value: dict[str, Any]) -> str:
    """A reply as text: two spaces a level, and no character that a terminal would obey."""
    return visible_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _checked(name: str) -> OutputFormat:
    if name == "json":
        return "json"
    return "both" if name == "both" else "text"

"""Help pages, drawn from the catalogue."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from ragit_mcp.cli.catalogue import COMMANDS, GLOBAL_FLAGS, PROGRAM, Command, Flag

__all__ = ["command_help", "general_help", "group_help"]

_WIDEST: Final = 100
_LEFT: Final = 30
_EXAMPLES: Final = (
    "init --yes",
    "ingest",
    "query how are secrets masked",
    "hooks install",
    "status --format text",
)


def general_help() -> str:
    """What `ragit --help` prints."""
    rows = [(command.name, command.summary) for command in COMMANDS if not command.hidden]
    return _page(
        "Index the documents of a git repository and ask what they say, commit by commit.",
        f"{PROGRAM} COMMAND [arguments] [flags]",
        [("Commands", rows), ("Flags of every command", _flag_rows(GLOBAL_FLAGS))],
        _EXAMPLES,
        f"More about a command: {PROGRAM} COMMAND --help. The MCP server is ragit-mcp.",
    )


def group_help(word: str) -> str | None:
    """What `ragit hooks --help` prints; None if no command begins with that word."""
    members = [c for c in COMMANDS if c.name.startswith(f"{word} ") and not c.hidden]
    if not members:
        return None
    rows = [(command.name, command.summary) for command in members]
    examples = [example for command in members for example in command.examples[:1]]
    return _page("", f"{PROGRAM} {word} COMMAND [flags]", [("Commands", rows)], examples, "")


def command_help(command: Command) -> str:
    """What `ragit COMMAND --help` prints."""
    argument = f" [{command.argument}]" if command.arguments[0] == 0 else f" {command.argument}"
    usage = f"{PROGRAM} {command.name}{argument if command.argument else ''} [flags]"
    sections = [("Flags", _flag_rows(command.flags))] if command.flags else []
    default = f"Printed by default: {command.format}; on a terminal always text."
    return _page(
        f"{command.summary[0].upper()}{command.summary[1:]}.",
        usage,
        [*sections, ("Flags of every command", _flag_rows(GLOBAL_FLAGS))],
        command.examples,
        default,
        detail=command.detail,
    )


def _page(
    summary: str,
    usage: str,
    sections: Iterable[tuple[str, Sequence[tuple[str, str]]]],
    examples: Sequence[str],
    end: str,
    *,
    detail: str = "",
) -> str:
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    parts = [summary] if summary else []
    parts.append(f"Usage: {usage}")
    if detail:
        parts.append(detail)
    parts += [f"{title}:\n{_rows(rows, width)}" for title, rows in sections]
    if examples:
        parts.append("Examples:\n" + "\n".join(f"  {PROGRAM} {example}" for example in examples))
    if end:
        parts.append(end)
    return "\n\n".join(parts) + "\n"


def _rows(rows: Sequence[tuple[str, str]], width: int) -> str:
    left = min(max(len(name) for name, _ in rows), _LEFT) + 4
    lines: list[str] = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, max(width - left, 30)) or [""]
        head = f"  {name}".ljust(left)
        if len(name) + 4 > left:
            lines.append(f"  {name}")
            head = " " * left
        lines.append(head + wrapped[0])
        lines += [" " * left + line for line in wrapped[1:]]
    return "\n".join(lines)


def _flag_rows(flags: Iterable[Flag]) -> list[tuple[str, str]]:
    return [(f"--{flag.name} {flag.value}".rstrip(), _explained(flag)) for flag in flags]


def _explained(flag: Flag) -> str:
    notes = []
    if flag.choices:
        notes.append(", ".join(flag.choices))
    if flag.default:
        notes.append(f"default {flag.default}")
    return f"{flag.help} ({'; '.join(notes)})" if notes else flag.help

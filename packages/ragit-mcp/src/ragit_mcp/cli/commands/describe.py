"""`ragit describe`: what a command takes, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.catalogue import COMMANDS, GLOBAL_FLAGS, PROGRAM, Command, Flag, find_command
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.help_text import command_help, general_help
from ragit_mcp.cli.parsing import usage_error

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """One command, or the list of all."""
    words = context.invocation.arguments
    if not words:
        shown = [command for command in COMMANDS if not command.hidden]
        data: dict[str, Any] = {
            "program": PROGRAM,
            "commands": [{"name": command.name, "summary": command.summary} for command in shown],
            "flags": [_flag(flag) for flag in GLOBAL_FLAGS],
        }
        return Answer(data, lambda screen, _: _lines(screen, general_help()))
    command = find_command(words)
    if command is None or command.hidden or command.name.split() != list(words):
        raise usage_error(
            f"There is no such command. There are: {', '.join(c.name for c in COMMANDS if not c.hidden)}.",
            reason="unknown_command",
        )
    return Answer(_command(command), lambda screen, _: _lines(screen, command_help(command)))


def _command(command: Command) -> dict[str, Any]:
    least, greatest = command.arguments
    return {
        "name": command.name,
        "summary": command.summary,
        "detail": command.detail or None,
        "argument": {
            "name": command.argument,
            "least": least,
            "greatest": greatest,
            "member": command.argument_member or None,
        }
        if command.argument
        else None,
        "flags": [_flag(flag) for flag in command.flags],
        "globalFlags": [_flag(flag) for flag in GLOBAL_FLAGS],
        "defaultFormat": command.format,
        "input": list(command.input_members) or None,
        "writes": command.writes or None,
        "examples": [f"{PROGRAM} {example}" for example in command.examples],
    }


def _flag(flag: Flag) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": f"--{flag.name}",
        "help": flag.help,
        "value": flag.value or None,
        "choices": list(flag.choices) or None,
        "default": flag.default or None,
        "repeatable": flag.repeatable,
        "member": flag.member or None,
    }
    if flag.least is not None:
        value |= {"least": flag.least, "greatest": flag.greatest}
    return value


def _lines(screen: Screen, text: str) -> None:
    for line in text.splitlines():
        screen.line(line)

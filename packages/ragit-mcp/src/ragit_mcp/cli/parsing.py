"""A command line as an invocation (contract B): flags in any position, `--flag=value` or `--flag value`, `--` ends them.

Reading takes two steps. `sketch` never fails: it finds the command and the format that were probably meant, so that even
a wrong command line is answered in the right way. `parse` says what is wrong.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ragit_mcp.cli.catalogue import (
    COMMANDS,
    GLOBAL_FLAGS,
    LATER_COMMANDS,
    PROGRAM,
    Command,
    Flag,
    find_command,
)
from ragit_mcp.errors import CommandError

__all__ = ["Invocation", "Sketch", "parse", "sketch", "usage_error"]

FORMAT_NAMES: Final[Mapping[str, str]] = {
    "text": "text",
    "json": "json",
    "both": "both",
    "markdown": "text",
    "table": "text",
}
_ALL_FLAGS: Final[Mapping[str, Flag]] = {
    flag.name: flag for flags in (GLOBAL_FLAGS, *(command.flags for command in COMMANDS)) for flag in flags
}
_SHOWABLE: Final = re.compile(r"[\w./ -]{1,60}", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a command line seems to mean.

    Attributes:
        command: the command; None if its words name none.
        words: arguments that are no flags.
        given: flags with their values in order; None for one that has none.
        format: the format asked for, if there is such a format.
        help: help was asked for.
        version: the version was asked for.
    """

    command: Command | None
    words: tuple[str, ...]
    given: tuple[tuple[str, str | None], ...]
    format: str | None
    help: bool
    version: bool


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command line that was understood.

    Attributes:
        command: the command.
        arguments: its positional arguments.
        values: values of its flags; an empty list for a switch.
        cwd: directory to work on, as given; None if it was not.
        format: the format asked for.
    """

    command: Command
    arguments: tuple[str, ...]
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cwd: str | None = None
    format: str | None = None

    def has(self, flag: str) -> bool:
        """Whether a flag was given."""
        return flag in self.values

    def text(self, flag: str) -> str | None:
        """The last value of a flag; None if it was not given."""
        values = self.values.get(flag)
        return values[-1] if values else None

    def number(self, flag: str) -> int | None:
        """The last value of a flag that takes a whole number."""
        text = self.text(flag)
        return None if text is None else int(text)

    def all(self, flag: str) -> tuple[str, ...]:
        """Every value of a flag."""
        return tuple(self.values.get(flag, ()))


def usage_error(message: str, *, reason: str, command: Command | None = None) -> CommandError:
    """The error for a command line that is wrong; `reason` is the stable name of the case."""
    help_page = f"{PROGRAM} {command.name} --help" if command is not None else f"{PROGRAM} --help"
    return CommandError("CLI_USAGE", message, details={"reason": reason}, recovery=help_page)


def sketch(arguments: Sequence[str]) -> Sketch:
    """Read a command line as far as possible; never fails."""
    words: list[str] = []
    given: list[tuple[str, str | None]] = []
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        position += 1
        if argument == "--":
            words += arguments[position:]
            break
        if len(argument) < 2 or not argument.startswith("-"):
            words.append(argument)
            continue
        name, equals, value = _split(argument)
        flag = _ALL_FLAGS.get(name)
        if equals:
            given.append((name, value))
        elif flag is None or not flag.value or position == len(arguments) or _is_flag(arguments[position]):
            given.append((name, None))
        else:
            given.append((name, arguments[position]))
            position += 1
    formats = [FORMAT_NAMES.get(value or "") for name, value in given if name in {"format", "output"}]
    names = {name for name, _ in given}
    return Sketch(
        find_command(tuple(words)),
        tuple(words),
        tuple(given),
        formats[-1] if formats else None,
        "help" in names,
        "version" in names,
    )


def parse(seen: Sketch) -> Invocation:
    """The invocation that a sketch is.

    Raises:
        CommandError: `CLI_USAGE`; `details.reason` is `no_command`, `unknown_command`, `later_command`, `unknown_flag`,
            `missing_value`, `unwanted_value`, `bad_value`, `missing_argument` or `too_many_arguments`.
    """
    command = seen.command
    if command is None:
        raise _unknown_command(seen.words)
    values: dict[str, list[str]] = {}
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *command.flags)}
    for name, value in seen.given:
        flag = flags.get(name)
        if flag is None:
            raise _unknown_flag(name, command, flags)
        values.setdefault(name, []).extend(_checked(flag, value, command))
    arguments = seen.words[len(command.name.split()) :]
    _check_arguments(command, arguments, values)
    cwd = values.pop("cwd", [None])[-1]
    for name in ("format", "output"):
        values.pop(name, None)
    return Invocation(command, arguments, values, cwd, seen.format)


def _split(argument: str) -> tuple[str, str, str]:
    if argument == "-h":
        return "help", "", ""
    name, equals, value = argument.partition("=")
    return (name.removeprefix("--")), equals, value


def _is_flag(argument: str) -> bool:
    return argument.startswith("--") or argument == "-h"


def _checked(flag: Flag, value: str | None, command: Command) -> list[str]:
    if not flag.value:
        if value is not None:
            raise usage_error(f"--{flag.name} takes no value.", reason="unwanted_value", command=command)
        return []
    if value is None:
        raise usage_error(
            f"--{flag.name} needs a value; one that begins with -- is written --{flag.name}=VALUE.",
            reason="missing_value",
            command=command,
        )
    if flag.name in {"format", "output"}:
        value = FORMAT_NAMES.get(value, value)
    if flag.choices and value not in flag.choices:
        raise usage_error(
            f"--{flag.name} is one of {', '.join(flag.choices)}.", reason="bad_value", command=command
        )
    if flag.least is not None and flag.greatest is not None:
        number = int(value) if _WHOLE.fullmatch(value) else flag.least - 1
        if not flag.least <= number <= flag.greatest:
            raise usage_error(
                f"--{flag.name} is a whole number from {flag.least} to {flag.greatest}.",
                reason="bad_value",
                command=command,
            )
    elif not value.strip() and flag.name in {"cwd", "input", "path", "files"}:
        raise usage_error(f"--{flag.name} needs a value.", reason="missing_value", command=command)
    return [value]


def _check_arguments(command: Command, arguments: Sequence[str], values: Mapping[str, Sequence[str]]) -> None:
    least, greatest = command.arguments
    if greatest is not None and len(arguments) > greatest:
        wanted = f"takes only {command.argument}" if command.argument else "takes no arguments"
        raise usage_error(f"{PROGRAM} {command.name} {wanted}.", reason="too_many_arguments", command=command)
    if len(arguments) < least:
        raise usage_error(
            f"{PROGRAM} {command.name} needs {command.argument}.", reason="missing_argument", command=command
        )
    if "input" in values:
        others = [flag.name for flag in command.flags if flag.member and flag.name in values]
        if arguments or others:
            raise usage_error(
                "--input holds the whole request; it goes with no argument or flag that is part of one.",
                reason="mixed_with_input",
                command=command,
            )


def _unknown_command(words: Sequence[str]) -> CommandError:
    names = [command.name for command in COMMANDS if not command.hidden]
    if not words:
        return usage_error(f"No command is named. There are: {', '.join(names)}.", reason="no_command")
    for count in (2, 1):
        if " ".join(words[:count]) in LATER_COMMANDS:
            return usage_error(
                f"{' '.join(words[:count])} is not part of this version. There are: {', '.join(names)}.",
                reason="later_command",
            )
    group = [name for name in names if name.startswith(f"{words[0]} ")]
    if group:
        whole = ", ".join(f"{PROGRAM} {name}" for name in group)
        return usage_error(
            f"{words[0]} needs a second word, one of its own. There {'are' if len(group) > 1 else 'is'}: {whole}.",
            reason="unknown_command",
        )
    close = difflib.get_close_matches(" ".join(words[:2]), names, 1) or difflib.get_close_matches(
        words[0], names, 1
    )
    hint = f" Did you mean {close[0]}?" if close else ""
    return usage_error(
        f"There is no such command.{hint} There are: {', '.join(names)}.", reason="unknown_command"
    )


def _unknown_flag(name: str, command: Command, flags: Mapping[str, Flag]) -> CommandError:
    from mcpkit.secrets import find_secrets  # only for a command line that is wrong

    # Looked for here and not only in the reply: behind the dashes a token would not be known for one.
    showable = _SHOWABLE.fullmatch(name) and not name.startswith("-") and not find_secrets(name)
    missing = f"no flag --{name}" if showable else "no such flag"
    close = difflib.get_close_matches(name, flags, 1)
    hint = f" Did you mean --{close[0]}?" if close else ""
    dashes = " Words that begin with a dash stand after --." if command.argument else ""
    return usage_error(
        f"There is {missing} here.{hint}{dashes}",
        reason="unknown_flag",
        command=command,
    )

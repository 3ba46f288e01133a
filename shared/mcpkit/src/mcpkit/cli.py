"""Command lines of the servers: flags as Go's `flag` package reads them, exit codes, messages on stderr.

The servers replace programs written in Go, whose flags have their own manners: one dash or two, `-f value` or
`-f=value`, the last value wins, and parsing stops at the first argument that is not a flag. `argparse` reads none of
that the same way and costs a start-up that `--version` cannot afford.

Standard library only, imported before anything else; `--help` and `--version` end here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, NoReturn

__all__ = [
    "EXIT_FAILURE",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_USAGE",
    "CommandFailure",
    "CommandLine",
    "Flag",
    "ListenAddress",
    "Parsed",
    "UsageError",
    "clean_base_path",
    "clean_path",
    "complain",
    "parse_listen_address",
    "run",
]

EXIT_OK: Final = 0
"""Served to the end, or printed what was asked for."""

EXIT_FAILURE: Final = 1
"""Failed while starting to serve or while serving."""

EXIT_USAGE: Final = 2
"""The command line or what it names is wrong; nothing was served."""

EXIT_INTERRUPTED: Final = 130
"""Interrupted before it served, while it still checked what it was given: 128 and the number of SIGINT, as shells say it."""

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_MAX_PORT: Final = 65535
_MAX_SHOWN: Final = 200


class UsageError(Exception):
    """The command line is wrong: exit code 2.

    Args:
        message: what is wrong and what is expected.
        kind: stable name of the case, for programs and tests.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


class FlagError(UsageError):
    """A flag cannot be read; the usage text is shown with the message."""


class CommandFailure(Exception):
    """The program cannot go on: exit code 1.

    Args:
        message: what failed and what to do next.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Flag(NamedTuple):
    """One flag.

    Attributes:
        name: without dashes.
        help: what it does, one sentence.
        value: name of its value in the usage text; empty for a boolean.
        default: value when the flag is not given; ignored for booleans and repeatable flags.
        repeatable: every value counts, in order, instead of the last one.
    """

    name: str
    help: str
    value: str = ""
    default: str = ""
    repeatable: bool = False


class Parsed:
    """What a command line said.

    Attributes:
        given: names of the flags that were given.
        rest: arguments after the flags.
    """

    __slots__ = ("_flags", "_values", "given", "rest")

    def __init__(self, flags: dict[str, Flag], values: dict[str, list[str]], rest: list[str]) -> None:
        self._flags = flags
        self._values = values
        self.given = frozenset(values)
        self.rest = rest

    def text(self, name: str) -> str:
        """The last value of a flag, its default if it was not given."""
        values = self._values.get(name)
        return values[-1] if values else self._flags[name].default

    def all(self, name: str) -> list[str]:
        """Every value of a repeatable flag, in order."""
        return list(self._values.get(name, ()))

    def on(self, name: str) -> bool:
        """Whether a boolean flag is on."""
        values = self._values.get(name)
        return values is not None and values[-1] in _TRUE


class _Answered(Exception):
    """Help or the version was asked for."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class CommandLine:
    """The flags of one program.

    Args:
        program: name used in messages.
        version: printed by `--version`.
        summary: first line of the usage text.
        flags: in the order of the usage text.
        arguments: how arguments after the flags are shown in the usage text, if there are any.
        examples: whole command lines worth copying.
    """

    def __init__(
        self,
        program: str,
        version: str,
        summary: str,
        flags: Sequence[Flag],
        arguments: str = "",
        examples: Sequence[str] = (),
    ) -> None:
        self.program = program
        self.version = version
        self._summary = summary
        self._arguments = arguments
        self._examples = tuple(examples)
        self._flags = {flag.name: flag for flag in flags}

    def usage(self) -> str:
        """The help text, ending in a line end."""
        rows = [(_spelling(flag), _explanation(flag)) for flag in self._flags.values()]
        rows += [("--version", "Print the version and exit."), ("-h, --help", "Print this help and exit.")]
        width = max(len(left) for left, _ in rows)
        head = f"Usage: {self.program} [flags] {self._arguments}".rstrip()
        lines = [self._summary, "", head, "", "Flags:"]
        lines += [f"  {left:<{width}}  {right}" for left, right in rows]
        if self._examples:
            lines += ["", "Examples:", *(f"  {example}" for example in self._examples)]
        return "\n".join(lines) + "\n"

    def parse(self, arguments: Sequence[str]) -> Parsed:
        """Read the flags up to the first argument that is none, or `--`.

        Raises:
            FlagError: unknown flag, missing or malformed value.
        """
        values: dict[str, list[str]] = {}
        position = 0
        while position < len(arguments):
            argument = arguments[position]
            if len(argument) < 2 or argument[0] != "-":
                break
            position += 1
            if argument == "--":
                break
            name, equals, value = _split(argument)
            flag = self._flags.get(name)
            if flag is None:
                self._answer(name, value if equals else "true")
                continue
            if not flag.value:
                value = value if equals else "true"
                if value not in _TRUE and value not in _FALSE:
                    raise FlagError(f"flag --{name} is either true or false", kind="bad_value")
            elif not equals:
                if position == len(arguments):
                    raise FlagError(f"flag --{name} needs a value", kind="missing_value")
                value = arguments[position]
                position += 1
            values.setdefault(name, []).append(value)
        return Parsed(self._flags, values, list(arguments[position:]))

    @staticmethod
    def _answer(name: str, value: str) -> None:
        if name in {"h", "help"}:
            raise _Answered("help")
        if name != "version":
            raise FlagError(f"unknown flag --{_printable(name)}", kind="unknown_flag")
        if value in _TRUE:
            raise _Answered("version")


def _split(argument: str) -> tuple[str, str, str]:
    name, equals, value = argument[2 if argument.startswith("--") else 1 :].partition("=")
    if not name or name.startswith("-"):
        raise FlagError(f"{_printable(argument)} is not a flag", kind="bad_flag_syntax")
    return name, equals, value


def _spelling(flag: Flag) -> str:
    return f"--{flag.name} <{flag.value}>" if flag.value else f"--{flag.name}"


def _explanation(flag: Flag) -> str:
    notes = []
    if flag.repeatable:
        notes.append("may be repeated")
    elif flag.default:
        notes.append(f"default {flag.default}")
    return f"{flag.help} ({', '.join(notes)})" if notes else flag.help


def run(line: CommandLine, action: Callable[[Parsed], int], arguments: Sequence[str] | None = None) -> int:
    """Parse, act, and turn what went wrong into a message and an exit code.

    Args:
        line: the program's flags.
        action: what the program does; gets the parsed line, returns the exit code.
        arguments: `sys.argv[1:]` unless given.

    Returns:
        What `action` returned, 0 after help or version, 1 after `CommandFailure`, 2 after `UsageError`, 130 after an
        interrupt that `action` did not take.
    """
    try:
        parsed = line.parse(sys.argv[1:] if arguments is None else arguments)
        return action(parsed)
    except _Answered as asked:
        if asked.what == "version":
            _write(sys.stdout, f"{line.program} {line.version}\n")
        else:
            _write(sys.stderr, line.usage())
        return EXIT_OK
    except FlagError as error:
        _write(sys.stderr, f"{error.message}\n{line.usage()}")
        complain(line.program, error.message)
        return EXIT_USAGE
    except UsageError as error:
        complain(line.program, error.message)
        return EXIT_USAGE
    except CommandFailure as error:
        complain(line.program, error.message)
        return EXIT_FAILURE
    except KeyboardInterrupt:  # nobody needs a traceback to see what they did themselves
        return EXIT_INTERRUPTED


def complain(program: str, message: str) -> None:
    """Write `PROGRAM: message` as one line on stderr."""
    _write(sys.stderr, f"{program}: {' '.join(message.split())}\n")


def _write(stream: object, text: str) -> None:
    """Write and flush; a stream that is closed or gone is no reason to fail."""
    try:
        stream.write(text)  # type: ignore[attr-defined]
        stream.flush()  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."


class ListenAddress(NamedTuple):
    """Where a server listens.

    Attributes:
        host: a literal IP address, or `""` for every address of the machine.
        port: 0 to 65535; 0 lets the system choose.
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_listen_address(text: str) -> ListenAddress:
    """Read `host:port` and look the host up; IPv6 addresses stand in brackets, an empty host means every address.

    Where a name has several addresses the first IPv4 one is taken.

    Args:
        text: for instance `127.0.0.1:8080`, `[::1]:0`, `localhost:http`, `:8080`.

    Raises:
        UsageError: kind `empty_address`, `bad_address`, `missing_port`, `bad_port` or `unknown_host`.
    """
    if not text:
        raise UsageError("the listen address is empty; give host:port", kind="empty_address")
    host, port = _split_host_port(text)
    return ListenAddress(_look_up(host), _port_number(port))


def _split_host_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, closing, port = text[1:].partition("]")
        if not closing or "[" in host:
            _bad_address("a bracket is not closed")
        if not port:
            raise UsageError("the listen address has no port; give [host]:port", kind="missing_port")
        if not port.startswith(":") or ":" in port[1:] or "]" in port or "[" in port:
            _bad_address("after the bracket only :port may follow")
        return host, port[1:]
    host, colon, port = text.rpartition(":")
    if not colon:
        raise UsageError("the listen address has no port; give host:port", kind="missing_port")
    if ":" in host:
        _bad_address("put an IPv6 address in brackets, like [::1]:8080")
    if any(bracket in text for bracket in "[]"):
        _bad_address("brackets belong around the whole host")
    return host, port


def _bad_address(hint: str) -> NoReturn:
    raise UsageError(f"the listen address is malformed: {hint}", kind="bad_address")


def _port_number(text: str) -> int:
    if not text:
        return 0
    if text.isascii() and text.isdigit():
        port = int(text[:6])
        if len(text) > 6 or port > _MAX_PORT:
            raise UsageError(f"the port is greater than {_MAX_PORT}", kind="bad_port")
        return port
    import socket  # only servers with named ports and names pay for it

    try:
        return socket.getservbyname(text, "tcp")
    except (OSError, UnicodeError, ValueError):
        raise UsageError("the port is neither a number nor a known service", kind="bad_port") from None


def _look_up(host: str) -> str:
    if not host:
        return ""
    import socket

    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError):
        raise UsageError(
            f"the listen host {_printable(host)!r} cannot be resolved; give an address of this machine",
            kind="unknown_host",
        ) from None
    families: Iterable[socket.AddressFamily] = (socket.AF_INET, socket.AF_INET6)
    for family in families:
        for candidate, _, _, _, address in found:
            if candidate == family:
                return str(address[0])
    raise UsageError("the listen host has no IP address", kind="unknown_host")


def clean_base_path(text: str) -> str:
    """The mount path in its shortest form: white space around it and a trailing slash dropped.

    Raises:
        UsageError: kind `bad_base_path`, if it is empty or does not start with `/`.
    """
    path = text.strip()
    if not path.startswith("/"):
        raise UsageError("the base path must start with /", kind="bad_base_path")
    return clean_path(path)


def clean_path(path: str) -> str:
    """An absolute slash-separated path without empty, `.` and `..` segments; `..` at the top stays at the top."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if kept:
                kept.pop()
        elif segment not in {"", "."}:
            kept.append(segment)
    return "/" + "/".join(kept)

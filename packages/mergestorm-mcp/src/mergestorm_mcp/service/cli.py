"""Commands and flags of `mergestorm-local`. Standard library only: help and a wrong flag cost no import of anything else."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from mergestorm_mcp import __version__

__all__ = ["DEFAULT_SCENARIO", "DEFAULT_SPEED", "EMPTY", "LineError", "parse"]

DEFAULT_SCENARIO = "happy-landing"
EMPTY = "empty"
"""The scenario that holds one account and nothing else."""

DEFAULT_SPEED = 10.0
_MAX_SPEED = 10_000.0


class LineError(Exception):
    """The command line is wrong.

    Args:
        message: what is wrong.
        hint: where help is, a command.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        fixed: dict[str, Any] = {"allow_abbrev": False}
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options, **fixed)

    def error(self, message: str) -> NoReturn:
        raise LineError(message, f"{self.prog} --help")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line.

    Raises:
        LineError: wrong arguments.
        SystemExit: help or the version was asked for and printed.
    """
    return _build().parse_args(list(arguments))


def _build() -> _Parser:
    parser = _Parser(
        prog="mergestorm-local",
        description="A Mergestorm on this machine: the API, an approval page, and agents that review, patch and land.",
        epilog=(
            "Exit codes: 0 served to the end, 1 could not start, 2 wrong arguments or scenario, 130 interrupted.\n\n"
            "Examples:\n  mergestorm-local serve\n  mergestorm-local serve --scenario conflict --speed 1\n"
            "  mergestorm-local scenarios\n  mergestorm-local ui"
        ),
    )
    parser.add_argument("-v", "--version", action="version", version=f"mergestorm-local {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="<command>", dest="command", parser_class=_Parser, required=True
    )
    serve = _command(
        commands,
        "serve",
        "Start the service; it prints its address, a key, and what to do next.",
        "serve",
        "serve --scenario ./my.yaml --data ./state",
        "serve --scenario rate-limited --port 8787 --json",
    )
    serve.add_argument(
        "--scenario",
        default=None,
        metavar="NAME|FILE",
        help=f"what it holds and what happens in it (default {DEFAULT_SCENARIO}; {EMPTY} for an account and nothing else)",
    )
    serve.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: a free one)"
    )
    serve.add_argument(
        "--speed",
        type=_speed,
        default=DEFAULT_SPEED,
        metavar="N",
        help=f"how much faster than life things happen (default {DEFAULT_SPEED:g}; 1 is real time)",
    )
    serve.add_argument(
        "--data",
        default=None,
        metavar="DIR",
        help="keep the state here over restarts (default: a temporary folder, removed at the end)",
    )
    _command(commands, "scenarios", "List the scenarios that come with the package.", "scenarios --json")
    page = _command(
        commands,
        "ui",
        "Open the page of the service that was started last.",
        "ui",
        "ui --print",
        "ui --port 8787",
    )
    page.add_argument("--port", type=_port, default=0, metavar="N", help="of the service at this port")
    page.add_argument(
        "--print", dest="only_print", action="store_true", help="print the link and open no browser"
    )
    return parser


def _command(commands: Any, name: str, summary: str, *examples: str) -> _Parser:
    lines = "\n".join(f"  mergestorm-local {example}" for example in examples)
    made: _Parser = commands.add_parser(name, help=summary, description=summary, epilog=f"Examples:\n{lines}")
    made.add_argument("--json", dest="as_json", action="store_true", help="print one JSON document")
    return made


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if 0 < speed <= _MAX_SPEED:
        return speed
    raise argparse.ArgumentTypeError(f"a speed is a number above 0 and up to {_MAX_SPEED:g}")

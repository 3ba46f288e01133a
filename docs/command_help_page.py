"""Writes docs/commands.md: what every command answers to `--help`.

    uv run docs/command_help_page.py

Run it with Python 3.11 or 3.12: later ones word options differently. A test compares the page with the programs.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest import mock

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "commands.md"
COLUMNS: Final = "100"
SAME_WORDING: Final = sys.version_info < (3, 13)
"""Whether this Python's argparse words help as the page has it."""
HEAD: Final = """\
# Every command's help

What the programs answer to `--help`. `uv run docs/command_help_page.py` writes this page and a test holds it to the
programs. The pages on the command line of [mergeway](mergeway/cli.md), [ragit](ragit/cli.md) and
[mergestorm](mergestorm/cli.md) explain more and show output.
"""


def programs() -> dict[str, str]:
    """Entry point of each console script of the packages, by name."""
    found: dict[str, str] = {}
    for path in sorted(ROOT.glob("packages/*/pyproject.toml")):
        found |= tomllib.loads(path.read_text(encoding="utf-8"))["project"]["scripts"]
    return found


def commands() -> dict[str, list[str]]:
    """The commands of each program that has some; a group stands before its members."""
    from mergestorm_mcp.mg.parser import COMMANDS as MG
    from mergestorm_mcp.mg.parser import SUBCOMMANDS
    from mergeway_mcp.cli.arguments import COMMANDS as MERGEWAY
    from ragit_mcp.cli.catalogue import COMMANDS as RAGIT

    mg = [each for name in MG for each in (name, *(f"{name} {below}" for below in SUBCOMMANDS.get(name, ())))]
    return {
        "mergeway-cli": list(MERGEWAY),
        "ragit": [command.name for command in RAGIT if not command.hidden],
        "mg": mg,
        "mergestorm-local": ["serve", "scenarios", "ui"],
    }


def help_of(program: str, command: str = "") -> str:
    """What a program prints for `--help`, a hundred columns wide.

    Raises:
        ValueError: it ended with another exit code than 0.
    """
    module, _, function = programs()[program].partition(":")
    main = getattr(importlib.import_module(module), function)
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    plain = {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    with (
        mock.patch.dict(os.environ, plain),
        mock.patch.object(sys, "argv", [program, *command.split(), "--help"]),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),  # where the servers print it: their stdout belongs to the protocol
    ):
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    if code:
        raise ValueError(f"{program} {command} --help ended with {code}")
    buffer = shown.buffer
    assert isinstance(buffer, io.BytesIO)
    lines = buffer.getvalue().decode("utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def sections() -> Iterator[str]:
    """The page, piece by piece."""
    yield HEAD
    below = commands()
    for program in programs():
        yield f"\n## {program}\n\n```text\n{help_of(program)}\n```\n"
        for command in below.get(program, []):
            yield f"\n### {program} {command}\n\n```text\n{help_of(program, command)}\n```\n"


def page() -> str:
    """The whole page."""
    return "".join(sections())


if __name__ == "__main__":
    if not SAME_WORDING:
        sys.exit("write this page with Python 3.11 or 3.12")
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")

"""The command line of ragit-mcp: one repository, over stdio.

Nothing heavy is imported before the handshake is answered; the model is loaded in the background after it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from ragit_mcp import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastmcp import FastMCP

__all__ = ["SURFACE", "main"]

SURFACE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "surface.json")
"""The checked-in answers to `initialize` and `tools/list`."""

_USAGE: Final = """\
Usage: ragit-mcp [--cwd PATH]

Serves cited, masked retrieval over the indexed documents of one git repository to MCP clients, over stdio. It reads
and never writes; `ragit ingest` makes the index.

  --cwd PATH   A path in the repository. Default: the working directory.
  --version    Print the version and exit.
  --help       Print this help and exit.

Example:
  ragit-mcp --cwd /absolute/path/to/repository
"""


class _Refused(Exception):
    """The command line is wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code: 0, or 1 if it cannot start."""
    try:
        given = _parse(sys.argv[1:] if arguments is None else arguments)
    except _Refused as error:
        sys.stderr.write(f"[ragit-mcp] error: {error}\n")
        return 1
    if given in {"--help", "--version"}:
        sys.stdout.write(_USAGE if given == "--help" else f"ragit-mcp {__version__}\n")
        return 0
    from mcpkit.stdio import serve
    from mcpkit.surface import Surface

    try:
        place = os.path.abspath(given) if given else os.getcwd()
    except OSError:
        sys.stderr.write("[ragit-mcp] error: the working directory is gone; give --cwd\n")
        return 1

    def load() -> FastMCP[Any]:
        from ragit_mcp.server.tools import create  # loads FastMCP and the engine

        return create(_top(place), warm=True)

    return serve(load, surface=Surface.load(SURFACE))


def _parse(arguments: Sequence[str]) -> str:
    """The path given with --cwd, empty if none was; or `--help` or `--version`."""
    place = ""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument in {"--help", "--version"}:
            return argument
        name, equals, value = argument.partition("=")
        if name != "--cwd":
            raise _Refused(f"unsupported ragit-mcp argument: {_shown(argument)}")
        if place:
            raise _Refused("--cwd may be provided only once")
        if not equals:
            value = rest.pop(0) if rest else ""
        if not value.strip() or value.startswith("--"):
            raise _Refused("--cwd requires a non-empty path")
        place = value
    return place


def _shown(argument: str) -> str:
    """An argument as it may be repeated: a secret that was put in the wrong place is not."""
    from mcpkit.secrets import mask  # only for a command line that is wrong

    name = argument.lstrip("-")  # a dash would join a token and count as part of a name
    safe = argument[: len(argument) - len(name)] + mask(name).text
    return "".join(char if char.isprintable() else "?" for char in safe)[:80]


def _top(place: str) -> str:
    """The top directory of the work tree that holds the path, or the path itself; git is not started."""
    from mcpkit.git import GitError, discover

    try:
        return discover(place).work_tree or place
    except GitError:
        return place


if __name__ == "__main__":
    raise SystemExit(main())

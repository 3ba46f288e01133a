"""The console script of the server: answers the handshake first, then imports everything else."""

from __future__ import annotations

from mergestorm_mcp import __version__

TYPE_CHECKING = False  # the prompt handshake: typing and pathlib would double the imports
if TYPE_CHECKING:
    from typing import Any

    from fastmcp import FastMCP

    from mcpkit.cli import Parsed

__all__ = ["SURFACE", "main"]

SURFACE = __file__.removesuffix("main.py") + "surface.json"
"""The checked-in answers to `initialize` and `tools/list`."""


def main() -> int:
    """Entry point of the console script; returns the exit code.

    Without arguments it serves stdin and stdout; `--help` and `--version` are answered. Credentials come from
    MERGESTORM_API_KEY or the file `mg login` writes, at every call anew.
    """
    import sys

    if len(sys.argv) > 1:
        from mcpkit.cli import CommandLine, run  # only for arguments, which a host never passes

        line = CommandLine(
            "mergestorm-mcp",
            __version__,
            "Serves Mergestorm's tools to an MCP client over stdio. The client starts it; `mg login` stores its key.",
            [],
            examples=["claude mcp add --transport stdio mergestorm -- uvx mergestorm-mcp"],
        )
        return run(line, _refuse_arguments)
    return _serve()


def _refuse_arguments(parsed: Parsed) -> int:
    from mcpkit.cli import UsageError

    if parsed.rest:
        raise UsageError("this server takes no arguments; start it without any", kind="unexpected_argument")
    return _serve()


def _serve() -> int:
    from mcpkit.stdio import serve
    from mcpkit.surface import Surface

    def load() -> FastMCP[Any]:
        from mergestorm_mcp.server import create  # loads FastMCP

        return create()

    return serve(load, surface=Surface.load(SURFACE))


if __name__ == "__main__":
    raise SystemExit(main())

"""The command line of mergeway-mcp: checks everything that can be checked, then serves.

Nothing is imported before it is needed: `--help` and `--version` end before the engine is loaded, and the engine before
the framework. The checks come in a fixed order, so that one mistake always gives one message; what they find exits 2.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcpkit.cli import (
    EXIT_OK,
    CommandLine,
    Flag,
    Parsed,
    UsageError,
    clean_base_path,
    parse_listen_address,
    run,
)
from mergeway_mcp import __version__

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from mergeway_mcp.repository import Repository

__all__ = ["COMMAND_LINE", "SURFACE", "main"]

SURFACE: Final = Path(__file__).with_name("surface.json")
"""The checked-in answers to `initialize` and `tools/list`."""

_HTTP_ONLY: Final = ("http-listen", "http-base-path", "http-allow-host", "http-allow-origin")

COMMAND_LINE: Final = CommandLine(
    "mergeway-mcp",
    __version__,
    "Serves a repository of schema-checked records (mergeway.yaml) to MCP clients, read-only.",
    [
        Flag("root", "Folder that holds mergeway.yaml or mergeway.yml.", "path", "."),
        Flag("transport", "How clients connect: stdio or http.", "name", "stdio"),
        Flag(
            "http-listen",
            "Where to listen, host:port; port 0 lets the system choose.",
            "address",
            "127.0.0.1:8080",
        ),
        Flag("http-base-path", "Exact path of the MCP endpoint.", "path", "/"),
        Flag(
            "http-allow-host",
            "Host name that requests may carry; turns the Host check on.",
            "host",
            repeatable=True,
        ),
        Flag("http-allow-origin", "Browser origin that may connect.", "origin", repeatable=True),
        Flag("entity", "Expose only this entity.", "name", repeatable=True),
        Flag("confine", "Refuse includes and links that leave the root."),
    ],
    examples=[
        "mergeway-mcp --root /path/to/repository",
        "mergeway-mcp --root . --entity Service --entity Team --confine",
        "mergeway-mcp --root . --transport http --http-listen 127.0.0.1:8080 --http-base-path /mcp",
    ],
)


def main() -> int:
    """Entry point of the console script; returns the exit code."""
    return run(COMMAND_LINE, _serve)


def _serve(parsed: Parsed) -> int:
    if parsed.rest:
        raise UsageError(
            "unexpected arguments after the flags; there are none but flags", kind="unexpected_argument"
        )
    root = _root(parsed.text("root"))
    transport = parsed.text("transport").strip().lower()
    if transport not in {"stdio", "http"}:
        raise UsageError("unsupported transport; use stdio or http", kind="bad_transport")
    base_path = clean_base_path(parsed.text("http-base-path"))
    misplaced = [name for name in _HTTP_ONLY if name in parsed.given]
    if transport != "http" and misplaced:
        raise UsageError(f"--{misplaced[0]} needs --transport http", kind="http_flag_without_http")
    listen = parse_listen_address(parsed.text("http-listen")) if transport == "http" else None
    repository = _repository(
        root, [name.strip() for name in parsed.all("entity")], confine=parsed.on("confine")
    )

    def load() -> FastMCP[Any]:
        from mergeway_mcp.tools import create  # loads FastMCP

        return create(repository)

    if listen is None:
        from mcpkit.stdio import serve as serve_stdio
        from mcpkit.surface import Surface

        return serve_stdio(load, surface=Surface.load(SURFACE))
    from mcpkit.http import serve as serve_http

    return serve_http(
        load,
        host=listen.host,
        port=listen.port,
        base_path=base_path,
        allow_hosts=parsed.all("http-allow-host"),
        allow_origins=parsed.all("http-allow-origin"),
        program=COMMAND_LINE.program,
    )


def _root(text: str) -> str:
    # An empty root means the working directory, as it does for the recorded reference server.
    try:
        root = os.path.abspath(text or ".")
    except OSError:  # the working directory was removed
        raise UsageError(
            "the working directory is gone; give --root an absolute path to the folder with mergeway.yaml",
            kind="bad_root",
        ) from None
    if not os.path.exists(root):
        raise UsageError(
            "the root does not exist; give --root the folder with mergeway.yaml", kind="bad_root"
        )
    if not os.path.isdir(root):
        raise UsageError(
            "the root is not a directory; give --root the folder with mergeway.yaml", kind="bad_root"
        )
    return root


def _repository(root: str, entities: list[str], *, confine: bool) -> Repository:
    from mergeway_mcp.repository import Repository, RepositoryError

    if "" in entities:
        raise UsageError("--entity needs a non-empty name", kind="bad_entity")
    try:
        repository = Repository(root, confine=confine, allowed=frozenset(entities) if entities else None)
        known = repository.load_config().entities
    except RepositoryError as error:
        raise UsageError(error.detail, kind="bad_configuration") from None
    unknown = [name for name in entities if name not in known]
    if unknown:
        raise UsageError(
            "--entity names an entity that the configuration does not have; names are case-sensitive, one a flag",
            kind="unknown_entity",
        )
    return repository


if __name__ == "__main__":
    raise SystemExit(main() or EXIT_OK)

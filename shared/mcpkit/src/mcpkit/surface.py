"""What a server answers before it does anything: `initialize` and `tools/list`, as a checked-in snapshot.

The snapshot lets the stdio adapter answer the handshake while the server is still being imported, and it is the record
in which a reviewer sees how a change alters the surface that every client reads. It is generated from the FastMCP
server (`generate`), never written by hand, and each server has a test that compares the two for every protocol
revision of the handshake eras (`drift`).

    python -P -m mcpkit.surface weather.server:mcp weather/surface.json

writes the snapshot of a server that is named by module and attribute.

File format: JSON, `{"format": 1, "initialize": {VERSION: result}, "tools/list": {VERSION: result}}`; a result equal to
another version's is that version's name. Reading needs the standard library only.
"""

from __future__ import annotations

import json

TYPE_CHECKING = (
    False  # reading a snapshot is part of the prompt handshake: typing and pathlib would double its imports
)
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

__all__ = [
    "HANDSHAKE_VERSIONS",
    "LATEST_HANDSHAKE_VERSION",
    "Surface",
    "drift",
    "generate",
    "token_estimate",
    "tokens",
]

HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol revisions negotiated by `initialize`, newest first."""

LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_VERSIONS[0]
"""What an unknown or missing version is answered with."""

_METHODS: Final = ("initialize", "tools/list")
_FORMAT: Final = 1


class Surface:
    """The recorded answers of one server.

    Args:
        answers: `{method: {version: result or name of an equal version}}`.

    Raises:
        ValueError: the snapshot lacks a method or a version.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: dict[str, dict[str, Any]]) -> None:
        for method in _METHODS:
            missing = [version for version in HANDSHAKE_VERSIONS if version not in answers.get(method, {})]
            if missing:
                raise ValueError(
                    f"surface snapshot has no {method} for {', '.join(missing)}; generate it again"
                )
        self._answers = answers

    @classmethod
    def load(cls, path: str | Path) -> Surface:
        """Read a snapshot file.

        Raises:
            ValueError: the file is not a snapshot of this format.
            OSError: the file cannot be read.
        """
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ValueError(f"not a surface snapshot of format {_FORMAT}; generate it again")
        return cls({method: data.get(method, {}) for method in _METHODS})

    def initialize(self, requested: object) -> dict[str, Any]:
        """The `initialize` result for the version a client asked for, the latest one if it is not known."""
        return self._answer("initialize", negotiate(requested))

    def tools_list(self, version: str) -> dict[str, Any]:
        """The `tools/list` result under a negotiated version."""
        return self._answer("tools/list", version)

    def _answer(self, method: str, version: str) -> dict[str, Any]:
        answer = self._answers[method][version]
        result: dict[str, Any] = self._answers[method][answer] if isinstance(answer, str) else answer
        return result

    def dump(self) -> str:
        """The snapshot as file text, equal answers written once."""
        folded: dict[str, Any] = {"format": _FORMAT}
        for method in _METHODS:
            seen: dict[str, str] = {}
            folded[method] = {}
            for version in HANDSHAKE_VERSIONS:
                answer = self._answer(method, version)
                key = json.dumps(answer, sort_keys=True)
                folded[method][version] = seen.get(key, answer)
                seen.setdefault(key, version)
        return json.dumps(folded, indent=1, ensure_ascii=False) + "\n"


def negotiate(requested: object) -> str:
    """The handshake version for what a client asked for: its own if known, else the latest."""
    return (
        requested
        if isinstance(requested, str) and requested in HANDSHAKE_VERSIONS
        else LATEST_HANDSHAKE_VERSION
    )


async def generate(app: Any) -> Surface:
    """Ask a FastMCP server for its surface, once per handshake version, over in-process streams.

    Args:
        app: a `fastmcp.FastMCP`; typed loosely so that reading a snapshot needs no FastMCP.
    """
    from mcpkit.testing import raw_exchange  # loads FastMCP; only generation needs it

    answers: dict[str, dict[str, Any]] = {method: {} for method in _METHODS}
    for version in HANDSHAKE_VERSIONS:
        client = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "surface", "version": "1"},
        }
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        replies = await raw_exchange(app, [initialize, tools])
        for message, method in zip(replies, _METHODS, strict=True):
            if "result" not in message:
                raise ValueError(f"the server refused {method} under {version}: {message.get('error')}")
            answers[method][version] = message["result"]
    return Surface(answers)


async def drift(app: Any, recorded: Surface) -> list[str]:
    """Where a recorded surface differs from what the server answers now, one line each; empty when it does not."""
    current = await generate(app)
    return [
        f"{method} under {version} differs from the snapshot; generate it again"
        for method in _METHODS
        for version in HANDSHAKE_VERSIONS
        if current._answer(method, version) != recorded._answer(method, version)
    ]


def token_estimate(surface: Surface, version: str = LATEST_HANDSHAKE_VERSION) -> int:
    """Roughly what the tool list costs an agent's context, in tokens (four bytes of compact JSON each)."""
    return tokens(surface.tools_list(version))


def tokens(content: object) -> int:
    """Roughly what a text, or a JSON value in compact form, costs an agent's context: four bytes a token."""
    text = (
        content
        if isinstance(content, str)
        else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    )
    return (len(text.encode("utf-8")) + 3) // 4


def main(arguments: list[str]) -> int:
    """`MODULE:ATTRIBUTE FILE`: write the snapshot of a hardened FastMCP server; returns the exit code."""
    import sys

    module, _, attribute = arguments[0].partition(":") if len(arguments) == 2 else ("", "", "")
    if not attribute:
        sys.stderr.write("usage: python -P -m mcpkit.surface MODULE:ATTRIBUTE FILE\n")
        return 2
    from mcpkit.isolation import seal_settings  # with the imports below: only generation needs them

    seal_settings()
    import importlib

    import anyio
    from fastmcp import FastMCP

    from mcpkit.server import harden

    try:
        app = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        sys.stderr.write(f"mcpkit.surface: {error.name} is not installed here; try pip install -e . first\n")
        return 2
    if not isinstance(app, FastMCP):
        sys.stderr.write("mcpkit.surface: MODULE:ATTRIBUTE names no FastMCP server\n")
        return 2
    surface = anyio.run(generate, harden(app))
    with open(arguments[1], "w", encoding="utf-8", newline="\n") as file:
        file.write(surface.dump())
    sys.stderr.write(f"{arguments[1]}: about {token_estimate(surface)} tokens of tools\n")
    return 0


if __name__ == "__main__":
    from sys import argv

    raise SystemExit(main(argv[1:]))

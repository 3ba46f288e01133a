"""Starts: handshake, first result, `--version` and `--help`, and idle memory, beside a FastMCP hello world."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.handshake import compare
from tests.benchmarks.peers import EXAMPLE, HELLO, StdioServer, hello_world, our_server
from tests.benchmarks.warm import LIST

__all__ = ["idle_memory", "starts"]


def starts(*, rounds: int) -> Iterator[Figure]:
    """Start the server on the bundled example, ask for version and help, and start a hello world, in turns."""
    server = our_server(EXAMPLE)
    program = server[0]
    ours, theirs = compare(
        [server, [program, "--version"], [program, "--help"]], rounds=rounds, tool=LIST, quit_from=1
    )
    session, version, usage = ours
    first_reply = [times.handshake for times in theirs]
    peer = "FastMCP hello world's initialize reply"
    yield Figure(
        "start to initialize reply",
        peer,
        [times.handshake for times in session],
        first_reply,
        "ms",
        at_most=0.15,
    )
    yield Figure(
        "start to first entity_list result",
        "FastMCP hello world's first tool result",
        [times.tool for times in session],
        [times.tool for times in theirs],
        "ms",
        at_most=1.1,
    )
    yield Figure("--version", peer, [times.handshake for times in version], first_reply, "ms", at_most=0.1)
    yield Figure("--help", peer, [times.handshake for times in usage], first_reply, "ms", at_most=0.1)


def idle_memory(folder: Path, *, rounds: int) -> Iterator[Figure]:
    """Memory of the process after its first tool call, on the bundled example."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        with StdioServer(our_server(EXAMPLE)) as server:
            server.call(LIST)
            ours.append(server.resident / 2**20)
        with StdioServer(hello_world(folder)) as server:
            server.call(HELLO)
            theirs.append(server.resident / 2**20)
    yield Figure("idle memory after a call, stdio", "FastMCP hello world", ours, theirs, "MiB")

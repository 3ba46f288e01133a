"""mergestorm-mcp: its start, what a tool call adds to an HTTP request, an idle watcher's memory, and publication.

    uv run python -m tests.benchmarks --only mergestorm

Each beside a peer of the same run: a FastMCP hello world, the bare HTTP request, and `git push` of the same branch.
"""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.handshake import compare
from tests.benchmarks.peers import HELLO, StdioServer, Tool, hello_world, installed
from tests.benchmarks.plain_git import git
from tests.benchmarks.storm_service import Target, service

__all__ = ["StormScale", "storm"]

WHOAMI: Final = Tool("whoami", {})
_COMMITS: Final = 20


class StormScale(NamedTuple):
    """How much is measured.

    Attributes:
        starts: Rounds of starting the server.
        calls: Rounds of calls.
        watches: Rounds of watching.
        slices: Waits of such a watch.
        slice_seconds: Length of each.
        publications: Rounds of publishing.
        paths: Changed paths of each of the 20 commits.
        path_bytes: Size of each.
    """

    starts: int
    calls: int
    watches: int
    slices: int
    slice_seconds: float
    publications: int
    paths: int
    path_bytes: int


def storm(scale: StormScale, folder: Path) -> Iterator[Figure | Fact]:
    """Everything about mergestorm-mcp.

    Args:
        scale: How much.
        folder: For repositories, homes and the hello world's script.
    """
    yield from starts(rounds=scale.starts)
    with service(folder) as target:
        yield from added_latency(target, folder, rounds=scale.calls)
        yield from idle_watcher(target, folder, scale)
        yield from publications(target, folder, scale)


def our_server() -> list[str]:
    """The command of mergestorm-mcp.

    Raises:
        RuntimeError: it is not installed beside this interpreter.
    """
    return [installed("mergestorm-mcp")]


def starts(*, rounds: int) -> Iterator[Figure]:
    """Start the server and a hello world, in turns."""
    (ours,), theirs = compare([our_server()], rounds=rounds)
    yield Figure(
        "mergestorm-mcp: start to initialize reply",
        "FastMCP hello world's initialize reply",
        [times.handshake for times in ours],
        [times.handshake for times in theirs],
        "ms",
        at_most=0.15,
    )


def added_latency(target: Target, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Call `whoami` over stdio, and make the request it makes from here, in turns; both keep their connection."""
    place = urlsplit(target.url)
    ours: list[float] = []
    requests: list[float] = []
    bounds: list[float] = []
    with (
        StdioServer(our_server(), variables=target.variables(folder)) as server,
        StdioServer(hello_world(folder)) as hello,
    ):
        connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
        for number in range(rounds + 3):
            call, request, greeting = server.timed(WHOAMI), _request(connection, target), hello.timed(HELLO)
            if number >= 3:  # the first calls load what they need
                ours.append(call)
                requests.append(request)
                bounds.append(request + greeting)
        connection.close()
    yield Figure(
        "whoami over stdio",
        "the bare HTTP request and a FastMCP hello world's call",
        ours,
        bounds,
        "ms",
        at_most=2.0,
    )
    added = [call - request for call, request in zip(ours, requests, strict=True)]
    yield Fact(
        "latency that a tool call adds to the bare HTTP request",
        f"{statistics.median(added):.2f} ms ({statistics.median(ours):.2f} ms against {statistics.median(requests):.2f} ms)",
    )


def _request(connection: HTTPConnection, target: Target) -> float:
    started = time.perf_counter()
    connection.request(
        "GET",
        f"{urlsplit(target.url).path}/api/v1/me",
        headers={"Authorization": f"Bearer {target.key}", "Accept": "application/json"},
    )
    reply = connection.getresponse()
    reply.read()
    if reply.status != 200:
        raise RuntimeError(f"the service refused: HTTP {reply.status}")
    return (time.perf_counter() - started) * 1000


def idle_watcher(target: Target, folder: Path, scale: StormScale) -> Iterator[Figure | Fact]:
    """Memory of a server that waits for a quiet stack, slice after slice, beside a hello world after a call."""
    ours: list[float] = []
    theirs: list[float] = []
    growth: list[float] = []
    wait = Tool("stack_wait", {"stack_id": target.stack, "timeout_s": scale.slice_seconds})
    for _ in range(scale.watches):
        with StdioServer(our_server(), variables=target.variables(folder)) as server:
            seen: list[float] = []
            for _slice in range(scale.slices):
                server.call(wait)
                seen.append(server.resident / 2**20)
            ours.append(seen[-1])
            growth.append(seen[-1] - seen[0])
        with StdioServer(hello_world(folder)) as server:
            server.call(HELLO)
            theirs.append(server.resident / 2**20)
    yield Figure("idle watcher's memory", "FastMCP hello world after a call", ours, theirs, "MiB")
    yield Fact(
        "growth of an idle watcher's memory",
        f"{max(growth):.2f} MiB at most from the first to the last of {scale.slices} waits of {scale.slice_seconds:g} s",
    )


def publications(target: Target, folder: Path, scale: StormScale) -> Iterator[Figure]:
    """Publish a branch, and push the same branch to a bare repository on this machine, in turns."""
    checkout = folder / "published"
    _clone(target, checkout)
    chance = random.Random(7)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(scale.publications + 1):
        # New contents each time: what a service or a repository has already is not sent again.
        branch = f"bench-{time.time_ns()}"
        _write_history(checkout, branch, scale, chance)
        bare = folder / f"pushed-{number}.git"
        git(
            folder,
            "clone",
            "--quiet",
            "--bare",
            "--single-branch",
            "--branch",
            "main",
            str(checkout),
            str(bare),
        )
        publish = Tool("stack_publish", {"cwd": str(checkout), "branch": branch, "base": "main"})
        with StdioServer(our_server(), variables=target.variables(checkout)) as server:
            server.call(WHOAMI)  # a server in use: its start is measured elsewhere
            published = server.timed(publish)
        started = time.perf_counter()
        git(checkout, "push", "--quiet", str(bare), f"refs/heads/{branch}:refs/heads/{branch}")
        pushed = (time.perf_counter() - started) * 1000
        shutil.rmtree(bare)
        if number:  # the first round fills the caches
            ours.append(published)
            theirs.append(pushed)
    size = _COMMITS * scale.paths * scale.path_bytes / 2**20
    yield Figure(
        f"publication of {_COMMITS} commits, {_COMMITS * scale.paths} paths, {size:.2f} MiB",
        "git push of the same branch to a local bare repository",
        ours,
        theirs,
        "ms",
    )


def _clone(target: Target, checkout: Path) -> None:
    """A checkout with `main` and its remote-tracking branch."""
    git(checkout.parent, "clone", "--quiet", target.origin, str(checkout))
    git(checkout, "remote", "set-url", "origin", f"https://github.com/{target.owner}/{target.repo}.git")


def _write_history(checkout: Path, branch: str, scale: StormScale, chance: random.Random) -> None:
    """Make a branch of 20 commits on main, each with new files of random bytes."""
    parts: list[bytes] = []
    for number in range(_COMMITS):
        parts.append(
            f"commit refs/heads/{branch}\ncommitter Ada Tide <ada@example.invalid> {1_777_622_400 + number} +0000\n"
            f"data 8\nchange {number % 10}\n".encode()
        )
        if not number:
            parts.append(b"from refs/heads/main\n")
        for path in range(scale.paths):
            name = f"M 100644 inline {branch}/{number:02d}/{path:03d}.bin\ndata {scale.path_bytes}\n"
            parts += [name.encode(), chance.randbytes(scale.path_bytes), b"\n"]
    git(checkout, "fast-import", "--quiet", data=b"".join(parts))

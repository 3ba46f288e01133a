"""How soon a server answers, beside a FastMCP hello world; both are started in turns in one run.

    uv run python -m tests.benchmarks.handshake -- COMMAND...                 start to the `initialize` reply
    uv run python -m tests.benchmarks.handshake --tool NAME -- COMMAND...     and to the first result of a tool
    uv run python -m tests.benchmarks.handshake --quits -- COMMAND --version  start to the end of the process

With `--at-most` the exit code is 1 if the first ratio is larger.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.figures import Figure, Report
from tests.benchmarks.peers import HELLO, StdioServer, Tool, environment, hello_world

__all__ = ["Times", "compare", "time_end", "time_session"]


class Times(NamedTuple):
    """Milliseconds from the start of the process to the handshake's reply (or to its end) and to a tool's result."""

    handshake: float
    tool: float = 0.0


def time_session(command: Sequence[str], tool: Tool | None = None) -> Times:
    """Start a server, shake hands, call a tool if one is given, and let it end.

    Raises:
        RuntimeError: the server refused or ended early.
    """
    started = time.perf_counter()
    with StdioServer(command) as server:
        handshake = time.perf_counter() - started
        if tool is not None:
            server.call(tool)
        called = time.perf_counter() - started
    return Times(handshake * 1000, called * 1000)


def time_end(command: Sequence[str]) -> Times:
    """Run a command that ends by itself, `--version` for instance.

    Raises:
        subprocess.CalledProcessError: it did not end with 0.
    """
    started = time.perf_counter()
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        check=True,
    )
    return Times((time.perf_counter() - started) * 1000)


def compare(
    commands: Sequence[Sequence[str]], *, rounds: int, tool: Tool | None = None, quit_from: int | None = None
) -> tuple[list[list[Times]], list[Times]]:
    """Time commands and the hello world in turns.

    Args:
        commands: What to start.
        rounds: How often each.
        tool: Called after the handshake; the hello world's own tool is called beside it.
        quit_from: Commands from this position on end by themselves.

    Returns:
        The times of each command, and those of the hello world in the same rounds.
    """
    ours: list[list[Times]] = [[] for _ in commands]
    theirs: list[Times] = []
    with tempfile.TemporaryDirectory() as folder:
        hello = hello_world(Path(folder))
        for number in range(rounds + 1):
            times = [
                time_end(command)
                if quit_from is not None and position >= quit_from
                else time_session(command, tool)
                for position, command in enumerate(commands)
            ]
            peer = time_session(hello, HELLO if tool is not None else None)
            if number:  # the first round fills the caches
                theirs.append(peer)
                for known, new in zip(ours, times, strict=True):
                    known.append(new)
    return ours, theirs


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time a server's start beside a FastMCP hello world.")
    parser.add_argument("--rounds", type=int, default=9, help="starts of each side (9)")
    parser.add_argument("--tool", help="also time the first result of this tool")
    parser.add_argument("--arguments", type=json.loads, default={}, help="the tool's arguments, as JSON")
    parser.add_argument("--quits", action="store_true", help="the command ends by itself; time that")
    parser.add_argument("--at-most", type=float, help="fail if the first ratio is larger")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("command", nargs="+", help="the server to time, after --")
    options = parser.parse_args()
    tool = Tool(options.tool, options.arguments) if options.tool else None
    [ours], theirs = compare(
        [options.command], rounds=options.rounds, tool=tool, quit_from=0 if options.quits else None
    )
    name = "start to end" if options.quits else "start to the initialize reply"
    peer = "FastMCP hello world"
    figures = [
        Figure(
            name,
            f"{peer}: its initialize reply",
            [times.handshake for times in ours],
            [times.handshake for times in theirs],
            "ms",
            at_most=options.at_most,
        )
    ]
    if tool is not None:
        figures.append(
            Figure(
                "start to the first tool result",
                f"{peer}: its first",
                [times.tool for times in ours],
                [times.tool for times in theirs],
                "ms",
            )
        )
    report = Report(figures, [])
    print(json.dumps(report.as_json()) if options.json else report.as_markdown())
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How soon a server answers, beside a FastMCP hello world; both are started in turns in one run.

    python tests/benchmarks/handshake.py -- COMMAND...                 start to the `initialize` reply
    python tests/benchmarks/handshake.py --tool NAME -- COMMAND...     and to the first result of a tool
    python tests/benchmarks/handshake.py --quits -- COMMAND --version  start to the end of the process

Prints medians and their ratio, and as JSON with `--json`; ratios are what the project promises, because both sides
meet the same machine. With `--at-most` the exit code is 1 if the ratio of the handshake (or of the end) is larger.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, NamedTuple

HELLO_WORLD = """
from fastmcp import FastMCP

mcp = FastMCP("hello")

@mcp.tool
def hello(name: str) -> str:
    return f"Hello, {name}!"

mcp.run(show_banner=False)
"""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Times(NamedTuple):
    """Seconds from the start of the process to the handshake's reply (or to its end) and to a tool's result."""

    handshake: float
    tool: float | None = None


class Tool(NamedTuple):
    """The call to time after the handshake."""

    name: str
    arguments: dict[str, Any]


def time_session(command: list[str], tool: Tool | None) -> Times:
    """Start a server, shake hands, call a tool if one is given, and let it end.

    Raises:
        RuntimeError: the server refused or ended early.
    """
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _send(process.stdin, INITIALIZE)
        _result(process.stdout, 1)
        handshake = time.perf_counter() - started
        called = None
        if tool is not None:
            params = {"name": tool.name, "arguments": tool.arguments}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            _send(process.stdin, INITIALIZED, call)
            _result(process.stdout, 2)
            called = time.perf_counter() - started
        process.stdin.close()
    return Times(handshake, called)


def time_end(command: list[str]) -> Times:
    """Run a command that ends by itself, `--version` for instance.

    Raises:
        subprocess.CalledProcessError: it did not end with 0.
    """
    started = time.perf_counter()
    subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return Times(time.perf_counter() - started)


def compare(
    command: list[str], *, rounds: int, tool: Tool | None = None, quits: bool = False
) -> dict[str, Any]:
    """Time a command and the hello world in turns.

    Returns:
        `{"handshake" or "end" or "tool": {"ours_ms", "hello_world_ms", "ratio"}}`, of medians.
    """
    ours: list[Times] = []
    theirs: list[Times] = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "hello_world.py"
        script.write_text(HELLO_WORLD, encoding="utf-8")
        hello = [sys.executable, str(script)]
        hello_tool = Tool("hello", {"name": "x"}) if tool is not None else None
        for _ in range(rounds + 1):
            ours.append(time_end(command) if quits else time_session(command, tool))
            theirs.append(time_session(hello, hello_tool))
    del ours[0], theirs[0]  # the first round fills the caches
    report = {
        "end" if quits else "handshake": _row([t.handshake for t in ours], [t.handshake for t in theirs])
    }
    if tool is not None:
        report["tool"] = _row([t.tool or 0.0 for t in ours], [t.tool or 0.0 for t in theirs])
    return report


def _row(ours: list[float], theirs: list[float]) -> dict[str, float]:
    left, right = statistics.median(ours), statistics.median(theirs)
    return {
        "ours_ms": round(left * 1000, 1),
        "hello_world_ms": round(right * 1000, 1),
        "ratio": round(left / right, 4),
    }


def _send(stream: IO[bytes], *messages: dict[str, Any]) -> None:
    stream.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    stream.flush()


def _result(stream: IO[bytes], wanted: int) -> None:
    for line in stream:
        message = json.loads(line)
        if message.get("id") == wanted:
            if "result" not in message or message["result"].get("isError"):
                raise RuntimeError(f"the server refused: {line.decode()}")
            return
    raise RuntimeError("the server ended before it answered")


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
    report = compare(options.command, rounds=options.rounds, tool=tool, quits=options.quits)
    if options.json:
        print(json.dumps(report))
    else:
        for name, row in report.items():
            print(
                f"{name:10} {row['ours_ms']:9.1f} ms   hello world {row['hello_world_ms']:9.1f} ms   ratio {row['ratio']:.4f}"
            )
    first: float = next(iter(report.values()))["ratio"]
    return 1 if options.at_most is not None and first > options.at_most else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Calls per second over kept-alive HTTP connections, beside a FastMCP hello world over stateless JSON."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.peers import (
    EXAMPLE,
    HELLO,
    HttpConnection,
    Tool,
    hello_world,
    http_server,
    our_server,
    resident,
)
from tests.benchmarks.warm import LIST

__all__ = ["http_calls"]


def http_calls(folder: Path, *, rounds: int, seconds: float) -> Iterator[Figure]:
    """Measure both servers in turns, with one connection and with eight.

    Args:
        folder: For the hello world's script.
        rounds: Stretches of each server at each number of connections.
        seconds: How long a stretch takes.
    """
    our_port, their_port = _free_port(), _free_port()
    ours = our_server(EXAMPLE, "--transport", "http", "--http-listen", f"127.0.0.1:{our_port}")
    theirs = [*hello_world(folder), str(their_port)]
    with http_server(ours, our_port) as our_process, http_server(theirs, their_port) as their_process:
        for connections in (1, 8):
            rates: tuple[list[float], list[float]] = ([], [])
            for number in range(rounds + 1):
                left = _rate(our_port, LIST, connections, seconds)
                right = _rate(their_port, HELLO, connections, seconds)
                if number:
                    rates[0].append(left)
                    rates[1].append(right)
            noun = "connection" if connections == 1 else "connections"
            yield Figure(
                f"HTTP calls a second, {connections} {noun}",
                "FastMCP hello world, stateless JSON",
                *rates,
                "/s",
                at_least=0.9,
            )
        yield Figure(
            "idle memory after those calls, HTTP",
            "FastMCP hello world",
            [resident(our_process) / 2**20],
            [resident(their_process) / 2**20],
            "MiB",
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _rate(port: int, tool: Tool, connections: int, seconds: float) -> float:
    end = time.perf_counter() + seconds
    counts = [0] * connections

    def work(position: int) -> None:
        connection = HttpConnection(port)
        try:
            request = connection.request(tool)
            while time.perf_counter() < end:
                connection.exchange(request)
                counts[position] += 1
        finally:
            connection.close()

    started = time.perf_counter()
    threads = [threading.Thread(target=work, args=(position,)) for position in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)

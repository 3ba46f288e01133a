"""Large answers: how long they take, what memory they leave, and how long a small call waits beside one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from tests.benchmarks.figures import Fact
from tests.benchmarks.peers import StdioServer, Tool, our_server
from tests.benchmarks.records import Generated
from tests.benchmarks.warm import LIST

__all__ = ["large_answers"]


def large_answers(made: Generated, *, rounds: int) -> Iterator[Fact]:
    """Ask for pages and for everything, and time small calls while a large answer is made."""
    export = "repository_export"
    calls = {
        f"{export}, limit 100": Tool(export, {"limit": 100}),
        f"{export}, limit 1,000": Tool(export, {"limit": 1_000}),
        f"{export}, limit 1,000, fields [code]": Tool(export, {"limit": 1_000, "fields": ["code"]}),
        "object_list, limit 1,000": Tool("object_list", {"entity": "Shipment", "limit": 1_000}),
        "object_list, everything": Tool("object_list", {"entity": "Shipment"}),
        f"{export}, everything": Tool(export, {}),
    }
    with StdioServer(our_server(made.root)) as server:
        server.call(LIST)
        before = server.resident
        for name, tool in calls.items():
            size = len(server.call(tool))
            times = [server.timed(tool) for _ in range(rounds)]
            yield Fact(
                f"{name}, {made.records:,} records",
                f"{statistics.median(times):,.1f} ms ({min(times):,.1f} to {max(times):,.1f}), "
                f"{size / 2**20:,.2f} MiB, process at {server.resident / 2**20:,.0f} MiB",
            )
        yield Fact(f"process before those answers, {made.records:,} records", f"{before / 2**20:,.0f} MiB")
        for name in ("object_list, everything", f"{export}, everything"):
            alone = statistics.median(server.timed(LIST) for _ in range(9))
            longest = max(_longest_wait(server, calls[name]) for _ in range(rounds))
            yield Fact(
                f"longest wait of an entity_list beside {name}, {made.records:,} records",
                f"{longest:,.0f} ms (alone {alone:,.1f} ms)",
            )


def _longest_wait(server: StdioServer, large: Tool) -> float:
    """Milliseconds that the slowest of the small calls took that were made while a large answer was being made."""
    number = server.post(large)
    waits: list[float] = []
    while not server.has_answered(number):
        started = time.perf_counter()
        server.call(LIST)
        waits.append((time.perf_counter() - started) * 1000)
    return max(waits)

"""What a call costs once everything is loaded: beside a walk over the same files and a hello-world call.

A warm request asks for the status of every file, so nothing can be faster than a fraction of a walk in plain Python; and
whatever FastMCP takes for a call, the hello world pays as well.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import yaml
from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.peers import HELLO, StdioServer, Tool, hello_world, our_server
from tests.benchmarks.records import Generated

__all__ = ["LIST", "first_answer", "warm_calls"]

LIST = Tool("entity_list", {})

#: Milliseconds that the Go reference server took on a like machine, where it was recorded: (entity_list, object_get).
_REFERENCE = {
    (10_000, 1_000): ((435.0, 435.0), (500.0, 1_400.0)),
    (100_000, 1_000): ((4_600.0, 4_600.0), (4_400.0, 9_200.0)),
}


def walk_and_stat(root: Path) -> float:
    """Milliseconds that plain Python takes to walk the same files and ask for the status of each."""
    started = time.perf_counter()
    for folder, _, names in os.walk(root):
        for name in names:
            os.stat(os.path.join(folder, name))
    return (time.perf_counter() - started) * 1000


def parse(path: Path) -> float:
    """Milliseconds that plain Python takes to read and parse one file: PyYAML's C loader, or json."""
    started = time.perf_counter()
    with open(path, encoding="utf-8") as file:
        if path.suffix == ".json":
            json.load(file)
        else:
            yaml.load(file, yaml.CSafeLoader)
    return (time.perf_counter() - started) * 1000


def edit(path: Path) -> None:
    """Change the content of a file: one more blank line at its end."""
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write("\n")


def warm_calls(made: Generated, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Measure calls over stdio against walking plus a hello-world call, in turns.

    Args:
        made: The repository; two of its files get blank lines at their end.
        folder: For the hello world's script.
        rounds: How often each.
    """
    size = f"{made.records:,} records in {len(made.files):,} files"
    ids = cycle(made.some_ids)
    # One of each, time and again: what was changed just now is compared by content for two seconds, and a benchmark
    # that went through all files would measure that. The last ones use no anchors.
    yaml_file = next(path for path in reversed(made.files) if path.suffix == ".yaml")
    json_file = next(path for path in reversed(made.files) if path.suffix == ".json")
    lists: list[float] = []
    gets: list[float] = []
    bounds: list[float] = []
    edited: dict[str, tuple[list[float], list[float]]] = {"YAML": ([], []), "JSON": ([], [])}
    with StdioServer(our_server(made.root)) as ours, StdioServer(hello_world(folder)) as hello:
        for number in range(rounds + 3):
            get = Tool("object_get", {"entity": "Shipment", "id": next(ids)})
            call = hello.timed(HELLO)
            walk = walk_and_stat(made.root)
            listed, got = ours.timed(LIST), ours.timed(get)
            if number >= 3:  # the first rounds load the repository and fill caches
                lists.append(listed)
                gets.append(got)
                bounds.append(2 * walk + call)
        for number in range(rounds + 2):
            for kind, path in (("YAML", yaml_file), ("JSON", json_file)):
                call = hello.timed(HELLO)
                walk = walk_and_stat(made.root)
                parsed = parse(path)
                edit(path)
                listed = ours.timed(LIST)
                if number >= 2:
                    edited[kind][0].append(listed)
                    edited[kind][1].append(2 * walk + call + parsed)
    peer = "2 x walk and stat + hello world's call"
    yield Figure(f"warm entity_list, {size}", peer, lists, bounds, "ms", at_most=1.0)
    yield Figure(f"warm object_get, {size}", peer, gets, bounds, "ms", at_most=1.0)
    for kind, (times, peers) in edited.items():
        reader = "PyYAML's C loader" if kind == "YAML" else "json"
        yield Figure(
            f"entity_list after a {kind} file was edited, {size}",
            f"{peer} + {reader} over that file",
            times,
            peers,
            "ms",
            at_most=1.0,
        )
    yield from _beside_the_reference(made, lists, gets)


def _beside_the_reference(made: Generated, lists: list[float], gets: list[float]) -> Iterator[Fact]:
    recorded = _REFERENCE.get((made.records, len(made.files)))
    if recorded is None:
        return
    for name, times, (low, high) in zip(("entity_list", "object_get"), (lists, gets), recorded, strict=True):
        median = sorted(times)[len(times) // 2]
        span = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
        yield Fact(
            f"warm {name}, {made.records:,} records: the Go reference, as recorded on a like machine",
            f"{span} ms against {median:.1f} ms: {low / median:,.0f} x at least",
        )


def first_answer(made: Generated) -> Iterator[Fact]:
    """How long a client waits for the first entity_list of a repository that is not loaded yet, from the start."""
    started = time.perf_counter()
    with StdioServer(our_server(made.root)) as server:
        server.call(LIST)
        elapsed = time.perf_counter() - started
        resident = server.resident
    yield Fact(
        f"start to first entity_list, {made.records:,} records; memory of the process then",
        f"{elapsed:.2f} s; {resident / 2**20:.0f} MiB",
    )

"""First load of a repository beside PyYAML's C loader over the same files, and the memory it takes.

Each sample is a process of its own (`python -m tests.benchmarks.loading WHAT ROOT`), so that neither side inherits the
other's heap.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.peers import ROOT, environment
from tests.benchmarks.records import Generated

__all__ = ["first_load", "measure", "peak_memory"]


def first_load(made: Generated, *, rounds: int) -> Iterator[Figure | Fact]:
    """Load the repository and read the same files with PyYAML, in turns."""
    size = f"{made.records:,} records in {len(made.files):,} files"
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(measure("load", made.root)["seconds"])
        theirs.append(measure("pyyaml", made.root)["seconds"])
    yield Figure(
        f"first load, {size}", "PyYAML's C loader over the same files", ours, theirs, "s", at_most=0.6
    )
    readers = {kind: int(count) for kind, count in measure("readers", made.root).items()}
    share = readers["exact"] / len(made.files)
    yield Fact(
        f"readers of the {len(made.files):,} files with {made.records:,} records",
        f"json {readers['json']:,}, events {readers['events']:,}, the exact (slow) reader {readers['exact']:,} = {share:.1%}",
    )


def peak_memory(made: Generated) -> Iterator[Figure]:
    """Peaks of loading and of object_get, by tracemalloc, beside the deep size of the records."""
    found = measure("memory", made.root)
    records = [found["records"] / 2**20]
    for name in ("loading", "object_get"):
        yield Figure(
            f"peak memory of {name}, {made.records:,} records",
            "deep size of the parsed records",
            [found[name] / 2**20],
            records,
            "MiB",
            at_most=2.0,
        )


def measure(what: str, root: Path) -> dict[str, float]:
    """Run one measurement in a fresh process.

    Args:
        what: `load`, `pyyaml`, `readers` or `memory`.
        root: The repository.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    answer = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.loading", what, str(root)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def _load(root: str) -> dict[str, float]:
    from mergeway_mcp.repository import Repository
    from mergeway_mcp.repository.yaml import load_mapping

    load_mapping(b"a: 1", json_syntax=False)  # the parser's import is the server's start, not the load
    started = time.perf_counter()
    Repository(root).snapshot()
    return {"seconds": time.perf_counter() - started}


def _pyyaml(root: str) -> dict[str, float]:
    import yaml

    started = time.perf_counter()
    kept = []
    for folder, _, names in os.walk(os.path.join(root, "records")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                kept.append(yaml.load(file, yaml.CSafeLoader))
    return {"seconds": time.perf_counter() - started}


def _readers(root: str) -> dict[str, int]:
    from mergeway_mcp.repository.yaml import reading

    counts = {"json": 0, "events": 0, "exact": 0}

    def counted(name: str, kind: str) -> None:
        original = getattr(reading, name)

        def count(*arguments: Any, **options: Any) -> Any:
            value = original(*arguments, **options)
            counts[kind] += 1  # only if it served the file
            return value

        setattr(reading, name, count)

    for name, kind in (("read_json", "json"), ("build_plain", "events"), ("read_exactly", "exact")):
        counted(name, kind)
    from mergeway_mcp.repository import Repository

    Repository(root).snapshot()
    return counts


def _memory(root: str) -> dict[str, float]:
    from mergeway_mcp.repository import Repository
    from mergeway_mcp.repository.yaml import load_mapping

    load_mapping(b"a: 1", json_syntax=False)  # imports are not the repository's memory
    repository = Repository(root)
    tracemalloc.start()
    snapshot = repository.snapshot()
    loading = tracemalloc.get_traced_memory()[1]
    entity = snapshot.entity_names()[0]
    some_id = snapshot.objects(entity, start=0, stop=1)[0]["id"]
    gc.collect()
    tracemalloc.reset_peak()
    repository.snapshot().get(entity, some_id)
    getting = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    records = deep_size([part.fields for part in snapshot._records[entity].files])
    return {"loading": loading, "object_get": getting, "records": records}


def deep_size(value: object) -> int:
    """Bytes of a value and of everything in it; what is shared counts once."""
    known: set[int] = set()
    size = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if id(item) in known:
            continue
        known.add(id(item))
        size += sys.getsizeof(item)
        if isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, (list, tuple)):
            waiting += item
    return size


def main() -> int:
    """Run one measurement and print it as JSON."""
    what, root = sys.argv[1:]
    measurements: dict[str, Callable[[str], Mapping[str, float]]] = {
        "load": _load,
        "pyyaml": _pyyaml,
        "readers": _readers,
        "memory": _memory,
    }
    print(json.dumps(measurements[what](root)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

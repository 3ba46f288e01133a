"""Loading and asking keep little beside the records themselves."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mergeway_mcp.repository import Repository

Write = Callable[[Mapping[str, str | bytes]], Path]


def deep_size(value: Any) -> int:
    """Bytes of a value and everything in it, shared parts once."""
    seen: set[int] = set()
    pending, total = [value], 0
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        total += sys.getsizeof(current)
        if isinstance(current, dict):
            pending += [*current.keys(), *current.values()]
        elif isinstance(current, list | tuple):
            pending += current
    return total


def test_loading_and_getting_peak_at_no_more_than_twice_the_records(write_repository: Write) -> None:
    files: dict[str, str] = {}
    for number in range(40):
        batch = [
            {
                "id": f"R-{number:02}-{position:03}",
                "name": f"record {position}",
                "weight": position / 7,
                "labels": ["a", "b", str(position)],
                "place": {"town": f"town {position % 10}", "zip": f"{position:05}"},
            }
            for position in range(100)
        ]
        if number % 2:
            files[f"d/{number}.json"] = json.dumps({"items": batch})
        else:
            # Flow style: JSON is YAML as well.
            files[f"d/{number}.yaml"] = "items:\n" + "".join(f"- {json.dumps(record)}\n" for record in batch)
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n",
        **files,
    })
    Repository(str(root)).snapshot()  # imports and caches of the library are not the repository's
    repository = Repository(str(root))
    tracemalloc.start()
    try:
        snapshot = repository.snapshot()
        loading = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        repository.snapshot().get("K", "R-39-099")
        getting = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    records = deep_size([part.fields for part in snapshot._records["K"].files])
    assert loading <= 2 * records
    assert getting <= 2 * records

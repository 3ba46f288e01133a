"""Every figure that the project promises, in one command, each beside its peer in the same run.

    uv run python -m tests.benchmarks                    everything: about twenty minutes
    uv run python -m tests.benchmarks --scale quick      smaller repositories and fewer rounds
    uv run python -m tests.benchmarks --only start,http  some of it
    uv run python -m tests.benchmarks --only ragit --write tests/benchmarks/results/ragit.json

`--only` takes groups, and `mergeway` and `ragit` for all groups of one server. `--write` keeps the report as JSON; the
page and its plots are made of such files, see publish.py. Prints Markdown, or JSON with `--json`. With `--strict` the exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks.figures import Fact, Figure, Report
from tests.benchmarks.http_calls import http_calls
from tests.benchmarks.large import large_answers
from tests.benchmarks.loading import first_load, peak_memory
from tests.benchmarks.ragit_ingest import growth, ingests
from tests.benchmarks.ragit_query import queries
from tests.benchmarks.ragit_start import memory as memory_of_ragit
from tests.benchmarks.ragit_start import starts as starts_of_ragit
from tests.benchmarks.records import Generated, generate
from tests.benchmarks.start import idle_memory, starts
from tests.benchmarks.storm import StormScale, storm
from tests.benchmarks.warm import first_answer, warm_calls


class RagitScale(NamedTuple):
    """How much is measured of ragit.

    Attributes:
        files: Files of the repository that is indexed.
        passages: Passages of the repositories that it is asked about.
        indexing: Rounds of indexing.
        starts: Rounds of starting its server.
        memory: Rounds of measuring memory.
        commits: Commits of one file each, over which the index grows.
        queries: Rounds of questions.
    """

    files: int
    passages: tuple[int, ...]
    indexing: int
    starts: int
    memory: int
    commits: int
    queries: int


class Scale(NamedTuple):
    """How much is measured.

    Attributes:
        sizes: Repositories, as (records, files); the last one serves for the large answers.
        starts: Rounds of starting processes.
        warm: Rounds of warm calls.
        loads: Rounds of loading, for each repository.
        large: Rounds of large answers.
        http: Rounds of HTTP stretches.
        http_seconds: Length of such a stretch.
        ragit: The same of ragit.
        storm: The same of mergestorm.
    """

    sizes: tuple[tuple[int, int], ...]
    starts: int
    warm: int
    loads: tuple[int, ...]
    large: int
    http: int
    http_seconds: float
    ragit: RagitScale
    storm: StormScale


SCALES: Final = {
    "full": Scale(
        ((10_000, 1_000), (100_000, 1_000)), 11, 201, (5, 3), 3, 9, 2.0,
        RagitScale(1_000, (10_000, 100_000), indexing=5, starts=11, memory=3, commits=30, queries=61),
        StormScale(11, 201, 3, 4, 15.0, 5, 25, 16_384),
    ),
    "quick": Scale(
        ((2_000, 200), (10_000, 1_000)), 5, 101, (3, 3), 3, 3, 1.0,
        RagitScale(200, (2_000, 10_000), indexing=3, starts=5, memory=1, commits=30, queries=21),
        StormScale(5, 101, 1, 2, 5.0, 3, 25, 16_384),
    ),
    "tiny": Scale(
        ((40, 4),), 1, 2, (1,), 1, 1, 0.05,
        RagitScale(5, (60,), indexing=1, starts=1, memory=1, commits=2, queries=4),
        StormScale(1, 2, 1, 1, 0.1, 1, 2, 64),
    ),
}  # fmt: skip

MERGEWAY: Final = ("start", "warm", "load", "memory", "large", "http")
RAGIT: Final = ("ragit-start", "ragit-ingest", "ragit-memory", "ragit-query")

Found = Iterable[Figure | Fact]


def groups(
    scale: Scale, folder: Path, repositories: Callable[[], list[Generated]]
) -> Mapping[str, Callable[[], Iterable[Found]]]:
    """What can be measured, by name."""
    return {
        "mergestorm": lambda: [storm(scale.storm, folder)],
        "start": lambda: [starts(rounds=scale.starts), idle_memory(folder, rounds=max(1, scale.starts // 3))],
        "warm": lambda: (warm_calls(made, folder, rounds=scale.warm) for made in repositories()),
        "load": lambda: (
            first_load(made, rounds=rounds) for made, rounds in zip(repositories(), scale.loads, strict=True)
        ),
        "memory": lambda: map(peak_memory, repositories()),
        "large": lambda: [
            *map(first_answer, repositories()),
            large_answers(repositories()[-1], rounds=scale.large),
        ],
        "http": lambda: [http_calls(folder, rounds=scale.http, seconds=scale.http_seconds)],
        "ragit-start": lambda: [starts_of_ragit(scale.ragit.files, folder, rounds=scale.ragit.starts)],
        "ragit-ingest": lambda: [
            ingests(scale.ragit.files, folder, rounds=scale.ragit.indexing),
            growth(scale.ragit.files, folder, commits=scale.ragit.commits),
        ],
        "ragit-memory": lambda: [memory_of_ragit(scale.ragit.files, folder, rounds=scale.ragit.memory)],
        "ragit-query": lambda: (
            queries(passages, folder, rounds=scale.ragit.queries) for passages in scale.ragit.passages
        ),
    }


def measure(scale: Scale, wanted: Iterable[str], say: Callable[[str], object]) -> Report:
    """Measure what is wanted, in a folder of its own that is removed again."""
    figures: list[Figure] = []
    facts = [_machine()]
    made: list[Generated] = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(os.path.realpath(name))

        def repositories() -> list[Generated]:
            if not made:
                for records, files in scale.sizes:
                    made.append(generate(folder / f"records-{records}", records=records, files=files))
            return made

        known = groups(scale, folder, repositories)
        for group in wanted:
            started = time.perf_counter()
            for found in known[group]():
                for item in found:
                    if isinstance(item, Figure):
                        figures.append(item)
                    else:
                        facts.append(item)
            say(f"{group}: {time.perf_counter() - started:.0f} s")
    if hasattr(os, "getloadavg"):
        facts.append(Fact("load at the end", f"{os.getloadavg()[0]:.1f}"))
    return Report(figures, facts)


def _machine() -> Fact:
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return Fact(
        "machine",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors{load}",
    )


def main() -> int:
    """The command line."""
    names = [*MERGEWAY, *RAGIT, "mergestorm"]
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description="Measure everything beside its peers."
    )
    parser.add_argument("--scale", choices=SCALES, default="full", help="how much (full)")
    parser.add_argument("--only", default=",".join(names), help=f"some of {','.join(names)}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, help="also keep the report in this JSON file")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    options = parser.parse_args()
    whole = {"mergeway": MERGEWAY, "ragit": RAGIT}
    wanted = [name for word in options.only.split(",") for name in whole.get(word, (word,))]
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only knows {', '.join(names)}, not {', '.join(unknown)}")
    report = measure(SCALES[options.scale], wanted, lambda text: print(text, file=sys.stderr, flush=True))
    if options.write is not None:
        kept = json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n"
        options.write.write_text(kept, encoding="utf-8", newline="\n")
    text = json.dumps(report.as_json()) if options.json else report.as_markdown()
    # The tables hold signs that a console's own encoding may lack.
    sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
    return 1 if options.strict and report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

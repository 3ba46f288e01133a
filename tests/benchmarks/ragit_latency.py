"""How long a warm server takes to rank, beside one sqlite-vec float32 KNN over the same vectors in the same run.

    uv run python -m tests.benchmarks.ragit_latency [--chunks 10000] [--chunks 100000] [--queries 60]

The documents are made from a seed: pseudo-words whose frequencies fall as those of a language do (Zipf), so that a
question has words that nearly every passage has, and rare ones. Each question is new to the server. Measured is what the
issue names, the question's embedding and the ranking with its ten hits read and checked; selecting the snapshot and
looking at the work tree, which a server does as well, stand beside it. Prints Markdown.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from ragit_mcp.config import load_config
from ragit_mcp.embedding import open_embedder
from ragit_mcp.ingest import IngestRequest, ingest
from ragit_mcp.retrieval.keywords import KeywordIndex
from ragit_mcp.retrieval.ranking import Ranking
from ragit_mcp.retrieval.similarity import scan
from ragit_mcp.snapshots import open_repository, select_snapshot
from ragit_mcp.store import Membership, Store

SEED: Final = 20261201
DEPTH: Final = 10
CHUNKS_A_FILE: Final = 50
VOCABULARY: Final = 30_000
_SYLLABLES: Final = (
    "ba",
    "cor",
    "den",
    "fi",
    "gal",
    "hum",
    "jin",
    "ko",
    "lar",
    "mip",
    "nu",
    "os",
    "par",
    "qui",
    "rel",
    "sto",
)


class Figures(NamedTuple):
    """What one size gives; times in milliseconds, medians."""

    chunks: int
    ingest_seconds: float
    ours: float
    ours_again: float
    knn: float
    scan: float
    selection: float
    recall: float


def make_repository(folder: Path, chunks: int) -> None:
    """Write and commit documents that are cut into about `chunks` passages."""
    draws = random.Random(SEED)
    words = _vocabulary(draws)
    weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    made = 0
    while made < chunks:
        count = min(CHUNKS_A_FILE, chunks - made)
        sections = [
            f"## {' '.join(draws.choices(words, k=3))} {made + index}\n\n"
            + " ".join(draws.choices(words, cum_weights=weights, k=draws.randint(30, 90)))
            for index in range(count)
        ]
        path = folder / "docs" / f"{made // 5000:03}" / f"{made:07}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
        made += count
    git = (
        "git",
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@example.invalid",
        "-c",
        "core.autocrlf=false",
    )
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "documents")):
        subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)


def questions(count: int) -> Iterator[str]:
    """Questions of six words, half of them common."""
    draws = random.Random(SEED + 1)
    words = _vocabulary(random.Random(SEED))
    for _ in range(count):
        picked = draws.choices(words[:200], k=3) + draws.choices(words[200:8_000], k=3)
        draws.shuffle(picked)
        yield " ".join(picked)


def measure(folder: Path, chunks: int, queries: int) -> Figures:
    """Index and time one size."""
    environ = {**os.environ, "RAGIT_USER_CONFIG": str(folder / "none.toml")}
    make_repository(folder, chunks)
    config = load_config(folder, environ=environ)
    started = time.perf_counter()
    ingest(folder, IngestRequest(), config=config, environ=environ)
    indexed = time.perf_counter() - started
    embedder = open_embedder(config, folder, environ=environ)
    asked = list(questions(queries))
    vectors = [embedder.embed([text], purpose="query")[0] for text in asked]
    listed = [vector.tolist() for vector in vectors]
    repository = open_repository(folder)
    selection = select_snapshot(repository)
    with selection.open_store() as store:
        members = selection.membership(store)
        block = store.vectors()
        index = KeywordIndex(store, members)

        def rank(question: str) -> None:
            vector = embedder.embed([question], purpose="query")[0]
            keywords = index.score(question)
            Ranking(store, members, alpha=config.retrieval.alpha, vector=vector, keywords=keywords).first(
                DEPTH
            )

        rank("a first question loads what is loaded once")
        store.nearest(vectors[0].tolist(), DEPTH)
        # Taken in turns, so that whatever else the machine does meets all of them alike.
        ours, again, knn, scanned = _medians(
            (
                lambda place: rank(asked[place]),
                lambda place: rank(asked[place]),
                lambda place: store.nearest(listed[place], DEPTH),
                lambda place: block @ vectors[place],
            ),
            queries,
        )
        recall = _recall(store, members, vectors)
        (selecting,) = _medians((lambda _: select_snapshot(open_repository(folder)),), 10)
        return Figures(len(members), indexed, ours, again, knn, scanned, selecting, recall)


def _recall(store: Store, members: Membership, vectors: Sequence[np.ndarray]) -> float:
    """Recall@10 of the vector side: the first ten by the product's scan against sqlite-vec's exact ten."""
    found = []
    for vector in vectors[:20]:
        scores = scan(store.vectors(), members, vector)
        ours = set(np.argsort(-scores, kind="stable")[:DEPTH].tolist())
        theirs = {row for row, _ in store.nearest(vector.tolist(), DEPTH)}
        found.append(len(ours & theirs) / DEPTH)
    return statistics.fmean(found)


def _medians(runs: Sequence[Callable[[int], object]], count: int) -> list[float]:
    """Median milliseconds of each, over `count` rounds."""
    gc.collect()
    times: list[list[float]] = [[] for _ in runs]
    for place in range(count):
        for run, taken in zip(runs, times, strict=True):
            started = time.perf_counter()
            run(place)
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) * 1000 for taken in times]


def _vocabulary(draws: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(draws.choices(_SYLLABLES, k=draws.randint(2, 4)))] = None
    return list(words)


def main() -> int:
    """Measures each size and prints a table."""
    parser = argparse.ArgumentParser(description="Time ranking beside one sqlite-vec KNN.")
    parser.add_argument("--chunks", type=int, action="append")
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    print(
        "| passages | ingest s | ours, new words ms | ours, words seen before ms | sqlite-vec KNN ms | ratio | scan alone ms | snapshot and work tree ms | recall@10 |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for chunks in options.chunks or [10_000, 100_000]:
        with tempfile.TemporaryDirectory(prefix="ragit-latency-", ignore_cleanup_errors=True) as folder:
            f = measure(Path(folder), chunks, options.queries)
        print(
            f"| {f.chunks} | {f.ingest_seconds:.1f} | {f.ours:.2f} | {f.ours_again:.2f} | {f.knn:.2f} | "
            f"{f.ours / f.knn:.2f} | {f.scan:.2f} | {f.selection:.1f} | {f.recall:.3f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How long a warm server takes for a query, beside one sqlite-vec float32 KNN over the same vectors in the same run.

Measured is the question's embedding and the ranking with its ten hits read and checked; each question is new to the
server. Selecting the snapshot and looking at the work tree, which every call does as well, has `git status` as its peer:
that is the same question, asked of git.
"""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.plain_git import git
from tests.benchmarks.ragit_documents import make_repository, questions

from ragit_mcp.config import load_config
from ragit_mcp.embedding import open_embedder
from ragit_mcp.ingest import IngestRequest, ingest
from ragit_mcp.retrieval.keywords import KeywordIndex
from ragit_mcp.retrieval.ranking import Ranking
from ragit_mcp.retrieval.similarity import scan
from ragit_mcp.snapshots import SnapshotMemory, open_repository, select_snapshot
from ragit_mcp.store import Membership, Store

__all__ = ["queries"]

DEPTH: Final = 10
_RECALL_QUESTIONS: Final = 20
# There is a target from 10,000 passages on, and a stricter one from 100,000.
_PROMISED: Final = 10_000
_LARGE: Final = 100_000


def queries(passages: int, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Index that many passages and measure."""
    with tempfile.TemporaryDirectory(prefix=f"passages-{passages}-", dir=folder) as name:
        root = Path(name) / "repository"
        root.mkdir()
        files = len(make_repository(root, passages))
        yield from _measure(root, f"{passages:,} passages in {files:,} files", passages, rounds)


def _measure(root: Path, label: str, passages: int, rounds: int) -> Iterator[Figure | Fact]:
    environ = {**os.environ, "RAGIT_USER_CONFIG": str(root / "none.toml")}
    config = load_config(root, environ=environ)
    started = time.perf_counter()
    ingest(root, IngestRequest(), config=config, environ=environ)
    seconds = time.perf_counter() - started
    yield Fact(f"full ingest, {label}, wordllama", f"{seconds:.1f} s, {passages / seconds:,.0f} passages/s")
    embedder = open_embedder(config, root, environ=environ)
    asked = list(questions(rounds))
    vectors = [embedder.embed([text], purpose="query")[0] for text in asked]
    listed = [vector.tolist() for vector in vectors]
    memory = SnapshotMemory()
    selection = select_snapshot(open_repository(root), memory=memory)
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
        store.nearest(listed[0], DEPTH)
        ours, again, knn, scanned = _timed(
            (
                lambda place: rank(asked[place]),
                lambda place: rank(asked[place]),
                lambda place: store.nearest(listed[place], DEPTH),
                lambda place: block @ vectors[place],
            ),
            rounds,
        )
        peer = "one sqlite-vec float32 KNN"
        limit = 1.0 if passages >= _LARGE else 2.0 if passages >= _PROMISED else None
        yield Figure(f"query, new words, {label}", peer, ours, knn, "ms", at_most=limit)
        yield Figure(f"query, words seen before, {label}", peer, again, knn, "ms", at_most=limit)
        yield Fact(f"numpy scan alone, {label}", f"{statistics.median(scanned):.2f} ms")
        found = _recalls(store, members, vectors[:_RECALL_QUESTIONS])
        yield Figure(
            f"recall@10 of the vectors, {label}", "exact search", found, [1.0] * len(found), "", at_least=0.98
        )
    select_snapshot(open_repository(root), memory=memory)
    selecting, status = _timed(
        (
            lambda _: select_snapshot(open_repository(root), memory=memory),
            lambda _: git(root, "status", "--porcelain"),
        ),
        max(1, rounds // 4),
    )
    yield Figure(f"snapshot and work-tree check, {label}", "git status", selecting, status, "ms")


def _recalls(store: Store, members: Membership, vectors: Sequence[np.ndarray]) -> list[float]:
    """Share of sqlite-vec's exact ten among the first ten of the product's scan, question by question."""
    found = []
    for vector in vectors:
        scores = scan(store.vectors(), members, vector)
        ours = set(np.argsort(-scores, kind="stable")[:DEPTH].tolist())
        theirs = {row for row, _ in store.nearest(vector.tolist(), DEPTH)}
        found.append(len(ours & theirs) / len(theirs))
    return found


def _timed(runs: Sequence[Callable[[int], object]], count: int) -> list[list[float]]:
    """Milliseconds of each in every round, taken in turns, so that whatever the machine does meets all of them alike."""
    gc.collect()
    times: list[list[float]] = [[] for _ in runs]
    for place in range(count):
        for run, taken in zip(runs, times, strict=True):
            started = time.perf_counter()
            run(place)
            taken.append((time.perf_counter() - started) * 1000)
    return times

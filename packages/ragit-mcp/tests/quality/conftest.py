"""The benchmark's modules lie outside every package; these tests import them as the benchmark itself does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


@pytest.fixture(scope="session")
def corpus_lines() -> Callable[[str], dict[str, list[str]]]:
    """The lines of a corpus's documents by path; skips where they are not at hand, so that no test needs the network."""
    from tests.benchmarks.retrieval.corpora import CORPORA, documents, is_fetched

    known: dict[str, dict[str, list[str]]] = {}

    def lines(name: str) -> dict[str, list[str]]:
        if name not in known:
            if not is_fetched(CORPORA[name]):
                pytest.skip(
                    f"{CORPORA[name].title}: not at hand; python -m tests.benchmarks.retrieval.corpora gets them"
                )
            known[name] = {
                path: content.decode("utf-8").splitlines()
                for path, content in documents(CORPORA[name]).items()
            }
        return known[name]

    return lines

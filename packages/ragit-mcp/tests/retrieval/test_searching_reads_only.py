"""Searching reaches no writer, costs nothing until something is searched, and keeps to what may leave the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ragit_mcp.embedding import open_embedder
from ragit_mcp.errors import RagitError
from ragit_mcp.retrieval import Searcher, query

WRITERS = (
    "ragit_mcp.ingest",
    "ragit_mcp.init",
    "ragit_mcp.hooks",
    "ragit_mcp.embedding.writing",
    "ragit_mcp.embedding.cache.writing",
    "ragit_mcp.artifacts.capture",
    "ragit_mcp.ledger.writing",
    "ragit_mcp.config.editing",
)
HEAVY = ("numpy", "apsw", "tokenizers", "httpx", "safetensors", "onnxruntime", "sqlite_vec")


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that importing both rooms brings."""
    program = "import json, sys, ragit_mcp.retrieval, ragit_mcp.packing; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    return set(json.loads(done.stdout))


def test_no_writing_module_is_reached(imported: set[str]) -> None:
    assert not {name for name in imported if name in WRITERS or name.startswith("ragit_mcp.ingest.")}


def test_nothing_of_weight_is_imported_before_a_search(imported: set[str]) -> None:
    assert not imported.intersection(HEAVY)


def test_artifacts_that_may_not_leave_rank_by_keywords_and_are_warned_of(
    repository: Any, artifact: Callable[..., dict[str, Any]]
) -> None:
    repository.write_artifact(artifact(1))
    asked: list[Any] = []

    def opener(config: Any, root: str) -> Any:
        embedder = open_embedder(config, root, environ=repository.environ)
        embed = embedder.embed

        def recording(texts: Any, **options: Any) -> Any:
            asked.append(options.get("payload"))
            return embed(texts, **options)

        embedder.embed = recording  # type: ignore[method-assign]
        embedder.may_embed = lambda payload: payload in {"query", "durable-doc"}  # type: ignore[method-assign]
        return embedder

    with Searcher(repository.root, environ=repository.environ, opener=opener) as searcher:
        data = query(searcher, "lighthouse lamp", scope="session", explain=True)

    assert data["hits"][0]["scoreBreakdown"]["mode"] == "keyword"
    assert data["hits"][0]["scoreBreakdown"]["retrieval"]["inputs"]["keyword"]["weight"] == 1
    assert any("keywords alone" in warning for warning in data["warnings"])
    assert asked == [None]


def test_a_reader_never_asks_a_remote_provider(repository: Any) -> None:
    """The vector of a new question is not in the cache, so the call ends before any connection."""
    pointer = repository.root / ".ragit" / "store"
    assert any(pointer.iterdir())
    repository.write_config({"embedding.provider": "openai"})
    environ = {**repository.environ, "OPENAI_API_KEY": "not-a-key"}

    with Searcher(repository.root, environ=environ) as searcher, pytest.raises(RagitError) as caught:
        query(searcher, "lighthouse lamp")

    # The store was made by another provider, which is found out first; nothing was sent either way.
    assert caught.value.code == "SNAPSHOT_STORE_UNAVAILABLE"

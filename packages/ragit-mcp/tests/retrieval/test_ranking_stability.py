"""The order of hits depends on the snapshot and the question, and on nothing else that was ever indexed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ragit_mcp.config import load_config
from ragit_mcp.embedding import open_embedder
from ragit_mcp.errors import RagitError
from ragit_mcp.retrieval import SearchCancelled, Searcher, query
from ragit_mcp.retrieval.ranking import Ranking
from ragit_mcp.retrieval.similarity import exact_similarities, scan
from ragit_mcp.snapshots import open_repository, select_snapshot

PAGES = {
    f"docs/page{number:02}.md": f"# Page {number}\n\nThe crane number {number} lifts boxes.\n"
    for number in range(40)
}
EQUAL = {f"docs/{name}.md": "# Buoys\n\nA buoy is red or green.\n" for name in "fbdace"}


def hits(made: Any, question: str, **options: Any) -> list[dict[str, Any]]:
    """The hits of a fresh searcher."""
    found: list[dict[str, Any]] = query(made.root, question, environ=made.environ, **options)["hits"]
    return found


def test_another_snapshot_changes_neither_order_nor_scores(make_repository: Callable[[str], Any]) -> None:
    made = make_repository("growing")
    commit = made.commit(PAGES)
    before = hits(made, "which crane lifts boxes", at=commit, top_k=20, explain=True)
    made.commit({
        f"docs/other{number}.md": f"# Other {number}\n\ncrane crane boxes {number}\n" for number in range(50)
    })

    assert hits(made, "which crane lifts boxes", at=commit, top_k=20, explain=True) == before


def test_the_order_in_which_documents_were_indexed_does_not_matter(
    make_repository: Callable[[str], Any],
) -> None:
    at_once, one_by_one = make_repository("at-once"), make_repository("one-by-one")
    at_once.commit(PAGES)
    for path in sorted(PAGES, reverse=True)[:6]:
        one_by_one.commit({path: PAGES[path]})
    one_by_one.commit(PAGES)

    def told(made: Any) -> list[tuple[str, float, int]]:
        found = hits(made, "crane 7 lifts", top_k=40)
        return [(hit["path"], hit["scoreFinal"], hit["citation"]["lineStart"]) for hit in found]

    assert told(at_once) == told(one_by_one)


def test_names_decide_between_equal_scores(make_repository: Callable[[str], Any]) -> None:
    made = make_repository("equal")
    for path in ("docs/f.md", "docs/b.md"):
        made.commit({path: EQUAL[path]})
    made.commit(EQUAL)
    made.write_config({"retrieval.alpha": 0})

    found = hits(made, "buoy", top_k=4)

    assert [hit["path"] for hit in found] == ["docs/a.md", "docs/b.md", "docs/c.md", "docs/d.md"]
    assert len({hit["scoreFinal"] for hit in found}) == 1


def test_fewer_hits_are_the_first_of_more(searcher: Searcher) -> None:
    many = query(searcher, "records and payments", top_k=10)["hits"]

    for count in range(1, len(many)):
        assert query(searcher, "records and payments", top_k=count)["hits"] == many[:count]


def test_the_scan_finds_what_an_exact_search_finds(make_repository: Callable[[str], Any]) -> None:
    made = make_repository("exact")
    made.commit(PAGES)
    embedder = open_embedder(load_config(made.root, environ=made.environ), made.root, environ=made.environ)
    vector = embedder.embed(["boxes that cranes lift"], purpose="query")[0]
    selection = select_snapshot(open_repository(made.root))
    with selection.open_store() as store:
        members = selection.membership(store)
        ranked = Ranking(store, members, alpha=1.0, vector=vector, keywords=None).first(10)
        nearest = store.nearest(vector.tolist(), 10)
        quick = scan(store.vectors(), members, vector)[members.rows]
        exact = exact_similarities(store.vectors(), members.rows, vector)

    assert [hit.score.cosine for hit in ranked] == pytest.approx([1 - far for _, far in nearest], abs=1e-5)
    np.testing.assert_allclose(quick, exact, atol=1e-5)


def test_a_small_share_of_a_large_store_is_scanned_alone_with_the_same_result(
    make_repository: Callable[[str], Any],
) -> None:
    made = make_repository("share")
    commit = made.commit({"docs/one.md": "# One\n\nThe only crane.\n"})
    made.commit({"docs/one.md": None, **PAGES})
    selection = select_snapshot(open_repository(made.root), at=commit)
    with selection.open_store() as store:
        members = selection.membership(store)
        vector = store.vectors()[0]
        scores = scan(store.vectors(), members, vector)

    assert np.count_nonzero(scores) == len(members) == 1


def test_a_new_generation_is_seen_by_the_next_call(repository: Any, searcher: Searcher) -> None:
    query(searcher, "records")
    repository.commit({"docs/moon.md": "# Moon\n\nThe moon base keeps the tides.\n"})

    assert query(searcher, "moon base")["hits"][0]["path"] == "docs/moon.md"


def test_settings_are_read_at_every_call(repository: Any, searcher: Searcher) -> None:
    repository.write_config({"retrieval.top_k": 1})
    assert len(query(searcher, "records")["hits"]) == 1
    repository.write_config({"retrieval.top_k": 2})
    assert len(query(searcher, "records")["hits"]) == 2


def test_many_threads_ask_while_commits_are_indexed(repository: Any, searcher: Searcher) -> None:
    first = repository.git("rev-parse", "HEAD")
    expected = query(searcher, "records", at=first)["hits"]
    answers: list[Any] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                answers.append(query(searcher, "records", at=first)["hits"])
            except RagitError as error:
                answers.append(error.code)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(3):
            repository.commit({f"docs/new{number}.md": f"# New {number}\n\nrecords {number}\n"})
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    assert answers
    assert all(answer == expected for answer in answers)


def test_a_search_that_nobody_waits_for_ends(searcher: Searcher) -> None:
    asked = iter([False, False])

    with pytest.raises(SearchCancelled):
        query(searcher, "records", cancel=lambda: next(asked, True))


def test_warming_up_fails_quietly_and_helps_nobody_wait(
    make_repository: Callable[[str], Any], repository: Any
) -> None:
    with Searcher(make_repository("unborn").root, environ=repository.environ) as searcher:
        searcher.warm()
    with Searcher(repository.root, environ=repository.environ) as searcher:
        searcher.warm()
        assert query(searcher, "records")["hits"]

"""Keywords: any text is a question, every script is found, and only the snapshot counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragit_mcp.retrieval import keywords as bm25
from ragit_mcp.retrieval import query
from ragit_mcp.retrieval.keywords import KeywordIndex, LooseText, chosen_terms
from ragit_mcp.snapshots import open_repository, select_snapshot
from ragit_mcp.store import query_terms


@pytest.fixture
def keyword_query(repository: Any, searcher: Any) -> Callable[[str], list[str]]:
    """Paths found by keywords alone."""
    repository.write_config({"retrieval.alpha": 0})
    return lambda question: [hit["path"] for hit in query(searcher, question, top_k=10)["hits"]]


@pytest.fixture
def index(repository: Any) -> Iterator[KeywordIndex]:
    """The keyword index of the small repository."""
    selection = select_snapshot(open_repository(repository.root))
    with selection.open_store() as store:
        yield KeywordIndex(store, selection.membership(store))


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("max_attempts", "docs/retries.md"),
        ("attempts max", "docs/retries.md"),
        ("MAX_ATTEMPTS?", "docs/retries.md"),
        ("`var/`", "docs/storage.md"),
        ("결정", "docs/한국어.md"),
        ("港", "docs/한국어.md"),
        ("港湾", "docs/한국어.md"),
        ("backup", "docs/storage.md"),
        ("sqlite", "docs/storage.md"),
        ("retries.md", "docs/retries.md"),
    ],
)
def test_a_word_is_found_in_any_script_spelling_and_place(
    keyword_query: Callable[[str], list[str]], question: str, path: str
) -> None:
    assert keyword_query(question)[0] == path


@pytest.mark.parametrize(
    "question",
    [
        "@sqlite",
        "sqlite:file",
        "NEAR(sqlite file)",
        '"sqlite',
        "sqlite*",
        "-sqlite",
        "sqlite AND",
        "(sqlite",
        "sqlite 🚢",
        "{sqlite}: ^x",
        "sqlite' OR 1=1 --",
        "sqlite " * 1500,
    ],
)
def test_signs_of_a_query_language_neither_fail_nor_hide_what_is_there(
    keyword_query: Callable[[str], list[str]], question: str
) -> None:
    assert keyword_query(question)[0] == "docs/storage.md"


def test_a_word_that_nothing_has_finds_nothing(keyword_query: Callable[[str], list[str]]) -> None:
    assert keyword_query("zyzzyva") == []
    assert keyword_query("!!! ???") == []


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(min_size=1, max_size=200))
def test_every_text_is_a_question(index: KeywordIndex, question: str) -> None:
    scores = index.score(question).scores

    assert all(math.isfinite(score) and score >= 0 for score in scores)


def test_ordinary_words_count_only_where_there_are_no_others() -> None:
    assert chosen_terms("how do I set the timeout") == query_terms("set timeout")
    assert chosen_terms("what is it") == query_terms("what is it")


def test_a_question_of_thousands_of_words_looks_up_a_bounded_number() -> None:
    assert len(chosen_terms(" ".join(f"word{number}" for number in range(5000)))) == bm25.MAX_TERMS


def test_a_rarer_word_weighs_more(index: KeywordIndex) -> None:
    rare = index.score("seven").scores.max()
    frequent = index.score("file").scores.max()

    assert rare > frequent > 0


def test_a_text_outside_the_store_is_scored_like_a_passage_in_it(index: KeywordIndex) -> None:
    text = LooseText.of("The lamp is changed by the keeper.", "Lamps")

    found = index.score("lamp keeper", [text, LooseText.of("Nothing of that.", "Else")])

    assert found.loose[0] > 0
    assert found.loose[1] == 0
    assert not found.scores.any()


def test_words_that_most_passages_have_are_left_out_while_another_remains(
    make_repository: Callable[[str], Any],
) -> None:
    made = make_repository("common")
    made.commit({f"docs/{number:02}.md": f"# Page {number}\n\nship number{number}\n" for number in range(60)})
    selection = select_snapshot(open_repository(made.root))
    with selection.open_store() as store:
        common = KeywordIndex(store, selection.membership(store))

        assert (common.score("ship number7").scores > 0).sum() == 1
        assert (common.score("ship").scores > 0).sum() == 60


def test_looking_up_a_word_reads_the_inverted_index_and_nothing_else(repository: Any) -> None:
    selection = select_snapshot(open_repository(repository.root))
    with selection.open_store() as store:
        plan = store.rows(
            "EXPLAIN QUERY PLAN SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?", ('"ship"',)
        )

    assert len(plan) == 1
    assert "VIRTUAL TABLE INDEX" in plan[0][3]


def test_another_snapshot_changes_no_keyword_score(repository: Any, searcher: Any) -> None:
    repository.write_config({"retrieval.alpha": 0})
    commit = repository.git("rev-parse", "HEAD")
    before = query(searcher, "sqlite file", at=commit, top_k=10, explain=True)["hits"]
    repository.commit({f"docs/more{number}.md": "# More\n\nsqlite file file file\n" for number in range(30)})

    assert query(searcher, "sqlite file", at=commit, top_k=10, explain=True)["hits"] == before

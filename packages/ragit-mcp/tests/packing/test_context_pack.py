"""`context_pack` from outside: what is delivered is what the budget counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragit_mcp.embedding.tokens import count_tokens
from ragit_mcp.errors import RagitError
from ragit_mcp.packing import context_pack
from ragit_mcp.retrieval import SearchCancelled, query

GOAL = "what keepers write about storms"


def pack(library: Any, goal: str = GOAL, **options: Any) -> dict[str, Any]:
    """A pack of the library."""
    return context_pack(library.root, goal, environ=library.environ, **options)


def delivered(data: dict[str, Any]) -> list[str]:
    """The texts of a pack as they were delivered."""
    return [hit.get("text", hit.get("excerpt")) for hit in data["hits"]]


@pytest.mark.parametrize("view", ["minimal", "default", "full"])
@pytest.mark.parametrize("budget", [1, 60, 500, 1200])
def test_the_budget_counts_the_words_that_are_delivered(library: Any, view: Any, budget: int) -> None:
    data = pack(library, budget=budget, view=view)

    assert data["usedTokens"] == sum(len(text.split()) for text in delivered(data)) <= budget
    assert data["selectedHits"] == len(data["hits"])
    assert (data["budgetUnit"], data["tokenizer"]) == ("words", "whitespace")


def test_the_budget_can_be_counted_in_tokens_of_a_tokenizer_that_is_named(library: Any) -> None:
    data = pack(library, budget=300, unit="tokens", view="full")

    assert data["usedTokens"] == sum(count_tokens(delivered(data))) <= 300
    assert (data["budgetUnit"], data["tokenizer"]) == ("tokens", "llama-2")


def test_the_configuration_chooses_the_unit(library: Any) -> None:
    library.configure(budget_unit="tokens")

    assert pack(library)["budgetUnit"] == "tokens"
    assert pack(library, unit="words")["budgetUnit"] == "words"


def test_the_default_budget_is_the_contracts(library: Any) -> None:
    assert pack(library)["budget"] == 1200


def test_in_view_full_a_passage_is_delivered_whole(library: Any) -> None:
    whole = {
        hit["citation"]["id"]: hit["text"]
        for hit in query(library.root, GOAL, top_k=200, view="full", environ=library.environ)["hits"]
    }

    for hit in pack(library, budget=400, view="full")["hits"]:
        assert hit["text"] == whole[hit["citation"]["id"]]


def test_candidates_grow_until_the_snapshot_is_exhausted(library: Any) -> None:
    data = pack(library, budget=1_000_000, view="full")

    assert data["selection"]["candidateHits"] == len(data["hits"]) == 160
    assert data["selection"]["selectedSources"] == 40
    assert data["selection"]["budgetRejectedHits"] == 0


def test_candidates_stop_where_the_budget_is_exhausted(library: Any) -> None:
    first = pack(library, budget=1_000_000, view="full")["hits"][0]

    data = pack(library, budget=len(first["text"].split()), view="full")

    assert data["usedTokens"] == data["budget"]
    assert data["selection"]["candidateHits"] == 30


def test_each_source_comes_once_before_any_comes_twice(library: Any) -> None:
    paths = [hit["path"] for hit in pack(library, budget=200, view="full")["hits"]]

    assert len(paths) == len(set(paths)) > 1


def test_a_budget_that_admits_nothing_is_warned_of(library: Any) -> None:
    data = pack(library, budget=1, view="full")

    assert data["hits"] == []
    assert data["selection"]["candidateHits"] > 0
    assert len(data["warnings"]) == 1


def test_counters_agree_with_each_other(library: Any) -> None:
    selection = pack(library)["selection"]

    assert selection["strategy"] == "citation-diverse-v2"
    assert selection["candidateHits"] == selection["uniqueCitations"] + selection["duplicateCitationsSkipped"]


def test_the_same_goal_gives_the_same_pack(library: Any) -> None:
    assert pack(library) == pack(library)


def test_a_secret_in_the_goal_is_masked_counted_and_named(library: Any) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    data = pack(library, f"storms {secret}")

    assert secret not in json.dumps(data)
    assert data["redactionSummary"] == {"applied": True, "maskedCount": 1, "sources": ["goal"]}


def test_hits_of_a_pack_carry_no_breakdown(library: Any) -> None:
    assert all("scoreBreakdown" not in hit for hit in pack(library, view="full")["hits"])


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": -3}, "budget"),
        ({"budget": 2**53}, "budget"),
        ({"unit": "bytes"}, "budgetUnit"),
        ({"goal": " "}, "goal"),
        ({"scope": "none"}, "scope"),
        ({"view": "none"}, "view"),
    ],
)
def test_what_cannot_be_packed_is_refused_with_its_field(
    library: Any, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(RagitError) as caught:
        pack(library, **arguments)

    assert caught.value.code == "INPUT_INVALID"
    assert caught.value.details["field"] == field


def test_a_pack_that_nobody_waits_for_ends(library: Any) -> None:
    with pytest.raises(SearchCancelled):
        pack(library, cancel=lambda: True)

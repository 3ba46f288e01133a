"""Which passages go into a budget, as recorded and in general."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.errors import RagitError
from ragit_mcp.packing import SelectionState, select
from ragit_mcp.retrieval import Citation, Hit, ScoreBreakdown

SCORE = ScoreBreakdown("hybrid", 0.5, 1, 1, 1, 1)


@dataclass(frozen=True)
class Passage:
    """What can be packed, made up."""

    citation_id: str
    family: str
    cost: int


PASSAGES = st.builds(
    Passage,
    st.integers(0, 30).map(str),
    st.sampled_from(["document:a", "document:b", "artifact:c"]),
    st.integers(0, 40),
)


def passage(hit: dict[str, Any]) -> Passage:
    """A recorded hit; its family is computed as for a real one."""
    citation = Citation(hit["sourceType"], hit["sourceId"], "v", None, hit["path"], None, None)
    real = Hit(
        hit["sourceId"], hit["path"], "", "", "durable", citation, SCORE, artifact_id=hit["artifactId"]
    )
    return Passage(hit["citation"], real.family, hit["words"])


def test_a_selection_is_the_recorded_one(selection_case: dict[str, Any]) -> None:
    ranked = [passage(hit) for hit in selection_case["input"]["hits"]]
    expected = selection_case["expect"]
    if expected.get("error"):
        with pytest.raises(RagitError) as caught:
            select(ranked, selection_case["input"]["budget"])
        assert caught.value.code == "INPUT_INVALID"
        return

    state = select(ranked, selection_case["input"]["budget"])

    assert {
        "order": [item.citation_id for item in state.selected],
        "usedTokens": state.used,
        "selectedHits": len(state.selected),
        "candidateHits": state.candidates,
        "uniqueCitations": state.unique,
        "selectedSources": state.sources,
        "duplicateCitationsSkipped": state.duplicates,
        "budgetRejectedHits": state.rejected,
    } == expected


@pytest.mark.parametrize("budget", [1.5, True, "10", None])
def test_a_budget_that_is_no_whole_number_is_refused(budget: Any) -> None:
    with pytest.raises(RagitError) as caught:
        select([], budget)

    assert caught.value.details == {"field": "budget", "reason": "not_integer"}


@given(st.lists(PASSAGES, max_size=60), st.integers(1, 300), st.integers(1, 20))
def test_counts_agree_and_the_budget_holds_however_candidates_arrive(
    ranked: list[Passage], budget: int, step: int
) -> None:
    state: SelectionState[Passage] = SelectionState(budget)
    for start in range(0, len(ranked), step):
        state.add(ranked[start : start + step])

    assert state.used == sum(item.cost for item in state.selected) <= budget
    assert state.candidates == len(ranked) == state.unique + state.duplicates
    assert state.unique == len(state.selected) + state.rejected
    chosen = [item.citation_id for item in state.selected]
    assert len(chosen) == len(set(chosen))


@given(st.lists(PASSAGES, max_size=60), st.integers(1, 300))
def test_nothing_that_still_fits_is_left_out(ranked: list[Passage], budget: int) -> None:
    state = select(ranked, budget)

    first: dict[str, Passage] = {}
    for item in ranked:
        first.setdefault(item.citation_id, item)
    chosen = {item.citation_id for item in state.selected}
    assert all(item.cost > state.left for name, item in first.items() if name not in chosen)

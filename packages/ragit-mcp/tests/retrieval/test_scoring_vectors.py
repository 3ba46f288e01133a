"""Scores and citations as the recorded reference has them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.retrieval import ScoreBreakdown, citation_id
from ragit_mcp.retrieval.scoring import authority_score, recency_score

DAY = 86_400
SHARES = st.floats(0, 1)


def numbers(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf of a JSON value by its path."""
    if isinstance(value, dict):
        return {k: v for name, member in value.items() for k, v in numbers(member, f"{path}.{name}").items()}
    return {path: value}


def test_a_breakdown_is_the_recorded_one(breakdown_case: dict[str, Any]) -> None:
    score = ScoreBreakdown(**breakdown_case["input"])

    assert numbers(score.to_json()) == pytest.approx(numbers(breakdown_case["expect"]), abs=1e-9)


def test_a_citation_has_the_recorded_id(citation_case: dict[str, Any]) -> None:
    given_ = citation_case["input"]

    assert (
        citation_id(given_["sourceType"], given_["sourceId"], given_["sourceVersion"])
        == citation_case["expect"]
    )


def test_the_reference_formula_that_is_compared_with_counts_words_as_recorded(
    keyword_case: dict[str, Any],
) -> None:
    from tests.benchmarks.retrieval.reference_formula import keyword_share

    share = keyword_share(keyword_case["input"]["query"], keyword_case["input"]["target"])

    assert round(share, 6) == keyword_case["expect"]


@given(SHARES, SHARES, SHARES, SHARES, SHARES, st.sampled_from(["hybrid", "keyword"]))
def test_contributions_add_up_to_their_score_and_stay_within_0_and_1(
    alpha: float, vector: float, keyword: float, authority: float, recency: float, mode: Any
) -> None:
    told = ScoreBreakdown(mode, alpha, vector, keyword, authority, recency).to_json()

    inputs = told["retrieval"]["inputs"]
    assert inputs["vector"]["contribution"] + inputs["keyword"]["contribution"] == pytest.approx(
        told["retrieval"]["score"]
    )
    parts = (told["retrieval"], told["authority"], told["recency"])
    assert sum(part["contribution"] for part in parts) == pytest.approx(told["final"])
    assert -1e-9 <= told["final"] <= 1 + 1e-9


@pytest.mark.parametrize(
    ("scope", "label", "tier", "status", "expected"),
    [
        ("durable", "promoted_durable", None, None, 1.0),
        ("session", "promoted_durable", "candidate", "reviewed", 1.0),
        ("session", "assistant_inferred", "durable", "reviewed", 1.0),
        ("session", "assistant_inferred", "candidate", "promoted", 1.0),
        ("harness", "assistant_inferred", "candidate", "reviewed", 0.9),
        ("session", "reviewed_harness", "candidate", "reviewed", 0.9),
        ("session", "user_asserted", "candidate", "reviewed", 0.8),
        ("evidence", "user_asserted", "candidate", "captured", 0.4),
        ("elsewhere", "user_asserted", "candidate", "captured", 0.6),
    ],
)
def test_authority_follows_label_and_scope(
    scope: str, label: str, tier: str | None, status: str | None, expected: float
) -> None:
    assert authority_score(scope, label, tier=tier, status=status) == expected


@pytest.mark.parametrize(("age_days", "expected"), [(0, 1.0), (15, 0.5), (24, 0.2), (400, 0.2), (-5, 1.0)])
def test_recency_falls_within_a_month_and_never_below_a_fifth(age_days: float, expected: float) -> None:
    assert recency_score(1_000_000_000 - age_days * DAY, 1_000_000_000) == pytest.approx(expected)


def test_an_artifact_of_unknown_age_counts_as_old() -> None:
    assert recency_score(None, 1_000_000_000) == 0.2

"""Scaling raw scores to 0..1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.retrieval.fusion import Scale, sharpness_of

RAW = st.floats(-1, 30)
SHARPNESS = st.sampled_from([1.0, 2.0, 3.0])


@given(st.lists(RAW, min_size=1, max_size=30), SHARPNESS)
def test_scaled_scores_lie_between_0_and_1_and_keep_their_order(raw: list[float], sharpness: float) -> None:
    scale = Scale(max(raw), sharpness)

    scaled = [scale.one(score) for score in sorted(raw)]

    assert all(0 <= score <= 1 for score in scaled)
    assert scaled == sorted(scaled)
    assert scaled[-1] == (1 if max(raw) > 0 else 0)


@given(st.lists(RAW, min_size=1, max_size=30), SHARPNESS)
def test_one_and_many_agree(raw: list[float], sharpness: float) -> None:
    scale = Scale(max(raw), sharpness)

    assert scale.many(np.asarray(raw)).tolist() == pytest.approx([scale.one(score) for score in raw])


def test_where_nothing_scored_everything_is_0() -> None:
    assert Scale(0.0).one(0.0) == 0
    assert not Scale(0.0).many(np.zeros(3)).any()


@pytest.mark.parametrize(
    ("provider", "sharpness"),
    [
        ("wordllama", 1.0),
        ("local-placeholder", 1.0),
        ("transformer", 3.0),
        ("ollama", 3.0),
        ("one that comes later", 3.0),
    ],
)
def test_sharpness_follows_the_kind_of_model(provider: str, sharpness: float) -> None:
    assert sharpness_of(provider) == sharpness

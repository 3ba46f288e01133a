"""Results too long to hold everybody up, or to send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpkit import results
from mcpkit.errors import RequestFailure
from mcpkit.messages import encode, encode_in_slices

PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([PLAIN, SORTED]))
def test_the_pieces_are_the_text(value: Any, encoder: json.JSONEncoder) -> None:
    assert "".join(encode_in_slices(encoder, value)) == encoder.encode(value)


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 512, 513, 2000])
def test_long_lists_come_in_pieces_that_join_to_the_text(length: int) -> None:
    value = {"b": {"c": list(range(length))}, "a": [["x"] * length, []]}
    pieces = list(encode_in_slices(SORTED, value))
    assert "".join(pieces) == SORTED.encode(value)
    assert max(map(len, pieces)) < 4 * 2000 + 20
    assert json.loads(encode(value)) == value


def test_a_text_that_is_too_long_to_send_is_a_coded_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_CHARACTERS", 1_000)
    assert results.compact_json(list(range(200)))
    with pytest.raises(RequestFailure) as caught:
        results.compact_json(list(range(2_000)))
    assert caught.value.kind == "result_too_large"

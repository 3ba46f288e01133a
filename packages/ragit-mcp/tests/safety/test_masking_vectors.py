"""The recorded masking vectors, every case, and its idempotence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.safety import masked_reply, masked_text

VECTORS = Path(__file__).parents[1] / "vectors" / "masking.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]


def _check(expect: dict[str, Any], output: str, count: int) -> None:
    if "count" in expect:
        assert count == expect["count"]
    assert count >= expect.get("min_count", 0)
    for pieces in expect.get("hide", []):
        assert "".join(pieces) not in output
    for pieces in expect.get("keep", []):
        assert "".join(pieces) in output


@pytest.mark.parametrize("case", [case for case in CASES if "text" in case], ids=lambda case: case["id"])
def test_text_is_masked_as_the_vector_says_and_only_once(case: dict[str, Any]) -> None:
    text, expect = "".join(case["text"]), case["expect"]
    masked = masked_text(text)
    if expect.get("same"):
        assert masked.text == text
    if "masked" in expect:
        assert masked.text == "".join(expect["masked"])
    _check(expect, masked.text, masked.hidden)
    assert masked_text(masked.text) == (masked.text, 0)


@pytest.mark.parametrize("case", [case for case in CASES if "value" in case], ids=lambda case: case["id"])
def test_value_is_masked_as_the_vector_says_and_only_once(case: dict[str, Any]) -> None:
    expect = case["expect"]
    value, redaction = masked_reply(case["value"])
    if "value" in expect:
        assert value == expect["value"]
    if "sources" in expect:
        assert list(redaction.sources) == expect["sources"]
    _check(expect, json.dumps(value, ensure_ascii=False), redaction.masked_count)
    again = masked_reply(value)
    assert again.value == value
    assert not again.redaction.applied

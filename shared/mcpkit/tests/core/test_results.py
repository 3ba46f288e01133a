"""Values and failures as content and structured content."""

from __future__ import annotations

from typing import Any

import pytest

from mcpkit.errors import InvalidArguments, ToolFailure
from mcpkit.results import compact_json, failure, same_json, summary_and_json, with_error


def test_json_text_is_compact_sorted_and_not_escaped() -> None:
    assert (
        compact_json({"b": [1, 2.5], "a": "\u00fc<&", "\u4e2d": None})
        == '{"a":"\u00fc<&","b":[1,2.5],"\u4e2d":null}'
    )
    assert compact_json(10**300) == "1" + "0" * 300


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_has_no_form_for_are_refused(value: float) -> None:
    with pytest.raises(ValueError):
        compact_json({"x": value})


def test_values_that_are_not_json_are_refused() -> None:
    with pytest.raises(TypeError):
        compact_json({"x": {1}})


def text_of(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


def test_the_text_of_a_result_is_the_same_json() -> None:
    result = same_json({"b": 1, "a": 2})
    assert text_of(result) == '{"a":2,"b":1}'
    assert result.structured_content == {"a": 2, "b": 1}
    assert result.is_error is False


@pytest.mark.parametrize("failed", [False, True])
def test_a_summary_is_a_block_of_its_own_before_the_json(failed: bool) -> None:
    result = summary_and_json("Two things.", {"n": 2, "m": None}, is_error=failed)
    assert [getattr(block, "text", None) for block in result.content] == ["Two things.", '{"m":null,"n":2}']
    assert result.structured_content == {"n": 2, "m": None}
    assert result.is_error is failed


def test_a_failure_is_a_result_with_the_structured_error() -> None:
    result = failure(ToolFailure("wait a little", kind="busy", data={"seconds": 3}, detail="secret"))
    assert text_of(result) == "wait a little"
    assert result.structured_content == {"error": {"kind": "busy", "seconds": 3, "message": "wait a little"}}
    assert result.is_error is True


def test_an_argument_failure_carries_field_and_reason() -> None:
    result = failure(InvalidArguments("id", "is required"))
    assert result.structured_content is not None
    error = result.structured_content["error"]
    assert (error["kind"], error["field"], error["reason"]) == ("invalid_arguments", "id", "is required")


def test_an_output_schema_that_describes_its_errors_keeps_its_words() -> None:
    own = {"type": "object", "description": "Ours."}
    assert with_error({"type": "object", "properties": {"error": own}})["properties"] == {"error": own}


def test_an_output_schema_takes_either_the_tools_members_or_an_error() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    widened = with_error(schema)
    assert set(widened["properties"]) == {"n", "error"}
    assert "required" not in widened
    assert widened["additionalProperties"] is False
    assert schema["required"] == ["n"]  # the original is left alone
    assert widened["properties"]["error"]["required"] == ["kind", "message"]

"""A prepared result is on the wire what the SDK's own would be, without a copy of its structured content."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CallToolResult

from mcpkit.errors import ToolFailure
from mcpkit.results import PreparedResult, failure, same_json, summary_and_json

WIRE: dict[str, Any] = {"by_alias": True, "mode": "json", "exclude_none": True}

RESULTS = {
    "success": same_json({"rows": [1, None, {"deep": None}], "text": "é"}),
    "summary": summary_and_json("two rows", {"rows": [1, 2]}),
    "failure": failure(ToolFailure("it failed; try again", kind="some_kind")),
}


def plain(result: PreparedResult) -> CallToolResult:
    return CallToolResult(
        content=result.content, structured_content=result.structured_content, is_error=result.is_error
    )


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("options", [WIRE, {}, {"mode": "json"}, {**WIRE, "exclude": {"content"}}], ids=str)
def test_every_dump_equals_the_sdk_s_own(name: str, options: dict[str, Any]) -> None:
    result = RESULTS[name]
    assert result.to_mcp_result().model_dump(**options) == plain(result).model_dump(**options)


def test_the_wire_dump_shares_the_structured_content() -> None:
    structured = {"rows": [{"id": 1}]}
    dumped = same_json(structured).to_mcp_result().model_dump(**WIRE)
    assert dumped["structuredContent"]["rows"] is structured["rows"]

"""What the lint finds, and what it lets pass."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from mcpkit.surface import generate
from mcpkit.testing import lint_tools

GOOD: dict[str, Any] = {
    "name": "show",
    "title": "Show",
    "description": "Shows it.",
    "annotations": {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "inputSchema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string", "description": "Which.", "enum": ["$ref", "null"]},
            "many": {
                "type": "array",
                "description": "More.",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
        },
    },
    "outputSchema": {"type": "object", "properties": {"x": {"type": ["null", "array"]}}},
}


def test_a_good_tool_has_no_fault() -> None:
    assert lint_tools([GOOD]) == []


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["title"], "", "title"),
        (["description"], " ", "description"),
        (["annotations"], None, "readOnlyHint"),
        (["annotations", "openWorldHint"], None, "openWorldHint"),
        (["inputSchema", "type"], "array", "not of type object"),
        (["inputSchema", "anyOf"], [], "anyOf at the top"),
        (["inputSchema", "oneOf"], [], "oneOf at the top"),
        (["inputSchema", "allOf"], [], "allOf at the top"),
        (["inputSchema", "additionalProperties"], True, "unknown arguments"),
        (["inputSchema", "properties", "id", "description"], "", "inputSchema.id has no description"),
        (["inputSchema", "properties", "id", "type"], ["string", "null"], "takes null"),
        (["inputSchema", "properties", "id", "anyOf"], [{"type": "null"}], "takes null"),
        (["inputSchema", "properties", "many", "items"], {"$ref": "#/$defs/X"}, "has a $ref"),
        (
            ["inputSchema", "properties", "many", "properties"],
            {"x": {"type": "string"}},
            "many.x has no description",
        ),
        (["outputSchema", "anyOf"], [], "outputSchema has anyOf"),
        (["outputSchema", "properties", "x"], {"$ref": "#/x"}, "outputSchema.x has a $ref"),
    ],
)
def test_each_fault_is_found(path: list[str], value: Any, words: str) -> None:
    tool = copy.deepcopy(GOOD)
    node: Any = tool
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    faults = lint_tools([tool])
    assert any(words in fault and fault.startswith("show: ") for fault in faults), faults


@pytest.mark.anyio
async def test_a_surface_can_be_linted(small_app: Any, tmp_path: Path) -> None:
    faults = lint_tools(await generate(small_app))
    assert {fault.split(": ")[0] for fault in faults} == {"echo", "fail", "die"}  # undescribed arguments
    assert all("has no description" in fault for fault in faults)

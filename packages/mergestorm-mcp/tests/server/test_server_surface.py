"""What a client learns before it calls anything, and the snapshot that answers it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from mcpkit.surface import HANDSHAKE_VERSIONS, Surface, drift, token_estimate
from mcpkit.testing import lint_tools
from mergestorm_mcp import __version__
from mergestorm_mcp.config import Environment
from mergestorm_mcp.instructions import INSTRUCTIONS
from mergestorm_mcp.main import SURFACE
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.server import TOOL_ORDER, create

RECORDED = Surface.load(SURFACE)
TOOLS: dict[str, dict[str, Any]] = {
    tool["name"]: tool for tool in RECORDED.tools_list(HANDSHAKE_VERSIONS[0])["tools"]
}

# Title, then readOnly, destructive, idempotent, openWorld: the contract's table 3.0.
DECLARED = {
    "whoami": ("Who am I", "TFTT"),
    "credits": ("Credits", "TFTT"),
    "review_list": ("List reviews", "TFTT"),
    "review_submit": ("Submit review", "FFFT"),
    "review_wait": ("Wait for review", "TFTT"),
    "review_wait_pr": ("Wait for GitHub PR Vortex review", "TFTT"),
    "review_dismiss": ("Dismiss Vortex findings", "FTTT"),
    "issue_create": ("Create issue", "FFTT"),
    "stack_adopt": ("Adopt PR stack", "FTFT"),
    "stack_list": ("List stacks", "TFTT"),
    "stack_publish": ("Publish branch through Mergestorm", "FTTT"),
    "stack_publish_status": ("Read branch publication", "TFTT"),
    "stack_set": ("Set stack policy", "FTTT"),
    "stack_status": ("Get stack status", "TFTT"),
    "stack_wait": ("Wait for stack attention", "TFTT"),
    "queue_status": ("Get merge queue status", "TFTT"),
    "settings_get": ("Get settings", "TFTT"),
    "settings_set": ("Update settings", "FTFT"),
    "repo_settings_get": ("Get repository settings", "TFTT"),
    "repo_settings_set": ("Update repository settings", "FTFT"),
}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@pytest.mark.anyio
async def test_the_snapshot_is_what_the_server_answers() -> None:
    # To make it anew: uv run packages/mergestorm-mcp/surface.py
    assert await drift(create(Runtime(environment=Environment({}, "", ""))), RECORDED) == []


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_only_tools_are_advertised(version: str) -> None:
    answer = RECORDED.initialize(version)
    assert answer["protocolVersion"] == version
    assert answer["capabilities"] == {"tools": {}}
    assert {name: value for name, value in answer["serverInfo"].items() if name != "icons"} == {
        "name": "mergestorm",
        "title": "Mergestorm",
        "version": __version__,
        "websiteUrl": "https://mergestorm.ai",
    }
    assert answer["instructions"] == INSTRUCTIONS


def test_the_icons_are_drawings_for_both_themes_that_nothing_is_fetched_for() -> None:
    icons = RECORDED.initialize(HANDSHAKE_VERSIONS[0])["serverInfo"]["icons"]
    assert [icon["theme"] for icon in icons] == ["light", "dark"]
    for icon in icons:
        kind, _, drawing = icon["src"].partition(",")
        assert (kind, icon["mimeType"], icon["sizes"]) == ("data:image/svg+xml", "image/svg+xml", ["any"])
        root = ET.fromstring(unquote(drawing))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert {child.tag for child in root} == {"{http://www.w3.org/2000/svg}path"}


def test_tools_stand_in_the_order_of_the_page() -> None:
    assert tuple(DECLARED) == TOOL_ORDER
    assert tuple(TOOLS) == TOOL_ORDER


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_its_title_and_states_all_four_hints(name: str) -> None:
    title, hints = DECLARED[name]
    assert TOOLS[name]["title"] == title
    assert TOOLS[name]["annotations"] == {hint: mark == "T" for hint, mark in zip(HINTS, hints, strict=True)}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_every_tool_reads_well_for_every_client(version: str) -> None:
    assert lint_tools(RECORDED.tools_list(version)["tools"]) == []


@pytest.mark.parametrize("name", TOOLS)
def test_an_output_schema_types_every_member_and_requires_none(name: str) -> None:
    schema = TOOLS[name]["outputSchema"]
    assert schema["type"] == "object"
    assert len(schema["properties"]) > 1
    assert "error" in schema["properties"]
    assert "required" not in schema
    assert schema.get("additionalProperties", True) is not False
    assert all("type" in member for member in schema["properties"].values())


def test_the_whole_list_costs_an_agent_at_most_8000_tokens() -> None:
    assert token_estimate(RECORDED) <= 8_000


def test_the_instructions_cost_an_agent_at_most_1200_tokens() -> None:
    assert len(INSTRUCTIONS.encode("utf-8")) <= 4 * 1_200


@pytest.mark.parametrize(
    "fact",
    [
        "mergestorm-loop: dismiss",
        "smallest correct patch",
        "waiting with nonempty issues[] is not idle",
        "Never merge or rebase onto mg-park-*",
        "attention is not a mutation",
        "mg-stack-<n>",
        "Never retarget a base",
        "do not patch while agents work",
        "nonempty busy[] means wait",
        "autoEnqueueSettle",
        "does not authorize repeating a write",
        "a lost cursor means a fresh snapshot",
        "does not force Cyclone off",
        "MS-WATCH (ATTENTION|LANDED)",
        "cyclone-outcome:",
        "watch.next.args",
    ],
)
def test_the_instructions_state_the_rules_that_tools_share(fact: str) -> None:
    assert fact in " ".join(INSTRUCTIONS.split())


def test_nothing_advertised_repeats_what_the_hints_say() -> None:
    assert "read-only access" not in json.dumps(list(TOOLS.values())).lower()

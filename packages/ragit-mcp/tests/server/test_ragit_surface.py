"""What a client learns before it calls anything, and the snapshot that answers it."""

from __future__ import annotations

import pytest

from mcpkit.surface import HANDSHAKE_VERSIONS, Surface, drift, token_estimate
from mcpkit.testing import connect_memory, lint_tools
from ragit_mcp import __version__
from ragit_mcp.main import SURFACE
from ragit_mcp.server.tools import create

RECORDED = Surface.load(SURFACE)
NAMES = ["ragit_status", "ragit_query", "ragit_context_pack"]
AT = {"type": "string", "minLength": 1}
SCOPE = {"type": "string", "enum": ["durable", "session", "harness", "evidence", "all"]}
VIEW = {"type": "string", "enum": ["minimal", "default", "full"]}
TEXT = {"type": "string", "minLength": 1}
# Contract C; descriptions are ours.
ARGUMENTS = {
    "ragit_status": {},
    "ragit_query": {
        "question": TEXT,
        "topK": {"type": "integer", "minimum": 1, "maximum": 50},
        "at": AT,
        "scope": SCOPE,
        "view": VIEW,
        "explain": {"type": "boolean"},
    },
    "ragit_context_pack": {
        "goal": TEXT,
        "budget": {"type": "integer", "minimum": 1, "maximum": 32_000},
        "at": AT,
        "scope": SCOPE,
        "view": VIEW,
    },
}
REQUIRED = {"ragit_status": [], "ragit_query": ["question"], "ragit_context_pack": ["goal"]}


@pytest.mark.anyio
async def test_the_snapshot_of_ragit_is_what_the_server_answers() -> None:
    # To make it anew: uv run packages/ragit-mcp/surface.py
    assert await drift(create("nowhere"), RECORDED) == []


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_ragit_advertises_tools_and_nothing_else(version: str) -> None:
    answer = RECORDED.initialize(version)
    assert answer["protocolVersion"] == version
    assert answer["capabilities"] == {"tools": {}}
    assert answer["serverInfo"] == {"name": "ragit", "title": "RAGit", "version": __version__}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_the_three_tools_come_in_their_order_with_their_annotations(version: str) -> None:
    tools = RECORDED.tools_list(version)["tools"]
    assert [tool["name"] for tool in tools] == NAMES
    assert lint_tools(tools) == []
    for tool in tools:
        assert tool["annotations"] == {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        assert "_meta" not in tool
        assert "error" in tool["outputSchema"]["properties"]


@pytest.mark.anyio
async def test_the_schemas_are_those_of_the_contract() -> None:
    async with connect_memory(create("nowhere")) as client:
        await client.initialize()
        tools = await client.tools()
    assert [tool["name"] for tool in tools] == NAMES
    for tool in tools:
        schema = tool["inputSchema"]
        plain = {
            name: {key: value for key, value in facts.items() if key != "description"}
            for name, facts in schema["properties"].items()
        }
        assert plain == ARGUMENTS[tool["name"]]
        assert schema.get("required", []) == REQUIRED[tool["name"]]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)


def test_the_tools_of_ragit_cost_an_agent_little_context() -> None:
    assert token_estimate(RECORDED) <= 2_000

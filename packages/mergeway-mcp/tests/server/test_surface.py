"""What a client learns before it calls anything, and the snapshot that answers it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpkit.surface import HANDSHAKE_VERSIONS, Surface, drift, token_estimate
from mcpkit.testing import connect_memory, lint_tools
from mergeway_mcp import __version__
from mergeway_mcp.main import SURFACE
from mergeway_mcp.repository import Repository
from mergeway_mcp.tools import create

RECORDED = Surface.load(SURFACE)
NAMES = ["entity_list", "entity_show", "files_list", "object_get", "object_list", "repository_export"]


@pytest.mark.anyio
async def test_the_snapshot_is_what_the_server_answers() -> None:
    # To make it anew: uv run packages/mergeway-mcp/surface.py
    assert await drift(create(Repository("nowhere")), RECORDED) == []


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_only_tools_are_advertised(version: str) -> None:
    answer = RECORDED.initialize(version)
    assert answer["protocolVersion"] == version
    assert answer["capabilities"] == {"tools": {}}
    assert answer["serverInfo"] == {"name": "mergeway-mcp", "version": __version__}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_every_tool_reads_well_for_every_client(version: str) -> None:
    tools = RECORDED.tools_list(version)["tools"]
    assert sorted(tool["name"] for tool in tools) == NAMES
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


def test_the_tools_cost_an_agent_little_context() -> None:
    assert token_estimate(RECORDED) <= 2_000


@pytest.mark.anyio
async def test_the_2026_era_advertises_tools_without_change_notices() -> None:
    envelope: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with connect_memory(create(Repository("nowhere"))) as client:
        found = await client.request("server/discover", {"_meta": envelope})
        listed = await client.request("tools/list", {"_meta": envelope})
    assert found.result["capabilities"] == {"tools": {"listChanged": False}}
    assert "extensions" not in json.dumps(found.result["capabilities"])
    assert sorted(tool["name"] for tool in listed.result["tools"]) == NAMES

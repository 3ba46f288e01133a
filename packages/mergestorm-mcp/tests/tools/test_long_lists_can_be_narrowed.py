"""Lists over much data: what would fill an agent's context can be narrowed, and the description says with what."""

from __future__ import annotations

from typing import Any

import pytest

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface, tokens
from mcpkit.testing import connect_memory
from mergestorm_mcp.main import SURFACE

pytestmark = pytest.mark.anyio

LONG = 20_000
"""Tokens from which on a reply needs a way to ask for less."""
NARROWED_BY = {"queue_status": {"stack_id"}, "repo_settings_get": {"owner", "repo"}}
"""What asks a list for less. stack_list is missing: the published tool takes no arguments."""
DESCRIBED = {
    tool["name"]: tool for tool in Surface.load(SURFACE).tools_list(LATEST_HANDSHAKE_VERSION)["tools"]
}


def entry(number: int) -> dict[str, Any]:
    stack = "s1" if number == 0 else "s2"
    return {
        "id": f"entry-{number}",
        "stackId": stack,
        "owner": "kestrel-labs",
        "repo": "tidepool",
        "state": "queued",
        "position": number,
        "createdAt": "2026-01-01T00:00:00Z",
    }


def settings(number: int) -> dict[str, Any]:
    switches = ("autoPatch", "autoReview", "autoLand", "mergeQueueBatch", "mergeQueueOverdrive")
    return {"owner": "kestrel-labs", "repo": f"r{number}", **dict.fromkeys(switches)}


def get(path: str, body: Any, **query: str) -> dict[str, Any]:
    return {
        "match": {"method": "GET", "path": f"/api/v1/{path}", "query": query},
        "respond": {"status": 200, "body": body, "headers": {}},
    }


@pytest.mark.parametrize(
    ("tool", "path", "member", "make", "one"),
    [
        ("queue_status", "stacks/queue", "entries", entry, {"stack_id": "s1"}),
        (
            "repo_settings_get",
            "repo-settings",
            "repositories",
            settings,
            {"owner": "kestrel-labs", "repo": "r0"},
        ),
    ],
)
async def test_a_long_list_is_short_when_narrowed(
    server: Any, service: Any, tool: str, path: str, member: str, make: Any, one: dict[str, str]
) -> None:
    query = {"stackId": "s1"} if tool == "queue_status" else one
    everything = [make(number) for number in range(900)]

    async def cost(arguments: dict[str, str], answer: dict[str, Any]) -> int:
        service.play(routes=[answer])
        async with connect_memory(server()) as client:
            await client.initialize()
            result = (await client.call(tool, arguments)).result
        assert result.get("isError", False) is False
        return sum(tokens(block["text"]) for block in result["content"])

    assert await cost({}, get(path, {member: everything})) > LONG
    assert await cost(one, get(path, {member: everything[:1]}, **query)) < 500
    assert set(one) == NARROWED_BY[tool] <= set(DESCRIBED[tool]["inputSchema"]["properties"])


def test_the_descriptions_say_how_to_ask_for_less() -> None:
    assert "stack_id" in DESCRIBED["queue_status"]["description"]
    assert "one or all" in DESCRIBED["repo_settings_get"]["description"]

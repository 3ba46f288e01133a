"""Every tool over many and large records: a reply that would fill an agent's context can be asked for in parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface, tokens
from mcpkit.testing import Client, connect_memory
from mergeway_mcp.main import SURFACE
from mergeway_mcp.repository import Repository
from mergeway_mcp.tools import create

pytestmark = pytest.mark.anyio

LONG = 20_000
"""Tokens from which on a reply needs a way to ask for less."""
RECORDS = 500
LONG_NAME = "a-name-that-tells-what-is-in-the-file-" * 4
NOTE = "This note is as long as a sentence that somebody wrote with care. "
LESS: dict[str, dict[str, Any]] = {
    "object_list": {"limit": 20},
    "object_get": {"fields": ["id"]},
    "repository_export": {"limit": 20, "fields": ["id"]},
    "files_list": {"limit": 20},
}
"""What asks each tool for less."""
DEFAULTS: dict[str, dict[str, Any]] = {
    "entity_list": {},
    "entity_show": {"entity": "Kind0"},
    "object_list": {"entity": "Many"},
    "object_get": {"entity": "Large", "id": "one"},
    "repository_export": {},
    "files_list": {},
}


@pytest.fixture
def large(write_repository: Callable[[Mapping[str, str]], Path]) -> Path:
    """Many records in one file, many files, one record of 200 kB, and a hundred entities of fifty fields."""
    fields = {f"field{number}": "string" for number in range(50)}
    entities: dict[str, Any] = {
        f"Kind{number}": {
            "identifier": "id",
            "include": ["kinds/*.json"],
            "fields": {"id": "string", **fields},
        }
        for number in range(100)
    }
    entities["Many"] = {
        "identifier": "id",
        "include": ["catalogue/many/*.json"],
        "fields": {"id": "string", "note": "string"},
    }
    entities["Large"] = {
        "identifier": "id",
        "include": ["large.json"],
        "fields": {"id": "string", "note": "string"},
    }
    items = [{"id": f"record-{number}", "note": NOTE * 3} for number in range(RECORDS)]
    files = {
        f"catalogue/many/{LONG_NAME}-{number:03}.json": json.dumps({"items": [item]})
        for number, item in enumerate(items)
    }
    files["mergeway.yaml"] = json.dumps({"mergeway": {"version": 1}, "entities": entities})
    files["large.json"] = json.dumps({"items": [{"id": "one", "note": NOTE * 3_000}]})
    return write_repository(files)


async def cost(client: Client, tool: str, arguments: Mapping[str, Any]) -> int:
    """What the text of a reply costs an agent."""
    result = (await client.call(tool, dict(arguments))).result
    assert not result.get("isError", False), result
    return sum(tokens(block["text"]) for block in result["content"])


async def test_each_long_default_reply_can_be_asked_for_in_parts(large: Path) -> None:
    described = {
        tool["name"]: tool for tool in Surface.load(SURFACE).tools_list(LATEST_HANDSHAKE_VERSION)["tools"]
    }
    assert set(described) == set(DEFAULTS)
    async with connect_memory(create(Repository(str(large)))) as client:
        await client.initialize()
        costs = {tool: await cost(client, tool, arguments) for tool, arguments in DEFAULTS.items()}
        long = {tool for tool, tokens in costs.items() if tokens > LONG}
        assert long == set(LESS), costs
        less = {tool: await cost(client, tool, DEFAULTS[tool] | LESS[tool]) for tool in long}
    assert {tool for tool, tokens in less.items() if tokens > LONG} == set()
    for tool in long:
        for argument in LESS[tool]:
            assert argument in described[tool]["inputSchema"]["properties"]
            assert argument in described[tool]["description"]

"""The snapshot against the server it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP

from mcpkit.server import create_server
from mcpkit.surface import HANDSHAKE_VERSIONS, Surface, drift, generate, token_estimate

pytestmark = pytest.mark.anyio


def server(version: str = "1") -> FastMCP[Any]:
    return create_server(name="small", version=version, instructions="Says nothing.")


async def test_a_fresh_snapshot_agrees_under_every_version_also_after_a_round_trip_to_disk(
    tmp_path: Path,
) -> None:
    surface = await generate(server())
    assert await drift(server(), surface) == []
    path = tmp_path / "surface.json"
    path.write_text(surface.dump(), encoding="utf-8")
    read = Surface.load(path)
    assert await drift(server(), read) == []
    for version in HANDSHAKE_VERSIONS:
        assert read.initialize(version)["protocolVersion"] == version
        assert read.initialize(version)["capabilities"] == {"tools": {}}
        assert read.tools_list(version) == {"tools": []}
    assert read.initialize("2099-01-01") == read.initialize(None) == read.initialize("2025-11-25")


async def test_a_changed_tool_list_or_handshake_is_drift_under_every_version() -> None:
    recorded = await generate(server())
    changed = server(version="2")

    @changed.tool
    def added() -> str:
        return ""

    found = await drift(changed, recorded)
    assert len(found) == 2 * len(HANDSHAKE_VERSIONS)
    assert all(any(version in line for line in found) for version in HANDSHAKE_VERSIONS)
    assert token_estimate(await generate(changed)) > token_estimate(recorded)


async def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "surface.json"
    contents: list[Any] = [[], {"format": 2}, {"format": 1}, {"format": 1, "initialize": {}}]
    for content in contents:
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ValueError):
            Surface.load(path)

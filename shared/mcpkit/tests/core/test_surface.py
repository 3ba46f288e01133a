"""The snapshot file: reading, writing, negotiation. Drift against a server is tested with the stdio adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpkit.server import add_tool, create_server
from mcpkit.surface import HANDSHAKE_VERSIONS, Surface, drift, generate, negotiate, token_estimate, tokens

ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {version: {"protocolVersion": version} for version in HANDSHAKE_VERSIONS},
    "tools/list": {version: {"tools": []} for version in HANDSHAKE_VERSIONS},
}


def test_a_snapshot_survives_being_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "surface.json"
    text = Surface(ANSWERS).dump()
    path.write_text(text, encoding="utf-8")
    read = Surface.load(path)
    assert read.dump() == text
    for version in HANDSHAKE_VERSIONS:
        assert read.initialize(version) == {"protocolVersion": version}
        assert read.tools_list(version) == {"tools": []}


def test_equal_answers_are_written_once() -> None:
    folded = json.loads(Surface(ANSWERS).dump())["tools/list"]
    assert folded["2025-11-25"] == {"tools": []}
    assert {folded[version] for version in HANDSHAKE_VERSIONS[1:]} == {"2025-11-25"}


@pytest.mark.parametrize(
    ("requested", "version"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
        (None, "2025-11-25"),
        (["2024-11-05"], "2025-11-25"),
    ],
)
def test_an_unknown_or_missing_version_gets_the_latest(requested: object, version: str) -> None:
    assert negotiate(requested) == version
    assert Surface(ANSWERS).initialize(requested) == {"protocolVersion": version}


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"format": 2}', '{"format": 1}', '{"format": 1, "initialize": {}}', "{"]
)
def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "surface.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError):
        Surface.load(path)


def test_the_size_of_the_tool_list_is_estimated_in_tokens() -> None:
    assert token_estimate(Surface(ANSWERS)) == (len('{"tools":[]}') + 3) // 4
    assert [tokens(text) for text in ("", "a", "abcd", "abcde", "ääää")] == [0, 1, 1, 2, 2]
    assert tokens({"a": [1, 2]}) == (len('{"a":[1,2]}') + 3) // 4


def test_reading_a_snapshot_does_not_load_the_framework() -> None:
    code = "import sys, mcpkit.surface; print('fastmcp' in sys.modules, 'mcp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.anyio
async def test_a_changed_server_drifts_from_its_snapshot() -> None:
    from mcpkit import annotations

    async def first() -> dict[str, Any]:
        return {}

    app = create_server(name="x", version="1", instructions="i")
    add_tool(
        app, first, annotations=annotations.READ, title="t", description="d", output_schema={"type": "object"}
    )
    recorded = await generate(app)
    assert await drift(app, recorded) == []
    add_tool(
        app,
        first,
        name="second",
        annotations=annotations.READ,
        title="t",
        description="d",
        output_schema={"type": "object"},
    )
    faults = await drift(app, recorded)
    assert len(faults) == len(HANDSHAKE_VERSIONS)
    assert all(fault.startswith("tools/list under ") for fault in faults)

"""The engine is a plain library: neither MCP nor what only some requests need is imported with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Write = Callable[[Mapping[str, str | bytes]], Path]

SERVER_SIDE = ("mcp", "fastmcp", "pydantic", "mcpkit", "starlette", "uvicorn", "httpx", "anyio", "asyncio")
NOT_OF_THE_SERVER = (
    "mcpkit",
    "mcpkit.terminal",
    "mcpkit.terminal.visible",
)  # how a message shows what it quotes
LATER = (
    "re2",
    "mergeway_mcp.repository.selectors",
    "mergeway_mcp.repository.validation",
    "dataclasses",
    "inspect",
    "decimal",
    "email",
    "logging",
    "urllib",
)


def modules_after(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after running some code."""
    report = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    # -I: what the environment preloads for coverage or debugging would count as ours.
    run = subprocess.run(
        [sys.executable, "-I", "-c", report], capture_output=True, check=True, timeout=60, encoding="utf-8"
    )
    return set(json.loads(run.stdout))


def test_the_engine_imports_nothing_of_the_server(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  K: {identifier: id, include: [{path: d/*, selector: '$[?search(@.id, \"a\")]'}], fields: {id: string}}\n",
        "d/a.yaml": "- id: a\n",
    })
    code = f"from mergeway_mcp.repository import Repository; print(end=''); Repository({str(root)!r}).snapshot().export()"
    loaded = modules_after(code) - modules_after("")
    assert "re2" in loaded
    assert not [name for name in loaded - {*NOT_OF_THE_SERVER} if name.split(".")[0] in SERVER_SIDE]


def test_the_start_up_check_imports_only_what_it_needs(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  K: {identifier: id, include: [{path: d/*, selector: '$.a'}], fields: {id: {type: string, pattern: a}}}\n"
    })
    code = f"from mergeway_mcp.repository import Repository; Repository({str(root)!r}).load_config()"
    loaded = modules_after(code) - modules_after("")
    assert not [name for name in loaded - {*NOT_OF_THE_SERVER} if name in (*LATER, *SERVER_SIDE)]

"""The recorded vectors, replayed through the MCP server in memory and through the real program over stdio."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import Client, Outcome, connect_memory, connect_stdio
from mergeway_mcp.repository import Repository
from mergeway_mcp.tools import create

pytestmark = pytest.mark.anyio


def program() -> str:
    found = shutil.which("mergeway-mcp", path=str(Path(sys.executable).parent))
    assert found
    return found


def observed(outcome: Outcome) -> dict[str, Any]:
    """What came back, in the vectors' terms."""
    if outcome.error is not None:
        kind = {} if outcome.kind is None else {"kind": outcome.kind}
        return {"error": {"code": outcome.code, **kind}}
    if outcome.is_tool_error:
        return {"tool_error": True}
    return {"result": outcome.structured}


async def replay(client: Client, case: Any, repository: Any, same: Callable[[Any, Any], bool]) -> None:
    for step in case.steps:
        if "call" not in step:
            repository.apply(step)
            continue
        outcome = await client.call(step["call"], step["arguments"])
        actual = observed(outcome)
        accepted = [
            {key: repository.expected(one[key]) for key in ("result", "error", "tool_error") if key in one}
            for one in step.get("any_of", [step])
        ]
        assert any(same(one, actual) for one in accepted), (step["call"], step["arguments"], actual)
        if "result" in actual:
            assert_text_is_the_same_json(outcome)


def assert_text_is_the_same_json(outcome: Outcome) -> None:
    assert json.loads(outcome.text) == outcome.structured
    assert outcome.text == json.dumps(
        outcome.structured, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )


async def test_every_recorded_call_agrees_in_memory(
    vector_case: Any, materialise: Callable[[Any], Any], same_outcome: Callable[[Any, Any], bool]
) -> None:
    if vector_case.exit_code is not None:
        pytest.skip("the server does not start on it; replayed over stdio")
    repository = materialise(vector_case)
    app = create(Repository(str(repository.root), allowed=vector_case.allowed))
    async with connect_memory(app) as client:
        await client.initialize()
        await replay(client, vector_case, repository, same_outcome)


@pytest.mark.slow
async def test_every_recorded_call_agrees_over_stdio(
    vector_case: Any, materialise: Callable[[Any], Any], same_outcome: Callable[[Any, Any], bool]
) -> None:
    repository = materialise(vector_case)
    argv = [program(), "--root", str(repository.root), *vector_case.args]
    # Without the coverage tracer, which nearly doubles what a start costs: the same calls are measured in memory.
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    async with connect_stdio(argv, env=untraced) as client:
        if vector_case.exit_code is not None:
            assert await client.process.wait() == vector_case.exit_code
            return
        assert (await client.initialize()).ok
        await replay(client, vector_case, repository, same_outcome)
        assert await client.finish() == 0

"""Every recorded case, in memory: the real server and client, real HTTP to a scripted service, waits in no time.

One theme or case: `pytest packages/mergestorm-mcp/tests/test_recorded_vectors.py -n0 -k "review-pr"`. The same cases run
over stdio in real time through `vectors/run.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment


@pytest.mark.anyio
async def test_the_server_does_what_was_recorded(
    vector_case: Any,
    folders: dict[str, str],
    environment: Environment,
    clock: Any,
    service: Any,
    server: Callable[[Environment | None], Any],
    vector_judge: Any,
) -> None:
    raw = vector_case.raw
    context = {"api_base": service.base, "api_key": vector_judge.API_KEY, **folders}
    context["now"] = datetime.fromtimestamp(clock.now(), UTC)
    if "setup" in raw:
        vector_judge.prepare(vector_judge.fill(raw["setup"], context), context)
    for name, text in raw.get("home", {}).items():
        path = Path(folders["home"], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(vector_judge.fill(text, context), encoding="utf-8")  # noqa: ASYNC240 - a few bytes, before anything runs
    variables = {**environment.variables, **vector_judge.fill(raw.get("env", {}), context)}
    own = Environment(
        {name: value for name, value in variables.items() if value is not None},
        folders["home"],
        folders["work"],
    )
    context["now"] = datetime.fromtimestamp(clock.now(), UTC)
    case = vector_judge.fill(
        {key: value for key, value in raw.items() if key not in {"setup", "home", "env"}}, context
    )
    app = server(own)
    script = service.play(case.get("exchanges"), case.get("routes"))
    async with connect_memory(app) as client:
        await client.initialize("2025-06-18")
        began = clock.monotonic()
        message = {"name": case["tool"], "arguments": case["arguments"]}
        reply = await client.exchange({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": message})
        took = clock.monotonic() - began
    assert vector_judge.judge(case, reply, script, took) == []

"""Every wait tells a client that asked how far it is, and says nothing to one that did not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio

LAYER = {
    "branch": "b",
    "prNumber": 7,
    "state": "clean",
    "position": 0,
    "parentBranch": "main",
    "headSha": "a" * 40,
}
PULL = {"owner": "o", "repo": "r", "pr_number": 7}
WAITS: dict[str, dict[str, Any]] = {
    "review_submit": {"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "base": "main", "wait": True, "timeout_s": 30},
    "review_wait": {"job_id": "j1", "timeout_s": 30},
    "review_wait_pr": {**PULL, "timeout_s": 30},
    "stack_wait": {"stack_id": "s-1", "timeout_s": 30},
}  # fmt: skip


@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "not asked for"])
@pytest.mark.parametrize("tool", WAITS)
async def test_a_wait_tells_how_far_it_is(
    server: Any, runtime: Runtime, raw_service: Any, answer: Callable[..., bytes], tool: str, asked: bool
) -> None:
    async def handler(stream: Any, number: int) -> None:
        early = number < 6
        bodies: dict[str, Any] = {
            "POST /api/v1/reviews": {"job_id": "j1", "status": "queued"},
            "GET /api/v1/reviews/j1": {"status": "in_progress" if early else "completed"},
            "GET /api/v1/stacks/pr-review": {**PULL, "status": "in_progress" if early else "completed"},
            "GET /api/v1/stacks/enrich": {
                "stacks": [{"id": "s-1", "layers": [{**LAYER, "state": "clean" if early else "conflict"}]}]
            },
            "GET /api/v1/stacks/queue": {"entries": []},
        }
        method, target, _ = service.requests[number - 1].split(" ", 2)
        await stream.send(answer(200, json.dumps(bodies[f"{method} {target.partition('?')[0]}"]).encode()))

    own = runtime.environment
    async with raw_service(handler) as service:
        variables = {**own.variables, "MERGESTORM_API_URL": service.base}
        app = server(Environment(variables, own.home, own.working_directory))
        async with connect_memory(app) as client:
            await client.initialize()
            params: dict[str, Any] = {"name": tool, "arguments": WAITS[tool]}
            if asked:
                params["_meta"] = {"progressToken": "p-1"}
            outcome = await client.request("tools/call", params)
            told = [
                item["params"] for item in client.unclaimed if item.get("method") == "notifications/progress"
            ]
    assert outcome.structured["status"] in {"completed", "attention"}
    if not asked:
        assert told == []
        return
    assert len(told) >= 2
    assert {(item["progressToken"], item["total"]) for item in told} == {("p-1", 30)}
    done = [item["progress"] for item in told]
    assert done == sorted(set(done))

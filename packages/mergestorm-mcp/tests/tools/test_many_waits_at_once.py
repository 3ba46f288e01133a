"""Two hundred waits on one server: all are held by the service at once, and all are answered."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

COUNT = 200


@pytest.mark.anyio
async def test_two_hundred_waits_are_held_and_answered_together(
    server: Any, runtime: Runtime, raw_service: Any, answer: Any
) -> None:
    everyone = anyio.Event()

    async def handler(stream: Any, number: int) -> None:
        if number == COUNT:
            everyone.set()
        await everyone.wait()
        await stream.send(answer(200, json.dumps({"status": "completed"}).encode()))

    found: dict[int, Any] = {}
    async with raw_service(handler) as service:
        environment = Environment(
            {**runtime.environment.variables, "MERGESTORM_API_URL": service.base},
            runtime.environment.home,
            runtime.environment.working_directory,
        )
        async with connect_memory(server(environment), deadline=60) as client:
            await client.initialize()

            async def wait(number: int) -> None:
                outcome = await client.call("review_wait", {"job_id": f"j{number}", "timeout_s": 60})
                found[number] = outcome.structured

            async with anyio.create_task_group() as group:
                for number in range(COUNT):
                    group.start_soon(wait, number)
    assert {number: item["job_id"] for number, item in found.items()} == {n: f"j{n}" for n in range(COUNT)}
    assert {item["status"] for item in found.values()} == {"completed"}

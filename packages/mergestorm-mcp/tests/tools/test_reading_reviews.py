"""How waits end that did not find what they waited for: none of these is a failed call."""

from __future__ import annotations

from typing import Any

import pytest

from mcpkit.testing import connect_memory

pytestmark = pytest.mark.anyio

PR: dict[str, Any] = {"owner": "kestrel-labs", "repo": "tidepool", "pr_number": 64}


def always(path: str, status: int, body: Any, **headers: str) -> list[dict[str, Any]]:
    query = {name: str(value) for name, value in PR.items()} if path == "stacks/pr-review" else {}
    match = {"method": "GET", "path": f"/api/v1/{path}", "query": query}
    return [{"match": match, "respond": {"status": status, "body": body, "headers": headers}}]


async def called(server: Any, tool: str, arguments: dict[str, Any]) -> Any:
    async with connect_memory(server()) as client:
        await client.initialize()
        result = (await client.call(tool, arguments)).result
    assert result.get("isError", False) is False
    return result


async def test_no_review_of_the_head_during_the_whole_wait_is_none(server: Any, service: Any) -> None:
    service.play(routes=always("stacks/pr-review", 404, {"error": "not_found"}))
    result = await called(server, "review_wait_pr", {**PR, "timeout_s": 20})
    found = result["structuredContent"]
    assert found["status"] == "none"
    assert [found[name] for name in ("head_sha", "pass", "finding_count", "phase")] == [None] * 4
    assert result["content"][0]["text"] == "kestrel-labs/tidepool#64 · none"


@pytest.mark.parametrize("seconds", [0, 30])
async def test_a_rate_limited_pull_request_keeps_the_delay(server: Any, service: Any, seconds: int) -> None:
    service.play(routes=always("stacks/pr-review", 429, {}, **{"Retry-After": "40"}))
    result = await called(server, "review_wait_pr", {**PR, "timeout_s": seconds})
    found = result["structuredContent"]
    assert (found["status"], found["retry_after_seconds"]) == ("rate_limited", 40)
    assert result["content"][0]["text"].endswith("#64 · rate_limited")


async def test_a_job_that_goes_on_after_the_wait_is_in_progress(server: Any, service: Any) -> None:
    service.play(routes=always("reviews/j1", 200, {"status": "queued", "thread_slug": "local/a"}))
    found = (await called(server, "review_wait", {"job_id": "j1", "timeout_s": 20}))["structuredContent"]
    assert (found["job_id"], found["status"], found["thread"]["slug"]) == ("j1", "queued", "local/a")
    assert found["error"]


@pytest.mark.parametrize("job_id", ["..", "a/b", "a?b#c", "%2e%2e"])
async def test_a_job_id_names_a_job_and_nothing_else(server: Any, service: Any, job_id: str) -> None:
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        await client.call("review_wait", {"job_id": job_id, "timeout_s": 0})
    (problem,) = script.leftovers()
    assert "GET /api/v1/reviews/" in problem
    assert job_id not in problem

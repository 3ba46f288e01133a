"""What a client sees of a tool's outcome: results, raised errors, refused arguments, progress and cancellation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import anyio
import pytest
from fastmcp.tools import ToolResult
from pydantic import Field

from mcpkit.annotations import READ
from mcpkit.inputs import ABSENT, NullableBoolean, given
from mcpkit.server import create_server
from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout, rate_limited, usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.tools.kit import NullableText, declare, output, success

pytestmark = pytest.mark.anyio

Switch = Annotated[NullableBoolean, Field(description="A switch.")]
Text = Annotated[NullableText, Field(description="A text.")]
Keyword = Annotated[int, Field(ge=1, description="A name that Python keeps.")]


def app_of(function: Any) -> Any:
    app = create_server(name="probe", version="1", instructions="")
    app.add_tool(
        declare(function, title="Probe", description="Probe.", annotations=READ, output_schema=output())
    )
    return app


async def outcome_of(function: Any, arguments: dict[str, Any] | None = None) -> Any:
    async with connect_memory(app_of(function)) as client:
        await client.initialize()
        return await client.call(function.__name__, arguments or {})


RAISED = [
    (
        CommandError("install it", code="cyclone_not_installed", reason="surge_not_installed"),
        {
            "message": "install it",
            "exit_code": 1,
            "code": "cyclone_not_installed",
            "reason": "surge_not_installed",
        },
    ),
    (rate_limited(12), {"exit_code": 7, "code": "rate_limited", "retry_after_seconds": 12}),
    (
        CommandError("wait", code="busy", reason="", retry_after_seconds=0),
        {"message": "wait", "exit_code": 1, "code": "busy", "reason": "", "retry_after_seconds": 0},
    ),
    (RequestTimeout(30, "Read the state."), {"exit_code": 1, "code": "api_timeout"}),
    (CommandError("no code"), {"message": "no code", "exit_code": 1}),
    (ConnectionFailed("no answer"), {"message": "no answer", "exit_code": 1}),
    (usage("say what"), {"message": "say what", "exit_code": 2, "code": "usage"}),
]


@pytest.mark.parametrize(("error", "members"), RAISED, ids=[type(error).__name__ for error, _ in RAISED])
async def test_a_raised_error_is_a_result_with_exactly_its_members(
    error: CommandError, members: dict[str, Any]
) -> None:
    async def probe() -> ToolResult:
        raise error

    outcome = await outcome_of(probe)
    result = outcome.result
    assert result["isError"] is True
    assert result["structuredContent"] == {"error": {"message": error.message, **members}}
    texts = [block["text"] for block in result["content"]]
    assert json.loads(texts[1]) == result["structuredContent"]
    assert error.message in texts[0]
    assert error.code is None or error.code in texts[0]
    assert not error.reason or error.reason in texts[0]


async def test_a_success_has_a_summary_and_the_same_data_twice_with_its_nulls() -> None:
    async def probe() -> ToolResult:
        return success("All is well", {"b": None, "a": [None, {"c": None}]})

    result = (await outcome_of(probe)).result
    assert result.get("isError", False) is False
    assert result["structuredContent"] == {"b": None, "a": [None, {"c": None}]}
    assert [block["type"] for block in result["content"]] == ["text", "text"]
    assert result["content"][0]["text"] == "All is well"
    assert json.loads(result["content"][1]["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({}, {}),
        ({"switch": None, "text": None}, {"switch": None, "text": None}),
        ({"switch": False}, {"switch": False}),
    ],
)
async def test_null_is_told_from_left_out(arguments: dict[str, Any], passed: dict[str, Any]) -> None:
    async def probe(switch: Switch = ABSENT, text: Text = ABSENT) -> ToolResult:
        return success("ok", {"passed": given(switch=switch, text=text)})

    assert (await outcome_of(probe, arguments)).structured == {"passed": passed}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"switch": "canary-value"}, "switch"), ({"text": 7_777_777}, "text"), ({"canary": 1}, "canary")],
)
async def test_a_refused_argument_is_named_and_its_value_is_not(
    arguments: dict[str, Any], field: str
) -> None:
    async def probe(switch: Switch = ABSENT, text: Text = ABSENT) -> ToolResult:
        raise AssertionError((switch, text))

    result = (await outcome_of(probe, arguments)).result
    error = result["structuredContent"]["error"]
    assert result["isError"] is True
    assert error["code"] == "invalid_input"
    assert set(error) == {"code", "message"}
    assert f"'{field}'" in error["message"]
    assert "canary-value" not in json.dumps(result)
    assert "7777777" not in json.dumps(result)


async def test_a_python_keyword_is_published_and_taken_under_its_own_name() -> None:
    async def probe(pass_: Keyword | None = None) -> ToolResult:
        return success("ok", {"pass": pass_})

    async with connect_memory(app_of(probe)) as client:
        await client.initialize()
        (tool,) = await client.tools()
        assert list(tool["inputSchema"]["properties"]) == ["pass"]
        assert (await client.call("probe", {"pass": 3})).structured == {"pass": 3}
        for wrong in ({"pass_": 3}, {"pass": 0}, {"pass": "3"}):
            refused = (await client.call("probe", wrong)).structured["error"]
            assert refused["code"] == "invalid_input"


EVERY_TOOL: list[tuple[str, dict[str, Any]]] = [
    ("whoami", {}),
    ("credits", {}),
    ("review_list", {"limit": 3}),
    ("review_wait", {"job_id": "j1", "timeout_s": 0}),
    ("review_wait_pr", {"owner": "o", "repo": "r", "pr_number": 1, "timeout_s": 0}),
    ("review_dismiss", {"owner": "o", "repo": "r", "pr_number": 1, "head_sha": "a" * 40, "review_id": 1}),
    ("issue_create", {"title": "t", "owner": "o", "repo": "r"}),
    ("settings_get", {}),
    ("settings_set", {"auto_patch_enabled": True}),
    ("repo_settings_get", {}),
    ("repo_settings_set", {"owner": "o", "repo": "r", "auto_land": None}),
]


@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL, ids=[name for name, _ in EVERY_TOOL])
async def test_unknown_arguments_are_refused_before_any_call(
    server: Callable[..., Any], service: Any, tool: str, arguments: dict[str, Any]
) -> None:
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call(tool, {**arguments, "canary_field": "canary-value"})
    assert outcome.structured["error"]["code"] == "invalid_input"
    assert "canary_field" in outcome.structured["error"]["message"]
    assert "canary-value" not in json.dumps(outcome.result)
    assert script.leftovers() == []


@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL, ids=[name for name, _ in EVERY_TOOL])
@pytest.mark.parametrize("status", [200, 400, 404, 429, 500])
async def test_a_service_that_echoes_the_key_does_not_make_a_tool_show_it(
    server: Callable[..., Any],
    runtime: Runtime,
    raw_service: Any,
    answer: Any,
    tool: str,
    arguments: Any,
    status: int,
) -> None:
    key = "msk_live_canary_0123456789abcdef"

    async def handler(stream: Any, number: int) -> None:
        echo = json.dumps({
            "message": service.requests[number - 1],
            "error": key,
            "status": key,
            "items": [{"job_id": key}],
        })
        await stream.send(answer(status, echo.encode()))

    async with raw_service(handler) as service:
        environment = Environment(
            {"MERGESTORM_API_URL": service.base, "MERGESTORM_API_KEY": key},
            runtime.environment.home,
            runtime.environment.working_directory,
        )
        async with connect_memory(server(environment)) as client:
            await client.initialize()
            outcome = await client.call(tool, arguments)
        assert len(service.requests) == 1
        assert key in service.requests[0]
    assert key not in json.dumps(outcome.result)


WAITS: list[tuple[str, dict[str, Any]]] = [
    ("review_wait", {"job_id": "j1", "timeout_s": 60}),
    ("review_wait_pr", {"owner": "o", "repo": "r", "pr_number": 1, "timeout_s": 60}),
    ("review_wait", {"job_id": "j1", "timeout_s": 0}),
]


@pytest.mark.parametrize(("tool", "arguments"), WAITS)
async def test_cancelling_a_wait_closes_the_request_within_a_second(
    server: Callable[..., Any], runtime: Runtime, raw_service: Any, tool: str, arguments: dict[str, Any]
) -> None:
    async def handler(_stream: Any, _number: int) -> None:
        await anyio.sleep_forever()

    async with raw_service(handler) as service:
        environment = Environment(
            {**runtime.environment.variables, "MERGESTORM_API_URL": service.base},
            runtime.environment.home,
            runtime.environment.working_directory,
        )
        async with connect_memory(server(environment)) as client:
            await client.initialize()
            call = {
                "jsonrpc": "2.0",
                "id": 77,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
            await client.send(call)
            with anyio.fail_after(10):
                await service.asked.wait()
            await client.notify("notifications/cancelled", {"requestId": 77, "reason": "enough"})
            with anyio.fail_after(1):
                await service.gone.wait()


async def test_a_wait_reports_progress_to_a_client_that_asked_for_it(
    server: Callable[..., Any], service: Any
) -> None:
    def read(status: str) -> dict[str, Any]:
        return {
            "expect": {"method": "GET", "path": "/api/v1/reviews/j1"},
            "respond": {"status": 200, "body": {"status": status}},
        }

    service.play([read("queued"), read("in_progress"), read("completed")])
    async with connect_memory(server()) as client:
        await client.initialize()
        params = {
            "name": "review_wait",
            "arguments": {"job_id": "j1", "timeout_s": 30},
            "_meta": {"progressToken": "p-1"},
        }
        outcome = await client.request("tools/call", params)
        told = [item["params"] for item in client.unclaimed if item.get("method") == "notifications/progress"]
    assert outcome.structured["status"] == "completed"
    assert [item["progressToken"] for item in told] == ["p-1", "p-1"]
    assert told[0]["progress"] < told[1]["progress"]
    assert {item["total"] for item in told} == {30}

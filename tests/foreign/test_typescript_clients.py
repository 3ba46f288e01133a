"""The TypeScript SDK's clients, versions 1 and 2, against mergeway-mcp: Node runs them, npm brought them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import psutil
import pytest

from mcpkit.testing import start_server

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(400)]

Run = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
Command = Callable[[str, dict[str, Any]], list[str]]
Where = Callable[[str], dict[str, Any]]

#: Driver, negotiation, and the version that comes of it; SDK 1 does not tell.
CLIENTS = [
    pytest.param("sdk1", None, None, id="sdk1"),
    pytest.param("sdk2", None, "2025-11-25", id="sdk2-handshake"),
    pytest.param("sdk2", "auto", "2026-07-28", id="sdk2-auto"),
    pytest.param("sdk2", {"pin": "2026-07-28"}, "2026-07-28", id="sdk2-pinned"),
]
TRANSPORTS = ["stdio", "http"]
GONE_SECONDS = 10

BAD_CALLS = [
    ("object_get", {"entity": "Service", "id": "nothing-of-this-name"}),
    ("object_get", {"entity": "Nope", "id": "x"}),
    ("object_get", {"entity": "Service"}),
    ("object_list", {"entity": "Service", "limit": "2"}),
    ("no_such_tool", {}),
]


@pytest.fixture
async def hosted(where: Where, url: str) -> Where:
    """`where`, with the HTTP server already up: a fixture cannot be awaited from inside another."""
    return where


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("driver", "negotiation", "version"), CLIENTS)
async def test_a_client_lists_and_calls_every_tool_and_can_read_every_error(
    run_typescript: Run,
    hosted: Where,
    calls: list[tuple[str, dict[str, Any]]],
    driver: str,
    negotiation: Any,
    version: str | None,
    transport: str,
) -> None:
    plan = {
        **hosted(transport),
        "negotiation": negotiation,
        "calls": [*calls, *BAD_CALLS],
        "requests": ["listPrompts", "listResources"],
    }
    seen = await run_typescript(driver, plan)

    assert seen["version"] == version
    assert seen["server"]["name"] == "mergeway-mcp"
    assert "entity_list" in seen["instructions"]
    assert seen["capabilities"]["tools"] is not None
    assert [tool["name"] for tool in seen["tools"]] == [name for name, _ in calls]

    good, bad = seen["calls"][: len(calls)], seen["calls"][len(calls) :]
    for outcome in good:
        # The client itself has held structuredContent against the output schema.
        result = outcome["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert not result.get("isError", False)
    assert "basket" in json.dumps(good[2]["result"]["structuredContent"])
    assert good[3]["result"]["structuredContent"]["object"]["fields"].keys() == {"title"}

    absent, unknown, missing, wrong, no_tool = bad
    assert (absent["error"]["code"], absent["error"]["data"]["kind"]) == (-32602, "object_not_found")
    assert (unknown["error"]["code"], unknown["error"]["data"]["kind"]) == (-32602, "unknown_entity")
    assert (no_tool["error"]["code"], no_tool["error"]["data"]["reason"]) == (-32602, "unknown_tool")
    for outcome, field in ((missing, "id"), (wrong, "limit")):
        # Version 1 holds the content of failures against the output schema, too: it must admit `error`.
        assert outcome["result"]["isError"] is True
        error = outcome["result"]["structuredContent"]["error"]
        assert (error["kind"], error["field"]) == ("invalid_arguments", field)

    for method, member in (("listPrompts", "prompts"), ("listResources", "resources")):
        # Version 2 knows from the capabilities that there is nothing and does not ask.
        outcome = seen["requests"][method]
        assert outcome.get("error", {}).get("code") == -32601 or outcome["result"][member] == []


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("driver", "negotiation", "version"), CLIENTS[:3])
async def test_aborting_a_call_reaches_the_tool_and_the_session_goes_on(
    typescript: Command, reports: Any, driver: str, negotiation: Any, version: str | None, transport: str
) -> None:
    # Over HTTP the handshake versions cancel with a message of its own, which a server without sessions cannot match
    # with the call. The tool is told when the client closes the connection.
    late = transport == "http" and version != "2026-07-28"
    plan = {"negotiation": negotiation, "interrupt": "wait", "calls": [["answer", {}]]}
    async with AsyncExitStack() as stack:
        if transport == "http":
            plan["url"], _ = await stack.enter_async_context(reports.serve())
        else:
            plan["command"], *plan["args"] = reports.command
        client = await stack.enter_async_context(start_server(typescript(driver, plan)))
        assert await reports.next() == "started"
        await client.stdin.send(b"abort\n")
        if late:
            await client.stdin.send(b"go on\n")
            assert await reports.next() == "cancelled"
        else:
            assert await reports.next() == "cancelled"
            await client.stdin.send(b"go on\n")
        assert await client.wait(60) == 0, client.stderr
        seen = json.loads(client.output)
    assert "error" in seen["interrupted"]
    assert seen["calls"][0]["result"]["structuredContent"] == {"answer": 42}


@pytest.mark.parametrize("driver", ["sdk1", "sdk2"])
async def test_a_client_that_is_killed_leaves_no_server_behind(
    typescript: Command, hosted: Where, driver: str
) -> None:
    plan = {**hosted("stdio"), "hold": True}
    async with start_server(typescript(driver, plan)) as client:
        await client.wait_for(lambda process: process.output.endswith(b"\n"), 60)
        server = psutil.Process(json.loads(client.output)["server"])
        family = [server, *server.children(recursive=True)]
        client.kill()
        _, alive = await anyio.to_thread.run_sync(lambda: psutil.wait_procs(family, GONE_SECONDS))
        assert alive == []

"""Servers built here: what they offer, and what becomes of every exception, without any wire."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import anyio
import pytest
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from mcp import MCPError
from mcp_types import Icon
from pydantic import Field

from mcpkit import annotations
from mcpkit.errors import INTERNAL_ERROR, InvalidArguments, RequestFailure, ToolFailure
from mcpkit.inputs import JsonInteger
from mcpkit.results import summary_and_json
from mcpkit.server import KitTool, add_tool, create_server, harden
from mcpkit.surface import generate
from mcpkit.testing import Outcome, connect_memory, lint_tools
from mcpkit.threads import CancelCheck, run_in_thread

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def build(function: Callable[..., Any]) -> FastMCP[Any]:
    app = create_server(name="under test", version="4.5.6", instructions="Ask.")
    add_tool(
        app, function, annotations=annotations.CLOSED_READ, title="T", description="D", output_schema=SCHEMA
    )
    return app


async def outcome(function: Callable[..., Any], arguments: dict[str, Any] | None = None) -> Outcome:
    async with connect_memory(build(function)) as client:
        await client.initialize()
        return await client.call(function.__name__, arguments)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_a_server_advertises_tools_and_nothing_else(version: str) -> None:
    async def act() -> dict[str, Any]:
        return {"n": 1}

    async with connect_memory(build(act)) as client:
        result = (await client.initialize(version)).result
        assert result["capabilities"] == {"tools": {}}
        assert result["serverInfo"] == {"name": "under test", "version": "4.5.6"}
        assert result["instructions"] == "Ask."
        for method in ("resources/list", "prompts/list", "logging/setLevel", "nope"):
            params = {"level": "info"} if method == "logging/setLevel" else {}
            refused = await client.request(method, params)
            assert (refused.code, refused.kind) == (-32601, "method_not_found")
        tools = await client.tools()
        assert "_meta" not in tools[0]
        assert lint_tools(tools) == []


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_a_server_says_its_title_website_and_icons(version: str) -> None:
    picture = Icon(src="data:image/svg+xml,x", mime_type="image/svg+xml", sizes=["any"], theme="dark")
    app = create_server(
        name="n",
        version="1",
        instructions="i",
        title="A name",
        website_url="https://example.org",
        icons=[picture],
    )
    shown = {
        "name": "n",
        "title": "A name",
        "version": "1",
        "websiteUrl": "https://example.org",
        "icons": [
            {"src": "data:image/svg+xml,x", "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}
        ],
    }
    async with connect_memory(app) as client:
        assert (await client.initialize(version)).result["serverInfo"] == shown
    assert (await generate(app)).initialize(version)["serverInfo"] == shown


async def test_a_made_up_cursor_is_refused() -> None:
    async def act() -> dict[str, Any]:
        return {"n": 1}

    async with connect_memory(build(act)) as client:
        await client.initialize()
        assert (await client.request("tools/list", {"cursor": "zzz"})).code == -32602


async def test_a_value_becomes_the_same_json_and_a_finished_result_stays() -> None:
    async def plain() -> dict[str, Any]:
        return {"n": 1, "a": "\u00fc"}

    async def finished() -> Any:
        return summary_and_json("One.", {"n": 1})

    first = await outcome(plain)
    assert (first.structured, first.text) == ({"n": 1, "a": "\u00fc"}, '{"a":"\u00fc","n":1}')
    second = await outcome(finished)
    assert second.structured == {"n": 1}
    assert [block["text"] for block in second.result["content"]] == ["One.", '{"n":1}']


async def test_arguments_are_checked_before_the_tool_runs() -> None:
    ran: list[int] = []

    async def act(count: Annotated[JsonInteger, Field(description="How many.")]) -> dict[str, Any]:
        ran.append(count)
        return {"n": count}

    assert (await outcome(act, {"count": 2.0})).structured == {"n": 2}
    for wrong in ({"count": "2"}, {"count": True}, {"count": 2.5}, {}, {"count": 1, "x": 1}):
        refused = await outcome(act, wrong)
        assert refused.kind == "invalid_arguments"
    assert ran == [2]


def raising(error: BaseException) -> Callable[..., Any]:
    async def act() -> dict[str, Any]:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolFailure("wait", kind="busy", detail="SECRET"), "busy"),
        (InvalidArguments("id", "is unknown"), "invalid_arguments"),
        (ToolError("for the model"), "tool_error"),
    ],
)
async def test_a_failure_for_the_model_is_a_result(error: Exception, kind: str) -> None:
    result = await outcome(raising(error))
    assert result.is_tool_error
    assert result.kind == kind
    assert "SECRET" not in repr(result)


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (RequestFailure("no", kind="unknown_entity", data={"entity": "X"}), -32602, "unknown_entity"),
        (
            RequestFailure("no", kind="repository_error", code=INTERNAL_ERROR, detail="SECRET"),
            -32603,
            "repository_error",
        ),
        (MCPError(code=-32099, message="own", data={"kind": "own"}), -32099, "own"),
        (ValueError("SECRET"), -32603, "internal_error"),
        (KeyError("SECRET"), -32603, "internal_error"),
        (ExceptionGroup("SECRET", [ValueError("SECRET")]), -32603, "internal_error"),
    ],
)
async def test_a_failure_of_the_request_is_a_coded_error(error: Exception, code: int, kind: str) -> None:
    result = await outcome(raising(error))
    assert (result.code, result.kind) == (code, kind)
    assert "SECRET" not in repr(result)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[logging.LogRecord]:
    """Records of the server's logger, which does not propagate."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    monkeypatch.setattr(logging.getLogger("mcpkit.server"), "handlers", [Keep()])
    return records


async def test_what_is_masked_is_logged(logged: list[logging.LogRecord]) -> None:
    await outcome(raising(ValueError("the reason")))
    await outcome(raising(RequestFailure("no", kind="x", detail="the detail")))
    assert logged[0].exc_info is not None
    assert str(logged[0].exc_info[1]) == "the reason"
    assert logged[1].getMessage() == "the detail"


async def test_a_server_may_have_a_form_of_its_own_for_failed_results() -> None:
    class Closed(Exception):
        pass

    def shape(error: Exception) -> ToolResult | None:
        if isinstance(error, Closed | InvalidArguments):
            return summary_and_json("No.", {"error": {"code": type(error).__name__}}, is_error=True)
        return None

    def refuse(arguments: Mapping[str, Any]) -> None:
        if "key" in arguments:
            raise Closed

    async def act(open_: Annotated[bool, Field(description="Whether it is.")]) -> dict[str, Any]:
        if not open_:
            raise Closed
        raise RequestFailure("no", kind="elsewhere")

    app = create_server(name="n", version="1", instructions="i")
    app.add_tool(
        KitTool.create(
            act,
            name="act",
            title="T",
            description="D",
            annotations=annotations.WRITE,
            output_schema={"type": "object", "properties": {"error": {"type": "object"}}},
            refuse=refuse,
            shape_failure=shape,
        )
    )
    async with connect_memory(app) as client:
        await client.initialize()
        (tool,) = await client.tools()
        assert list(tool["inputSchema"]["properties"]) == tool["inputSchema"]["required"] == ["open"]
        assert tool["outputSchema"]["properties"] == {"error": {"type": "object"}}
        for arguments, code in (
            ({"open": False}, "Closed"),
            ({"key": 1}, "Closed"),
            ({"open_": False}, "InvalidArguments"),
            ({}, "InvalidArguments"),
        ):
            failed = await client.call("act", arguments)
            assert (failed.is_tool_error, failed.structured) == (True, {"error": {"code": code}})
        assert (await client.call("act", {"open": True})).kind == "elsewhere"


async def test_an_unknown_tool_is_bad_params() -> None:
    async with connect_memory(build(raising(ValueError()))) as client:
        await client.initialize()
        assert (await client.call("nope")).code == -32602


async def test_hardening_an_existing_server_twice_is_once() -> None:
    app: FastMCP[Any] = FastMCP("plain")

    @app.tool
    def twice(n: int) -> int:
        if n < 0:
            raise ValueError("SECRET")
        return 2 * n

    assert harden(harden(app)) is app
    async with connect_memory(app) as client:
        await client.initialize()
        assert (await client.call("twice", {"n": 2})).structured == {"result": 4}
        wrong = await client.call("twice", {"n": "SECRET"})
        assert wrong.tool_error is not None
        assert (wrong.tool_error["kind"], wrong.tool_error["field"]) == ("invalid_arguments", "n")
        failed = await client.call("twice", {"n": -1})
        assert (failed.code, failed.kind) == (-32603, "internal_error")
        assert "SECRET" not in repr(wrong) + repr(failed)
        missing = await client.request("tools/call", {})
        assert (missing.code, missing.kind) == (-32602, "invalid_params")


async def test_a_cancelled_call_stops_its_thread_and_gets_no_answer() -> None:
    begun, ended = threading.Event(), threading.Event()

    def rounds(cancel: CancelCheck) -> None:
        begun.set()
        while not cancel():
            pass
        ended.set()

    async def act() -> dict[str, Any]:
        await run_in_thread(rounds)
        return {"n": 1}

    async with connect_memory(build(act)) as client:
        await client.initialize()
        await client.send({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "act"}})
        await anyio.to_thread.run_sync(begun.wait, 20)
        await client.notify("notifications/cancelled", {"requestId": 77})
        assert await anyio.to_thread.run_sync(ended.wait, 20)
        assert (await client.request("ping")).ok
        assert client.unclaimed == []


async def test_a_tool_name_can_be_used_once() -> None:
    app = build(raising(ValueError()))
    with pytest.raises(ValueError):
        add_tool(
            app,
            raising(ValueError()),
            annotations=annotations.READ,
            title="T",
            description="D",
            output_schema=SCHEMA,
        )

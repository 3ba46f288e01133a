"""The official Python client and FastMCP's, against mergeway-mcp over both transports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import anyio
import fastmcp
import mcp_types as wire
import pytest
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

pytestmark = pytest.mark.anyio

Calls = list[tuple[str, dict[str, Any]]]
Mode = Literal["legacy", "auto", "2026-07-28"]

TRANSPORTS = ["stdio", "http"]
#: How the client negotiates, and the version that comes of it.
MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


@pytest.fixture
async def place(command: list[str], url: str) -> Callable[[str], Any]:
    """What `mcp.Client` is given to reach mergeway-mcp over a transport."""

    def give(transport: str) -> Any:
        return url if transport == "http" else StdioServerParameters(command=command[0], args=command[1:])

    return give


@asynccontextmanager
async def session(place: Any) -> AsyncIterator[ClientSession]:
    """A session that has not shaken hands."""
    connection = streamable_http_client(place) if isinstance(place, str) else stdio_client(place)
    async with connection as streams, ClientSession(*streams[:2]) as made:
        yield made


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_the_session_shakes_hands_at_every_version(
    place: Callable[[str], Any], calls: Calls, version: str, transport: str
) -> None:
    async with session(place(transport)) as client:
        client_info = wire.Implementation(name="foreign", version="1")
        params = wire.InitializeRequestParams(
            protocol_version=version, capabilities=wire.ClientCapabilities(), client_info=client_info
        )
        hello = await client.send_request(wire.InitializeRequest(params=params), wire.InitializeResult)
        assert hello.protocol_version == version
        assert hello.server_info.name == "mergeway-mcp"
        assert hello.capabilities.tools is not None
        assert (hello.capabilities.prompts, hello.capabilities.resources) == (None, None)
        client.adopt(hello)
        await client.send_notification(wire.InitializedNotification())
        assert [tool.name for tool in (await client.list_tools()).tools] == [name for name, _ in calls]
        result = await client.call_tool("entity_list", {})
        assert json.loads(result.content[0].text) == {  # type: ignore[union-attr]
            "entities": [
                "Component",
                "Datastore",
                "Person",
                "Rotation",
                "Runbook",
                "Service",
                "Severity",
                "Team",
            ]
        }


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_every_tool_answers_what_its_output_schema_promises(
    place: Callable[[str], Any], calls: Calls, mode: Mode, version: str, transport: str
) -> None:
    async with Client(place(transport), mode=mode) as client:
        assert client.protocol_version == version
        if mode != version:  # a client that is told the version does not ask what the server can do
            assert client.server_capabilities.tools is not None
            assert "entity_list" in (client.instructions or "")
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [name for name, _ in calls]
        assert all(tool.output_schema and tool.annotations and tool.title for tool in listed)
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            # The client has held it against the schema already, and would have raised.
            await client.session.validate_tool_result(name, result)
            assert result.structured_content == json.loads(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_errors_arrive_as_the_clients_own_kinds_of_error(
    place: Callable[[str], Any], mode: Mode, transport: str
) -> None:
    async with Client(place(transport), mode=mode) as client:
        for name, arguments, member, value in [
            ("object_get", {"entity": "Service", "id": "nothing"}, "kind", "object_not_found"),
            ("object_get", {"entity": "Nope", "id": "x"}, "kind", "unknown_entity"),
            ("object_list", {"entity": "Service", "cursor": "stale"}, "kind", "invalid_arguments"),
            ("no_such_tool", {}, "reason", "unknown_tool"),
        ]:
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, arguments)
            assert (refused.value.error.code, refused.value.error.data[member]) == (-32602, value)
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(wire.ListPromptsRequest(), wire.ListPromptsResult)
        assert (refused.value.error.code, refused.value.error.data["kind"]) == (-32601, "method_not_found")
        result = await client.call_tool("object_list", {"entity": "Service", "limit": "s3cret"})
        assert result.is_error
        assert result.structured_content is not None
        error = result.structured_content["error"]
        assert (error["kind"], error["field"]) == ("invalid_arguments", "limit")
        assert "s3cret" not in result.model_dump_json()
        # After all that the session still works.
        assert not (await client.call_tool("entity_list", {})).is_error


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("mode", "version"), MODES[:2])
async def test_the_client_of_fastmcp_lists_calls_and_raises_its_own_errors(
    command: list[str], url: str, calls: Calls, mode: Mode, version: str, transport: str
) -> None:
    reach: Any = (
        StreamableHttpTransport(url) if transport == "http" else StdioTransport(command[0], command[1:])
    )
    async with fastmcp.Client(reach, mode=mode) as client:
        assert client.protocol_version == version
        assert [tool.name for tool in await client.list_tools()] == [name for name, _ in calls]
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert result.structured_content == json.loads(result.content[0].text)
        with pytest.raises(MCPError) as refused:
            await client.call_tool("object_get", {"entity": "Service", "id": "nothing"})
        assert refused.value.error.data["kind"] == "object_not_found"
        with pytest.raises(ToolError):
            await client.call_tool("object_get", {"entity": "Service"})
        failed = await client.call_tool("object_get", {"entity": "Service"}, raise_on_error=False)
        assert failed.is_error
        assert failed.structured_content is not None
        assert failed.structured_content["error"]["field"] == "id"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_cancelling_a_call_reaches_the_tool_and_the_session_goes_on(
    reports: Any, mode: Mode, transport: str
) -> None:
    async with AsyncExitStack() as stack:
        if transport == "http":
            place, _ = await stack.enter_async_context(reports.serve())
        else:
            place = StdioServerParameters(command=reports.command[0], args=reports.command[1:])
        async with Client(place, mode=mode) as client:
            async with anyio.create_task_group() as calls:
                calls.start_soon(client.call_tool, "wait", {})
                assert await reports.next() == "started"
                calls.cancel_scope.cancel()
            # Over HTTP the handshake versions cancel with a message of its own, which a server without sessions cannot
            # match with the call. The tool is told when the client closes the connection.
            late = transport == "http" and mode == "legacy"
            if not late:
                assert await reports.next() == "cancelled"
            assert (await client.call_tool("answer", {})).structured_content == {"answer": 42}
        if late:
            assert await reports.next() == "cancelled"

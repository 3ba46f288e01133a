"""The same calls in memory, over stdio and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from mcpkit.testing import Client, ConnectionEnded, connect_http, connect_memory, connect_stdio

pytestmark = pytest.mark.anyio


def ways(app: Any, command: list[str]) -> dict[str, AbstractAsyncContextManager[Client]]:
    return {
        "memory": connect_memory(app),
        "stdio": connect_stdio([*command, "stdio"]),
        "http": connect_http([*command, "http"]),
        "http_in_process": connect_http(app),
    }


@pytest.fixture(params=["memory", "stdio", "http", "http_in_process"])
async def client(
    request: pytest.FixtureRequest, small_app: Any, small_command: list[str]
) -> AsyncIterator[Client]:
    async with ways(small_app, small_command)[request.param] as opened:
        yield opened


async def test_every_kind_of_outcome_looks_the_same(client: Client) -> None:
    assert (await client.initialize("2025-06-18")).result["serverInfo"]["name"] == "small"
    assert client.version == "2025-06-18"

    good = await client.call("echo", {"text": "hi"})
    assert good.ok
    assert (good.structured, good.text, good.error, good.tool_error, good.kind) == (
        {"text": "hi"},
        '{"text":"hi"}',
        None,
        None,
        None,
    )

    bad_call = await client.call("fail", {"how": "tool"})
    assert not bad_call.ok
    assert bad_call.is_tool_error
    assert bad_call.tool_error == {"kind": "on_purpose", "message": "no"}
    assert (bad_call.kind, bad_call.code) == ("on_purpose", None)

    bad_request = await client.call("fail", {"how": "request"})
    assert not bad_request.ok
    assert (bad_request.code, bad_request.kind) == (-32602, "on_purpose")
    with pytest.raises(AssertionError):
        _ = bad_request.result
    assert "on_purpose" in repr(bad_request)

    assert [tool["name"] for tool in await client.tools()] == ["echo", "fail", "die", "hang"]
    await client.notify("notifications/cancelled", {"requestId": 999})
    assert (await client.request("ping")).result == {}


async def test_raw_bytes_are_answered(client: Client) -> None:
    await client.initialize()
    replies = await client.raw(b'{"jsonrpc":"2.0","id":"raw","method":"ping"}\n')
    assert replies == [{"jsonrpc": "2.0", "id": "raw", "result": {}}]


async def test_calls_at_the_same_time_get_their_own_answers(client: Client) -> None:
    await client.initialize()
    texts: dict[str, Any] = {}

    async def one(text: str) -> None:
        texts[text] = (await client.call("echo", {"text": text})).structured

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(one, str(number))
    assert texts == {str(number): {"text": str(number)} for number in range(10)}


async def test_a_reply_that_does_not_come_is_a_timeout(small_app: Any) -> None:
    async with connect_memory(small_app, deadline=0.05) as client:
        await client.initialize()
        with pytest.raises(TimeoutError):
            await client.call("hang")


async def test_a_server_that_dies_ends_the_call_and_tells_its_exit_code(small_command: list[str]) -> None:
    async with connect_stdio([*small_command, "stdio"]) as client:
        await client.initialize()
        with pytest.raises(ConnectionEnded):
            await client.call("die", {"code": 7})
        with pytest.raises(ConnectionEnded):
            await client.receive()
        assert await client.process.wait() == 7
        assert client.process.stderr == "dying\n"
        assert client.process.returncode == 7


async def test_the_end_of_input_ends_the_server(small_command: list[str]) -> None:
    async with connect_stdio([*small_command, "stdio"]) as client:
        await client.initialize()
        assert await client.finish() == 0
        assert client.strays == []
        assert client.unclaimed == []


async def test_a_failing_test_is_not_wrapped_in_a_group(small_app: Any) -> None:
    with pytest.raises(KeyError):
        async with connect_memory(small_app):
            raise KeyError("as it is")


async def test_an_http_server_that_does_not_start_is_a_timeout_with_its_stderr(
    small_command: list[str],
) -> None:
    with pytest.raises(TimeoutError):
        async with connect_http([*small_command[:1], "-c", "print('no')"]):
            pass

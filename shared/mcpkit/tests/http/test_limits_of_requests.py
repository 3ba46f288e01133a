"""Sizes and times are bounded: bodies, heads, clients that do not read, clients that go away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from uvicorn.server import ServerState

from mcpkit.http import Limits, application
from mcpkit.http.endpoint import MAX_BODY
from mcpkit.http.listening import BoundedProtocol, bounded_server
from mcpkit.testing import HttpClient, ServerProcess

pytestmark = pytest.mark.anyio

Exchange = Callable[..., Awaitable[bytes]]

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"


def padded(size: int) -> bytes:
    """A ping of exactly that many bytes."""
    empty = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": ""}})
    return empty.replace('""', '"' + "x" * (size - len(empty)) + '"').encode()


async def test_a_body_of_just_4_mib_is_served(client: HttpClient) -> None:
    response = await client.post(padded(MAX_BODY))
    assert (response.status_code, response.json()["id"]) == (200, 1)


async def test_a_longer_body_is_refused(client: HttpClient) -> None:
    response = await client.post(padded(MAX_BODY + 1))
    assert response.status_code == 413
    assert response.json()["error"]["data"]["kind"] == "message_too_large"
    assert response.headers["connection"] == "close"


async def test_a_body_declared_too_long_is_refused_before_it_is_sent(at_socket: Exchange) -> None:
    answer = await at_socket(HEAD + b"Content-Length: 4194305\r\nExpect: 100-continue\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_an_absurd_declared_length_is_refused(at_socket: Exchange) -> None:
    answer = await at_socket(HEAD + b"Content-Length: " + b"9" * 19 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_reading_of_an_endless_chunked_body_stops(at_socket: Exchange) -> None:
    """The server closes long before the client has sent what it could have."""
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = b""
    with pytest.raises((anyio.BrokenResourceError, anyio.ClosedResourceError)):  # noqa: PT012 - either side may see it
        for _ in range(2):
            answer = await at_socket(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 1000)
        raise anyio.ClosedResourceError
    assert not answer or answer.startswith(b"HTTP/1.1 413 ")


async def test_a_chunked_body_over_the_limit_is_refused(client: HttpClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * (1 << 20)

    response = await client.http.post(
        client.url, content=pieces(), headers={"Content-Type": "application/json", "Accept": "*/*"}
    )
    assert response.status_code == 413


async def test_a_chunked_body_within_the_limit_is_served(client: HttpClient, call: dict[str, Any]) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for byte in json.dumps(call).encode():
            yield bytes([byte])

    response = await client.http.post(
        client.url, content=pieces(), headers={"Content-Type": "application/json", "Accept": "*/*"}
    )
    assert response.json()["result"]["structuredContent"] == {"entities": ["Boat"]}


async def test_an_oversized_request_head_is_refused(at_socket: Exchange) -> None:
    answer = await at_socket(HEAD + b"X-Long: " + b"x" * (1 << 20) + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""


async def test_a_body_that_does_not_arrive_in_time_is_a_408(stand_in: Any) -> None:
    limits = Limits(body_seconds=0.01, linger_seconds=0.01)
    async with served(stand_in, limits) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD + b"Content-Length: 100\r\n\r\n{")
        answer = await read_all(stream)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"request_timeout"' in answer


async def test_a_request_head_that_does_not_arrive_in_time_ends_the_connection(stand_in: Any) -> None:
    class Hasty(BoundedProtocol):
        head_seconds = 0.05

    async with served(stand_in, protocol=Hasty) as port:
        async with await anyio.connect_tcp("127.0.0.1", port) as silent:
            assert await read_all(silent) == b""
        async with await anyio.connect_tcp("127.0.0.1", port) as slow:
            await slow.send(HEAD)
            assert await read_all(slow) == b""
        async with await anyio.connect_tcp("127.0.0.1", port) as second:
            body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
            await second.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            first_answer = await second.receive()
            await second.send(HEAD)
            assert (first_answer + await read_all(second)).count(b"HTTP/1.1 200 ") == 1


async def test_a_client_that_does_not_read_its_answer_is_given_up(stand_in: Any) -> None:
    lost = anyio.Event()

    class Hasty(BoundedProtocol):
        stalled_seconds = 0.05

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    arguments = {"name": "echo", "arguments": {"text": "x" * (3 << 20)}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}).encode()
    async with served(stand_in, protocol=Hasty) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with anyio.fail_after(20):
            await lost.wait()


@pytest.mark.parametrize(
    ("tool", "begun", "ended"), [("hold", "holding", "let go"), ("work", "working", "stopped")]
)
async def test_a_client_that_goes_away_cancels_its_call(
    client: HttpClient, process: ServerProcess, tool: str, begun: str, ended: str
) -> None:
    arguments = {"name": tool, "arguments": {"name": "leaving"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}).encode()
    port = int(client.url.removesuffix("/").rpartition(":")[2])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await process.wait_for(lambda server: f"{begun} leaving" in server.stderr)
    await process.wait_for(lambda server: f"{ended} leaving" in server.stderr)
    assert (await client.request("ping")).ok


async def test_a_client_that_goes_away_within_its_body_leaves_nothing(client: HttpClient) -> None:
    port = int(client.url.removesuffix("/").rpartition(":")[2])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD + b"Content-Length: 100\r\n\r\n{")
    assert (await client.request("ping")).ok


async def read_all(stream: anyio.abc.SocketStream) -> bytes:
    answer = b""
    with anyio.fail_after(20):
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


@asynccontextmanager
async def served(
    app: Any, limits: Limits | None = None, protocol: type[BoundedProtocol] = BoundedProtocol
) -> AsyncIterator[int]:
    """The application behind the server's own protocol, in this event loop, on a port of its own."""
    async with application(app, limits=limits or Limits()) as endpoint:
        config = bounded_server(endpoint, graceful_seconds=2).config
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]
            endpoint.abandon()
            with anyio.fail_after(20):
                while state.tasks:
                    await asyncio.wait(set(state.tasks))
            for connection in list(state.connections):
                connection.transport.abort()

"""The proxy passes bytes on and does to them what it was told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from mcpkit.testing import Faults, fault_proxy
from mcpkit.testing.background import background

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def echo_server() -> AsyncIterator[tuple[str, int, list[bytes]]]:
    """Sends back what it gets; the list has every piece as it came."""
    pieces: list[bytes] = []

    async def echo(stream: SocketStream) -> None:
        async with stream:
            try:
                while True:
                    pieces.append(await stream.receive())
                    await stream.send(pieces[-1])
            except anyio.EndOfStream:
                await stream.send(b"bye")
            except anyio.BrokenResourceError:
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, background() as tasks:
        tasks.start_soon(listener.serve, echo)
        yield "127.0.0.1", listener.extra(SocketAttribute.local_port), pieces
        tasks.cancel_scope.cancel()


async def read(stream: SocketStream) -> bytes:
    data = b""
    with anyio.fail_after(20):
        try:
            while True:
                data += await stream.receive()
        except anyio.EndOfStream:
            return data


async def talk(upstream: Faults, downstream: Faults, data: bytes, **options: object) -> bytes:
    async with echo_server() as (host, port, _pieces):
        proxy = fault_proxy(host, port, upstream=upstream, downstream=downstream, **options)  # type: ignore[arg-type]
        async with proxy as (to_host, to_port), await anyio.connect_tcp(to_host, to_port) as stream:
            await stream.send(data)
            await stream.send_eof()
            return await read(stream)


async def test_without_faults_everything_passes() -> None:
    assert await talk(Faults(), Faults(), b"x" * 200_000) == b"x" * 200_000 + b"bye"


async def test_latency_and_dribble_are_per_piece() -> None:
    waits: list[float] = []

    async def count(seconds: float) -> None:
        waits.append(seconds)

    answer = await talk(Faults(latency=3, dribble=2), Faults(), b"abcde", sleep=count)
    assert answer == b"abcdebye"
    assert waits == [3, 3, 3]


async def test_a_reset_after_some_bytes_breaks_the_connection() -> None:
    with pytest.raises(anyio.BrokenResourceError):
        await talk(Faults(), Faults(reset_after=3), b"abcdef")


async def test_a_half_close_ends_one_direction_only() -> None:
    async with echo_server() as (host, port, pieces):
        faults = Faults(half_close_after=2)
        async with (
            fault_proxy(host, port, upstream=faults) as (to_host, to_port),
            await anyio.connect_tcp(to_host, to_port) as stream,
        ):
            await stream.send(b"abcdef")
            assert await read(stream) == b"abbye"
        assert b"".join(pieces) == b"ab"

"""A TCP proxy that does to a connection what bad networks do."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import anyio
from anyio.abc import SocketAttribute, SocketStream

from mcpkit.testing.background import background

__all__ = ["Faults", "fault_proxy"]

_CHUNK: Final = 1 << 16
_DROP_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class Faults(NamedTuple):
    """What happens to one direction of every connection.

    Attributes:
        latency: seconds that every chunk is held back.
        dribble: bytes forwarded at a time, each piece with its latency; 0 forwards chunks whole.
        reset_after: bytes forwarded before both connections are reset.
        half_close_after: bytes forwarded before this direction is ended while the other goes on.
    """

    latency: float = 0.0
    dribble: int = 0
    reset_after: int | None = None
    half_close_after: int | None = None


class _Reset(Exception):
    """Both ends are to see a reset."""


@asynccontextmanager
async def fault_proxy(
    host: str,
    port: int,
    *,
    upstream: Faults = Faults(),  # noqa: B008 - immutable
    downstream: Faults = Faults(),  # noqa: B008
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
) -> AsyncIterator[tuple[str, int]]:
    """Listen on a loopback port and pass every connection on to a server, with faults.

    Args:
        host: the server's host.
        port: its port.
        upstream: faults of what the client sends.
        downstream: faults of what the server sends.
        sleep: waits for a number of seconds; a test may count instead.

    Yields:
        Host and port of the proxy.
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")

    async def handle(client: SocketStream) -> None:
        async with client, await anyio.connect_tcp(host, port) as server:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_forward, client, server, upstream, sleep)
                    tasks.start_soon(_forward, server, client, downstream, sleep)
            except* _Reset:
                for stream in (client, server):
                    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django here
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP_AT_CLOSE)

    async with listener, background() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield "127.0.0.1", listener.extra(SocketAttribute.local_port)  # noqa: S610
        tasks.cancel_scope.cancel()


async def _forward(
    source: SocketStream,
    target: SocketStream,
    faults: Faults,
    sleep: Callable[[float], Awaitable[object]],
) -> None:
    limits = [limit for limit in (faults.reset_after, faults.half_close_after) if limit is not None]
    left = min(limits, default=None)
    try:
        while left is None or left > 0:
            data = await source.receive(_CHUNK)
            data = data if left is None else data[:left]
            left = None if left is None else left - len(data)
            step = faults.dribble or len(data)
            for start in range(0, len(data), step):
                if faults.latency:
                    await sleep(faults.latency)
                await target.send(data[start : start + step])
        if faults.reset_after is not None and left == 0:
            raise _Reset
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    try:
        await target.send_eof()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return

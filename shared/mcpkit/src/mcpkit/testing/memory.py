"""A server in the test's own process, without a wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from mcpkit.testing.background import background
from mcpkit.testing.client import DEADLINE_SECONDS, DuplexClient

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

__all__ = ["MemoryClient", "connect_memory", "raw_exchange"]


class MemoryClient(DuplexClient):
    """A client over a pair of in-process streams."""

    def __init__(self, outgoing: MemoryObjectSendStream[SessionMessage | Exception], deadline: float) -> None:
        super().__init__(deadline)
        self._outgoing = outgoing

    async def send(self, message: dict[str, Any]) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        await self._outgoing.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def raw(self, data: bytes, replies: int = 1) -> list[Any]:
        for line in data.splitlines():
            if line.strip():
                await self.send(json.loads(line))
        return await self.receive(replies)


@asynccontextmanager
async def connect_memory(app: Any, *, deadline: float = DEADLINE_SECONDS) -> AsyncIterator[MemoryClient]:
    """A client of a FastMCP server in this process; the server's lifespan runs around it.

    Args:
        app: the `fastmcp.FastMCP`.
        deadline: seconds to wait for any one reply.
    """
    from mcp.shared.message import SessionMessage

    from mcpkit import _fastmcp

    to_server, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    server_out, from_server = anyio.create_memory_object_stream[SessionMessage](16)
    client = MemoryClient(to_server, deadline)

    async def collect() -> None:
        async for item in from_server:
            client.deliver(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        client.end()

    async with to_server, server_in, server_out, from_server, background() as tasks:
        tasks.start_soon(_fastmcp.serve_streams, app, server_in, server_out)
        tasks.start_soon(collect)
        yield client
        to_server.close()


async def raw_exchange(app: Any, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send raw JSON-RPC messages to a FastMCP server one after the other and collect the replies.

    Each request is answered before the next message is sent.

    Returns:
        The replies to the requests, as JSON values, in order.
    """
    replies: list[dict[str, Any]] = []
    async with connect_memory(app) as client:
        for message in messages:
            if "id" in message:
                replies.append(await client.exchange(message))
            else:
                await client.send(message)
    return replies

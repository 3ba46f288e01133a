"""Drives a server in memory, over stdio and over HTTP. First slice: one raw exchange in memory."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from mcpkit import _fastmcp

__all__ = ["raw_exchange"]


async def raw_exchange(app: Any, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send raw JSON-RPC messages to a FastMCP server one after the other and collect the replies.

    Each request is answered before the next message is sent.

    Returns:
        The replies to the requests, as JSON values, in order.
    """
    to_server, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    server_out, from_server = anyio.create_memory_object_stream[SessionMessage](16)
    replies: list[dict[str, Any]] = []
    async with anyio.create_task_group() as tasks, to_server, from_server:
        tasks.start_soon(_fastmcp.serve_streams, app, server_in, server_out)
        for message in messages:
            await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            if "id" in message:
                reply = await from_server.receive()
                replies.append(reply.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        to_server.close()
    return replies

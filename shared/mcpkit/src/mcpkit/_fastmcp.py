"""The one place that touches names FastMCP keeps private, so that a new FastMCP version is adopted here.

Written against FastMCP 4.2 and mcp 2.3: `FastMCP._mcp_server` (the low-level server), `FastMCP._lifespan_manager`,
`FastMCP._mask_error_details`, and the low-level server's `_request_handlers`, `middleware`,
`get_capabilities`, `title` and `run`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcpkit.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from fastmcp import FastMCP
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.shared.message import SessionMessage

__all__ = ["coded_request_errors", "entitle", "mask_unexpected_errors", "only_tools", "serve_streams"]

_LOG = logging.getLogger("mcpkit.server")

_KINDS = {
    PARSE_ERROR: ("parse_error", "the message is not valid JSON"),
    INVALID_REQUEST: ("invalid_request", "the request is not valid here"),
    METHOD_NOT_FOUND: ("method_not_found", "this server does not offer that method"),
    INVALID_PARAMS: ("invalid_params", "the request's params do not fit its method"),
    INTERNAL_ERROR: ("internal_error", "internal error; the server's stderr has the details"),
}

_TOOL_SERVER_METHODS = frozenset({"initialize", "ping", "server/discover", "tools/list", "tools/call"})


def mask_unexpected_errors(app: FastMCP[Any]) -> None:
    """Keep the text of unexpected exceptions out of results."""
    app._mask_error_details = True


def coded_request_errors(app: FastMCP[Any]) -> None:
    """Give every JSON-RPC error of the server a `data.kind`, and mask what no one mapped. Idempotent.

    The SDK answers bad params with empty data, unknown methods with the method's name as data, and what a handler
    lets escape with code 0.
    """
    low = app._mcp_server
    if _code_errors not in low.middleware:
        low.middleware.insert(0, _code_errors)


async def _code_errors(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    try:
        return await call_next(ctx)
    except ValidationError:
        raise _coded(INVALID_PARAMS) from None
    except MCPError as error:
        code, data = error.error.code, error.error.data
        if isinstance(data, dict) or code not in _KINDS:
            raise
        if code in (METHOD_NOT_FOUND, INVALID_PARAMS):
            raise _coded(code) from None  # the SDK's own texts say less
        raise MCPError(code=code, message=error.error.message, data={"kind": _KINDS[code][0]}) from None
    except Exception as error:  # noqa: BLE001 - the boundary: logged and masked
        _LOG.error("unexpected error in a request handler", exc_info=error)
        raise _coded(INTERNAL_ERROR) from None


def _coded(code: int) -> MCPError:
    kind, message = _KINDS[code]
    return MCPError(code=code, message=message, data={"kind": kind})


def entitle(app: FastMCP[Any], title: str | None) -> None:
    """Give the server a name for people; FastMCP takes every member of `serverInfo` but this one."""
    app._mcp_server.title = title


def only_tools(app: FastMCP[Any]) -> None:
    """Make the server answer and advertise tools and nothing else.

    Capabilities become exactly `{"tools": {}}` in the handshake eras and `{"tools": {"listChanged": false}}` in the
    2026-07-28 era, without extensions; methods of other features answer -32601.
    """
    low = app._mcp_server
    for method in [name for name in low._request_handlers if name not in _TOOL_SERVER_METHODS]:
        del low._request_handlers[method]

    def get_capabilities(
        *_args: object, protocol_version: str | None = None, **_kwargs: object
    ) -> mcp_types.ServerCapabilities:
        modern = protocol_version in MODERN_PROTOCOL_VERSIONS
        tools = mcp_types.ToolsCapability(list_changed=False) if modern else mcp_types.ToolsCapability()
        return mcp_types.ServerCapabilities(tools=tools)

    low.get_capabilities = get_capabilities  # type: ignore[method-assign]


async def serve_streams(
    app: FastMCP[Any],
    incoming: MemoryObjectReceiveStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
    *,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve one connection over a pair of in-process streams until `incoming` ends.

    Runs the server's lifespan around the connection, as its own stdio transport does.

    Args:
        app: the server.
        incoming: the client's messages.
        outgoing: the server's messages.
        ready: called when the lifespan has begun, just before the first message is read.
    """
    from fastmcp.server.context import reset_transport, set_transport

    low = app._mcp_server
    token = set_transport("stdio")
    try:
        async with app._lifespan_manager():
            if ready is not None:
                ready()
            await low.run(incoming, outgoing, low.create_initialization_options())
    finally:
        reset_transport(token)

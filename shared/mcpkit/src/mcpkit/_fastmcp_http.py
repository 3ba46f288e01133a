"""The HTTP half of `mcpkit._fastmcp`: how one request reaches the low-level server without FastMCP's HTTP application.

Apart from the other half so that a stdio server never imports Starlette. Written against FastMCP 4.2 and mcp 2.3:
`FastMCP._mcp_server` and its `lifespan`, and of the SDK
`mcp.server.runner.serve_one`, `Connection.from_envelope`, `_SingleExchangeDispatchContext` and
`handle_modern_request`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from mcp import MCPError
from mcp.server._streamable_http_modern import _SingleExchangeDispatchContext, handle_modern_request
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import methods as spec
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

__all__ = [
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "MODERN_PROTOCOL_VERSIONS",
    "Exchanges",
    "RequestError",
    "exchanges",
]

_LOG = logging.getLogger("mcpkit.http")

_MASKED = {
    "code": -32603,
    "message": "internal error; the server's stderr has the details",
    "data": {"kind": "internal_error"},
}


class RequestError(Exception):
    """The server answered with a JSON-RPC error.

    Args:
        error: the error object as the server made it.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class Exchanges:
    """A running server that answers single requests, each on a connection of its own."""

    def __init__(self, app: FastMCP[Any], state: Any) -> None:
        self._low = app._mcp_server
        self._state = state

    def knows_request(self, method: str) -> bool:
        """Whether the protocol defines the method as a request or the server handles it."""
        return method in spec.SPEC_CLIENT_METHODS or self._low.get_request_handler(method) is not None

    def knows_notification(self, method: str) -> bool:
        """Whether the protocol defines the method as a client's notification or the server handles it."""
        return (
            method in spec.SPEC_CLIENT_NOTIFICATION_METHODS
            or self._low.get_notification_handler(method) is not None
        )

    async def request(
        self,
        scope: Scope,
        version: str,
        request_id: str | int,
        method: str,
        params: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Serve one request of a handshake era.

        Returns:
            The result in the wire form of that version.

        Raises:
            RequestError: the server answered with an error, or failed in a way it did not map (logged and masked).
        """
        request = Request(scope)
        transport = TransportContext(kind="streamable-http", can_send_request=False, headers=request.headers)
        context = _SingleExchangeDispatchContext(
            transport=transport,
            request_id=request_id,
            message_metadata=ServerMessageMetadata(request_context=request),
        )
        connection = Connection.from_envelope(version, None, None)
        token = set_transport("streamable-http")
        try:
            return await serve_one(
                self._low, context, method, params, connection=connection, lifespan_state=self._state
            )
        except MCPError as error:
            raise RequestError(
                error.error.model_dump(by_alias=True, mode="json", exclude_none=True)
            ) from None
        except ValidationError:
            data = {"kind": "invalid_params"}
            message = "the request's params do not fit its method"
            raise RequestError({"code": -32602, "message": message, "data": data}) from None
        except Exception as error:  # noqa: BLE001 - the boundary: logged and masked
            _LOG.error("unexpected error while serving %s", spec_name(method), exc_info=error)
            raise RequestError(_MASKED) from None
        finally:
            reset_transport(token)

    async def modern(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one POST of revision 2026-07-28 by the SDK's own entry."""
        token = set_transport("streamable-http")
        try:
            await handle_modern_request(self._low, None, True, self._state, scope, receive, send)
        finally:
            reset_transport(token)


def spec_name(method: str) -> str:
    """A method's name fit for a log: a client's own invention is not repeated."""
    return method if method in spec.SPEC_CLIENT_METHODS else "a request"


@asynccontextmanager
async def exchanges(app: FastMCP[Any]) -> AsyncIterator[Exchanges]:
    """Run the server's lifespan around any number of requests."""
    low = app._mcp_server
    async with low.lifespan(low) as state:
        yield Exchanges(app, state)

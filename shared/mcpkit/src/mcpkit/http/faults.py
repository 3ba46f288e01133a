"""Every way an HTTP request is refused: status, JSON-RPC code, `data.kind` and message. Pure.

All on the MCP path have a JSON-RPC error as body, with `id: null` because nothing of the message was served.
"""

from __future__ import annotations

from typing import Any, Final

from mcpkit.errors import INTERNAL_ERROR, INVALID_REQUEST

__all__ = ["FAULTS", "UNSUPPORTED_PROTOCOL_VERSION", "HttpFault"]

UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
"""Code reserved by revision 2026-07-28 for a version the server does not speak."""

FAULTS: Final[dict[str, tuple[int, int, str]]] = {
    "host_not_allowed": (
        403,
        INVALID_REQUEST,
        "the Host header names another server; use localhost, or have the operator name the host with --http-allow-host",
    ),
    "origin_not_allowed": (
        403,
        INVALID_REQUEST,
        "web pages of this origin may not call; have the operator name the origin with --http-allow-origin",
    ),
    "method_not_allowed": (
        405,
        INVALID_REQUEST,
        "send messages with POST; there are no streams and no sessions here",
    ),
    "unsupported_media_type": (415, INVALID_REQUEST, "send the message as Content-Type: application/json"),
    "not_acceptable": (
        400,
        INVALID_REQUEST,
        "send Accept: application/json, text/event-stream, as the MCP specification asks",
    ),
    "unsupported_protocol_version": (
        400,
        UNSUPPORTED_PROTOCOL_VERSION,
        "the MCP-Protocol-Version header names no version of this server; data.supported lists them",
    ),
    "resumption_not_supported": (
        400,
        INVALID_REQUEST,
        "there are no streams to resume; leave Last-Event-ID out",
    ),
    "message_too_large": (413, INVALID_REQUEST, "the message is longer than 4 MiB; send less at once"),
    "request_timeout": (408, INVALID_REQUEST, "the message did not arrive in time; send it again"),
    "unexpected_id": (400, INVALID_REQUEST, "a notification has no id; leave it out"),
    "missing_id": (400, INVALID_REQUEST, "this method is a request; give it an id"),
    "internal_error": (500, INTERNAL_ERROR, "the call ended without an answer; send the request again"),
    "shutting_down": (503, INTERNAL_ERROR, "the server is shutting down; send the request again later"),
}


class HttpFault(Exception):
    """A request that is refused as a whole.

    Args:
        kind: a key of `FAULTS`.
        id: the message's id where it is known.
        data: further members of the error's data.
    """

    def __init__(self, kind: str, id: str | int | None = None, data: dict[str, Any] | None = None) -> None:  # noqa: A002
        super().__init__(kind)
        self.kind = kind
        self.status, self.code, self.message = FAULTS[kind]
        self.id = id
        self.data = data

    def error(self) -> dict[str, Any]:
        """The JSON-RPC error object."""
        return {"code": self.code, "message": self.message, "data": {"kind": self.kind, **(self.data or {})}}

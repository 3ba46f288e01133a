"""How what a request carries arrives: its media type, and its bytes within bounds of size and time."""

from __future__ import annotations

from typing import Final

import anyio
from starlette.requests import Request

from mergestorm_mcp.service.refusals import Refusal

__all__ = ["media_type", "receive"]

_SECONDS: Final = 30.0


def media_type(request: Request) -> str:
    """The media type of the body in lower case, without parameters; empty where none is named."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def receive(request: Request, limit: int, *, too_large: str, too_slow: str) -> bytes:
    """The body.

    Args:
        request: whose.
        limit: longest body in bytes.
        too_large: what is said of a longer one.
        too_slow: what is said of one that does not arrive in time.

    Raises:
        Refusal: 413 `payload_too_large`, 408 `request_timeout`.
        ClientDisconnect: it did not arrive.
    """
    parts, size = [], 0
    try:
        with anyio.fail_after(_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise Refusal(413, "payload_too_large", too_large)
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "request_timeout", too_slow) from None
    return b"".join(parts)

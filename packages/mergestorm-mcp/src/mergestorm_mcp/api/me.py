"""The account behind a key: `GET /me`."""

from __future__ import annotations

from typing import Any

from mergestorm_mcp.api.client import Api
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout

__all__ = ["read_me", "require_me"]


async def read_me(api: Api) -> dict[str, Any] | None:
    """The account, or None where the service has no usable answer (contract 1.2, row 1).

    Raises:
        CommandError: `auth_invalid`.
    """
    try:
        reply = await api.get(resource("me"))
    except (ConnectionFailed, RequestTimeout):
        return None
    key = reply.member("key")
    usable = reply.ok and isinstance(key, dict) and isinstance(key.get("prefix"), str)
    return reply.body if usable else None


async def require_me(api: Api) -> dict[str, Any]:
    """The account.

    Raises:
        CommandError: `auth_invalid`; without a code where live details cannot be had. Nothing remembered is shown
            instead.
    """
    me = await read_me(api)
    if me is None:
        raise CommandError(
            f"Live account details are not available from {api.base} now. Is the service up, and its address right? "
            "Call again in a while."
        )
    return me

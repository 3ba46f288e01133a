"""`GET /me`."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from mergestorm_mcp.service.accounts.credits import me
from mergestorm_mcp.service.http.endpoints import Call, endpoint

__all__ = ["routes"]


def routes() -> list[Route]:
    """The account."""
    return [endpoint("GET", "/api/v1/me", _me)]


def _me(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return me(call.world, connection, call.caller)

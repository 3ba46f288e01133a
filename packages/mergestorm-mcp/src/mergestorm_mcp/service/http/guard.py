"""Which requests may come in at all. The defence against web pages: one that makes its own name resolve to this machine
still sends that name as Host, and any page that asks from elsewhere sends its own Origin.

Only a literal loopback address or `localhost` may be the Host, with the service's own port; a request with an Origin must
come from a page of the service itself. Programs send no Origin.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcpkit.http.rules import AccessRules, is_loopback

__all__ = ["Guard"]

_PORT: Final = re.compile(rb":(\d{1,5})\s*$")


class Guard:
    """The ASGI application in front of the application.

    Args:
        app: what gets the requests that pass.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._rules = AccessRules()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        code, message = refusal
        await JSONResponse({"error": code, "message": message}, 403)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[str, str] | None:
        host = [value for name, value in scope["headers"] if name == b"host"]
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        server: tuple[str, int | None] = scope.get("server") or ("", None)
        if not is_loopback(server[0]):
            return "not_loopback", "The service answers on loopback addresses only."
        if not self._rules.takes_host(server[0], host) or _port(host[0]) != server[1]:
            return "host_not_allowed", "Call the service by the address it printed."
        if any(origin.strip().lower() != b"http://" + host[0].strip().lower() for origin in origins):
            return "origin_not_allowed", "Only pages of the service itself may call it."
        return None


def _port(host: bytes) -> int:
    found = _PORT.search(host)
    return int(found[1]) if found else 80

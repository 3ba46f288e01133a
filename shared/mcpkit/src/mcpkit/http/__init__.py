"""Serves a FastMCP server over HTTP: stateless, JSON answers, guarded against web pages and runaway input.

    from mcpkit import http
    raise SystemExit(http.serve(load, host="127.0.0.1", port=8080, base_path="/mcp"))

The rooms:

    rules      which path, Host, Origin and headers may pass                  pure
    faults     every refusal: status, code, kind, message                     pure
    endpoint   one ASGI application: checks in order, body, answers           asyncio
    listening  the socket, connection limits, signals, the end                uvicorn

FastMCP's own HTTP application is not used in the handshake eras: it starts a session with streams and tasks for every
request, which costs more than most calls, and answers some malformed requests with silence. The low-level server is
asked directly instead; requests of revision 2026-07-28 go to the SDK's own entry, with their headers.
"""

from typing import TYPE_CHECKING, Any

from mcpkit.http.listening import serve

if TYPE_CHECKING:
    from mcpkit.http.endpoint import Endpoint, Limits, application

__all__ = ["Endpoint", "Limits", "application", "serve"]


def __getattr__(name: str) -> Any:
    """The endpoint's names on first use: it needs FastMCP, which is not to be imported before `serve` seals it."""
    if name in __all__:
        from mcpkit.http import endpoint

        return getattr(endpoint, name)
    raise AttributeError(name)

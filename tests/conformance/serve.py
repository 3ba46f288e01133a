"""Serves the server of `everything.py` over HTTP until SIGTERM, by mcpkit or by FastMCP itself.

    python serve.py mcpkit
    python serve.py fastmcp

Either listens on a port of its own choosing and says `listening on URL` on stderr.
"""

from __future__ import annotations

import runpy
import socket
import sys
from pathlib import Path
from typing import Any

from mcpkit.isolation import seal_settings


def load() -> Any:
    """The server; imports FastMCP."""
    return runpy.run_path(str(Path(__file__).with_name("everything.py")))["app"]


def by_mcpkit() -> int:
    from mcpkit import http

    return http.serve(load, host="127.0.0.1", port=0, program="everything")


def by_fastmcp() -> int:
    """FastMCP's own HTTP in the manner of mcpkit's: no sessions, JSON answers, Host and Origin checked."""
    import uvicorn

    seal_settings()
    asgi = load().http_app(path="/", stateless_http=True, json_response=True, host_origin_protection="auto")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(asgi, log_level="error", timeout_graceful_shutdown=1)).run([listener])
    return 0


if __name__ == "__main__":
    raise SystemExit({"mcpkit": by_mcpkit, "fastmcp": by_fastmcp}[sys.argv[1]]())

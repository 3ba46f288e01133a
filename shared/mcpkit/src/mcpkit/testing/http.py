"""A server over HTTP: one that runs, one that is started for the test, or an ASGI application in this process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import httpx2

from mcpkit.testing.client import DEADLINE_SECONDS, Client
from mcpkit.testing.process import ServerProcess, start_server

__all__ = ["HttpClient", "connect_http", "listening_url"]

_LISTENING: Final = re.compile(r"listening on (http://\S+)")

_HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class HttpClient(Client):
    """A client that posts every message on its own.

    Attributes:
        url: the MCP endpoint.
        http: the underlying client, for requests that are no messages.
        process: the server's process, if the client started one.
    """

    def __init__(
        self, http: httpx2.AsyncClient, url: str, deadline: float, process: ServerProcess | None
    ) -> None:
        super().__init__(deadline)
        self.http = http
        self.url = url
        self.process = process

    async def post(
        self, body: bytes | dict[str, Any] | list[Any], headers: Mapping[str, str | None] | None = None
    ) -> httpx2.Response:
        """Post a body with the headers MCP asks for, changed by `headers`; None takes one away."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
        versioned = {} if self.version is None else {"MCP-Protocol-Version": self.version}
        merged: dict[str, str | None] = {**_HEADERS, **versioned, **(headers or {})}
        sent = {name: value for name, value in merged.items() if value is not None}
        return await self.http.post(self.url, content=content, headers=sent)

    async def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        response = await self.post(message)
        reply: dict[str, Any] = _messages(response)[-1]
        return reply

    async def send(self, message: dict[str, Any]) -> None:
        await self.post(message)

    async def raw(self, data: bytes, replies: int = 1) -> list[Any]:
        return _messages(await self.post(data))[:replies]


def _messages(response: httpx2.Response) -> list[Any]:
    """The JSON of an answer, one message or one batch; of an event stream every message."""
    if not response.content:
        return []
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return [json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:")]
    return [response.json()]


def listening_url(stderr: str) -> str | None:
    """The address a server that was to choose its port has written to stderr."""
    match = _LISTENING.search(stderr)
    return match[1] if match else None


@asynccontextmanager
async def connect_http(
    target: Any,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    deadline: float = DEADLINE_SECONDS,
) -> AsyncIterator[HttpClient]:
    """Be the client of a server over HTTP.

    Args:
        target: the URL of a running server's endpoint; or a command, as a sequence, that listens on port 0 and says
            `listening on URL` on stderr; or an ASGI application mounted at `/`; or a `fastmcp.FastMCP`, which is put
            behind `mcpkit.http.application`.
        env: a command's whole environment; this process's own where None.
        cwd: a command's working directory.
        deadline: seconds to wait for any one reply.
    """
    async with AsyncExitStack() as stack:
        process: ServerProcess | None = None
        transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
        if isinstance(target, str):
            url = target
        elif isinstance(target, Sequence):
            process = await stack.enter_async_context(start_server(target, env=env, cwd=cwd))
            await process.wait_for(lambda server: listening_url(server.stderr) is not None, deadline)
            url = listening_url(process.stderr) or ""
        else:
            if hasattr(target, "http_app"):
                from mcpkit.http import application

                target = await stack.enter_async_context(application(target))
            url = "http://127.0.0.1/"
            transport = _in_process(target)
        http = httpx2.AsyncClient(transport=transport, timeout=deadline, trust_env=False)
        await stack.enter_async_context(http)
        yield HttpClient(http, url, deadline, process)


def _in_process(app: Callable[..., Any]) -> httpx2.ASGITransport:
    async def local(scope: Any, receive: Any, send: Any) -> None:
        # httpx names the server after the URL; a real connection has addresses.
        await app({**scope, "server": ("127.0.0.1", 80)}, receive, send)

    return httpx2.ASGITransport(local)

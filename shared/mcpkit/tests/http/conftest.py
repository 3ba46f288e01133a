"""One server for the whole session, real sockets, and the ASGI application for what a socket cannot show."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from mcpkit.isolation import seal_settings
from mcpkit.testing import HttpClient, ServerProcess, connect_http

seal_settings()

SERVER = '''
import asyncio, sys, threading, time
from pathlib import Path

from mcpkit import http


def load():
    from mcpkit import annotations
    from mcpkit.errors import RequestFailure, ToolFailure
    from mcpkit.server import add_tool, create_server
    from mcpkit.threads import run_in_thread

    app = create_server(name="stand-in", version="1.2.3", instructions="A server for tests.")

    def say(text):
        print(text, file=sys.stderr, flush=True)

    async def entity_list() -> dict:
        return {"entities": ["Boat"]}

    async def echo(text: str = "") -> dict:
        return {"text": text}

    async def fail(how: str) -> dict:
        if how == "tool":
            raise ToolFailure("try again", kind="not_now")
        if how == "request":
            raise RequestFailure("no such thing", kind="unknown_thing")
        if how == "not_a_number":
            return {"text": float("nan")}
        if how == "surrogate":
            return {"text": chr(0xD800)}
        if how == "cancel":
            raise asyncio.CancelledError
        raise ValueError("secret")

    async def hold(name: str) -> dict:
        """Never ends by itself; stderr says when it begins and when it is cancelled."""
        say(f"holding {name}")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say(f"let go {name}")
            raise
        return {}

    async def until(path: str) -> dict:
        """Ends when the file is there."""
        say("waiting for " + Path(path).name)
        while not Path(path).exists():
            await asyncio.sleep(0.01)
        return {"text": "finished"}

    async def stuck(name: str) -> dict:
        """A thread that nothing stops."""
        def forever(_cancel):
            say(f"stuck {name}")
            threading.Event().wait()
        await run_in_thread(forever)
        return {}

    async def work(name: str) -> dict:
        """A thread that looks up now and then."""
        def rounds(cancel):
            say(f"working {name}")
            while not cancel():
                time.sleep(0.005)
            say(f"stopped {name}")
        await run_in_thread(rounds)
        return {}

    async def forget(name: str) -> dict:
        """A thread that nobody waits for and nothing stops."""
        threading.Thread(target=threading.Event().wait).start()
        say(f"forgot {name}")
        return {}

    async def block(name: str) -> dict:
        """Blocks the event loop itself."""
        say(f"blocking {name}")
        time.sleep(3600)
        return {}

    async def request_header(name: str) -> dict:
        from fastmcp.server.dependencies import get_http_request
        return {"text": get_http_request().headers.get(name, "")}

    schema = {"type": "object", "properties": {"entities": {"type": "array"}, "text": {}}}
    for function in (entity_list, echo, fail, hold, until, stuck, work, forget, block, request_header):
        add_tool(app, function, annotations=annotations.CLOSED_READ, title="T", description="D", output_schema=schema)
    return app
'''

MAIN = """
if __name__ == "__main__":
    raise SystemExit(http.serve(load, program="stand-in", {arguments}))
"""

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "entity_list", "arguments": {}},
}

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        error = self.json["error"]
        return error["code"], error["data"]["kind"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def call() -> dict[str, Any]:
    """A request that every server of these tests answers with a result."""
    return CALL


@pytest.fixture(scope="session")
def server_command(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """The command line of a server; the arguments are those of `mcpkit.http.serve`, as Python source."""
    folder = tmp_path_factory.mktemp("server")

    def command(arguments: str = "host='127.0.0.1', port=0", extra: str = "") -> list[str]:
        path = folder / f"server_{len(list(folder.iterdir()))}.py"
        path.write_text(SERVER + extra + MAIN.format(arguments=arguments), encoding="utf-8")
        return [sys.executable, "-P", str(path)]

    return command


@pytest.fixture(scope="session")
async def shared_server(server_command: Callable[..., list[str]]) -> AsyncIterator[HttpClient]:
    async with connect_http(server_command()) as client:
        yield client


@pytest.fixture
async def client(shared_server: HttpClient) -> AsyncIterator[HttpClient]:
    """A client of its own, without a version header, of the session's server mounted at `/`."""
    async with connect_http(shared_server.url) as mine:
        mine.process = shared_server.process
        yield mine


@pytest.fixture
def process(shared_server: HttpClient) -> ServerProcess:
    assert shared_server.process is not None
    return shared_server.process


@pytest.fixture
def at_socket(shared_server: HttpClient) -> Callable[..., Awaitable[bytes]]:
    """Send bytes on a connection of their own and read until the server closes it."""
    port = shared_server.url.removesuffix("/").rpartition(":")[2]

    async def exchange(*parts: bytes) -> bytes:
        with anyio.fail_after(20):
            async with await anyio.connect_tcp("127.0.0.1", int(port)) as stream:
                for part in parts:
                    await stream.send(part)
                answer = b""
                try:
                    while True:
                        answer += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return answer

    return exchange


class Asgi:
    """Calls an ASGI application with made-up connections."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def ask(
        self,
        method: str = "POST",
        path: str = "/",
        *,
        headers: dict[str, str | None] | None = None,
        body: Any = CALL,
        local: str | None = "127.0.0.1",
        pieces: list[bytes] | None = None,
    ) -> Answer:
        """One request; `local` is the address of the server's end, a header of None is left out."""
        merged = {"Host": "localhost", **HEADERS, **(headers or {})}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        events = [
            {"type": "http.request", "body": piece, "more_body": index < len(pieces or [content]) - 1}
            for index, piece in enumerate(pieces or [content])
        ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "headers": [
                (k.lower().encode(), v.encode("latin-1")) for k, v in merged.items() if v is not None
            ],
            "server": None if local is None else (local, 80),
            "client": ("127.0.0.1", 1),
        }
        sent: list[dict[str, Any]] = []
        done = anyio.Event()

        async def receive() -> dict[str, Any]:
            if events:
                return events.pop(0)
            await done.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        with anyio.fail_after(20):
            await self.app(scope, receive, send)
        done.set()
        start = sent[0]
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], names, b"".join(part.get("body", b"") for part in sent[1:]))


@pytest.fixture
def make_asgi() -> type[Asgi]:
    return Asgi


@pytest.fixture(scope="session")
def stand_in() -> Any:
    """The stand-in server itself, in this process."""
    names: dict[str, Any] = {}
    exec(compile(SERVER, str(Path("stand_in.py")), "exec"), names)
    return names["load"]()


@pytest.fixture
def free_port() -> int:
    """A port nobody listened on a moment ago, for servers that cannot choose one themselves."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port

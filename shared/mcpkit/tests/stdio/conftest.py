"""A client of plain pipes, and small servers written to disk, for tests of the stdio adapter."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEADLINE = 60.0  # seconds; how long a test waits for what must come, not how long it should take

MAIN = """
import os, sys
from mcpkit import stdio
from mcpkit.surface import Surface

def load():
    from {module} import app
    from mcpkit.server import harden
    return harden(app)

surface = {surface!r}
raise SystemExit(stdio.serve(load, surface=surface and Surface.load(surface), **{options!r}))
"""

GATE = """
import socket
with socket.create_connection({address!r}) as gate:
    gate.recv(1)
"""

# Enough of a snapshot to answer from; no FastMCP server need exist for it.
SURFACE: dict[str, Any] = {
    "format": 1,
    "initialize": {
        version: {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    },
    "tools/list": {
        version: {"tools": [{"name": "recorded", "inputSchema": {"type": "object"}}]}
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    },
}


def initialize(version: str | None = "2025-11-25", id_: int | str = "init") -> dict[str, Any]:
    params: dict[str, Any] = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    if version is not None:
        params["protocolVersion"] = version
    return {"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params}


def request(id_: int | str, method: str, params: Any = None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": method}
    if params is not None:
        message["params"] = params
    return message


def call(id_: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(id_, "tools/call", {"name": tool, "arguments": arguments})


def cancelled(id_: int | str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


class Messages:
    """What tests send."""

    initialize = staticmethod(initialize)
    request = staticmethod(request)
    call = staticmethod(call)
    cancelled = staticmethod(cancelled)
    surface = SURFACE


class Server:
    """A server process and the pipes to it. Everything it writes to stdout must be JSON."""

    def __init__(
        self, arguments: list[str], folder: Path, environment: dict[str, str], reading: bool = True
    ) -> None:
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self._replies: queue.Queue[Any] = queue.Queue()
        self._seen: list[Any] = []
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=self._drain_errors, daemon=True)]
        if reading:
            self._threads.append(threading.Thread(target=self._drain, daemon=True))
        for thread in self._threads:
            thread.start()

    def _drain(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._replies.put(json.loads(line))
        self._replies.put(None)

    def _drain_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: Any) -> None:
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def receive(self, wanted: Callable[[Any], bool]) -> Any:
        """The first message not handed out yet that is wanted; the others stay."""
        for message in self._seen:
            if wanted(message):
                self._seen.remove(message)
                return message
        give_up = time.monotonic() + DEADLINE
        while True:
            message = self._replies.get(timeout=max(0.0, give_up - time.monotonic()))
            assert message is not None, f"the server has ended; stderr: {self.errors()}"
            if wanted(message):
                return message
            self._seen.append(message)

    def reply(self, id_: int | str | None) -> Any:
        return self.receive(
            lambda message: (
                isinstance(message, dict)
                and "method" not in message
                and type(message["id"]) is type(id_)
                and message["id"] == id_
            )
        )

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.reply(message["id"])

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def rest(self) -> list[Any]:
        """Everything not handed out yet, up to the end of the process's output."""
        give_up = time.monotonic() + DEADLINE
        while (message := self._replies.get(timeout=max(0.0, give_up - time.monotonic()))) is not None:
            self._seen.append(message)
        return self._seen

    def wait(self) -> int:
        code = self.process.wait(DEADLINE)
        self._threads[0].join(DEADLINE)
        return code

    def end(self) -> int:
        """End the input and wait for the process."""
        self.close_input()
        return self.wait()

    def errors(self) -> str:
        """What came on stderr so far."""
        return b"".join(self._errors).decode()

    def wait_for_errors(self, text: str) -> None:
        wait_until(lambda: text in self.errors())

    def discard(self) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                pass  # unsent input of a process that is gone


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.01)


class Gate:
    """Holds a server's import until it is opened: the module connects here and waits for a byte."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(DEADLINE)
        self._connections: list[socket.socket] = []
        self.code = GATE.format(address=self._listener.getsockname())

    def reached(self) -> None:
        self._connections.append(self._listener.accept()[0])

    def open(self) -> None:
        if not self._connections:
            self.reached()
        self._connections[0].sendall(b"x")

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._listener.close()


class Workshop:
    """Writes servers to a folder and starts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._servers: list[Server] = []
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("FASTMCP_")}
        self.environment["PYTHONWARNINGS"] = "default"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def prepare(self, code: str, *, surface: dict[str, Any] | None = SURFACE, **options: Any) -> Path:
        """Write a server whose module `small_server` holds this code and names its server `app`."""
        self.write("small_server.py", code)
        recorded = None
        if surface is not None:
            recorded = str(self.write("surface.json", json.dumps(surface)))
        return self.write("main.py", MAIN.format(module="small_server", surface=recorded, options=options))

    def start(self, code: str, *, reading: bool = True, **options: Any) -> Server:
        """Start a prepared server; `options` are those of `prepare`, and `serve`'s."""
        return self.start_command([sys.executable, str(self.prepare(code, **options))], reading=reading)

    def start_command(self, arguments: list[str], *, reading: bool = True) -> Server:
        server = Server(arguments, self.folder, self.environment, reading)
        self._servers.append(server)
        return server

    def close(self) -> None:
        for server in self._servers:
            server.discard()


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    yield workshop
    workshop.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.close()


@pytest.fixture(scope="session")
def messages() -> type[Messages]:
    return Messages


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], bool]], None]:
    return wait_until

"""The servers that benchmarks talk to, ours and the peers they are measured beside, and a client that costs little.

Every process is started without `COVERAGE_*` in its environment, so that the program is measured and not a tracer. The
clients speak the protocol over bare pipes and sockets: a client library would cost more than the servers do.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self

import psutil

__all__ = [
    "EXAMPLE",
    "HELLO",
    "INITIALIZE",
    "INITIALIZED",
    "ROOT",
    "HttpConnection",
    "StdioServer",
    "Tool",
    "environment",
    "hello_world",
    "http_server",
    "installed",
    "our_server",
    "peak_resident",
    "resident",
]

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLE: Final = ROOT / "packages" / "mergeway-mcp" / "examples" / "service-catalogue"

_HELLO_WORLD: Final = """\
import sys
from fastmcp import FastMCP

mcp = FastMCP("hello")

@mcp.tool
def hello(name: str) -> str:
    return f"Hello, {name}!"

if len(sys.argv) == 1:
    mcp.run(show_banner=False)
else:
    mcp.run(
        transport="http", host="127.0.0.1", port=int(sys.argv[1]), path="/", show_banner=False,
        stateless_http=True, json_response=True, log_level="error",
    )
"""

_VERSION: Final = "2025-11-25"
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
INITIALIZED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}

_PATIENCE: Final = 120.0
_ID: Final = re.compile(rb'"id": ?(\d+)')
_HEAD: Final = 64


class Tool(NamedTuple):
    """A call to make."""

    name: str
    arguments: Mapping[str, Any]

    def message(self, number: int) -> dict[str, Any]:
        """The request."""
        params = {"name": self.name, "arguments": self.arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


HELLO: Final = Tool("hello", {"name": "x"})


def environment() -> dict[str, str]:
    """This process's environment without what would slow a child down or change it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COVERAGE_", "COV_", "PYTEST_", "FASTMCP_", "PYTHONWARN"))
    }


def hello_world(folder: Path) -> list[str]:
    """The command of a FastMCP hello world whose script is put into a folder; with a port it serves HTTP."""
    script = folder / "hello_world.py"
    script.write_text(_HELLO_WORLD, encoding="utf-8", newline="\n")
    return [sys.executable, str(script)]


def installed(name: str) -> str:
    """The path of one of our programs.

    Raises:
        RuntimeError: it is not installed beside this interpreter.
    """
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    if program is None:
        raise RuntimeError(f"{name} is not installed beside this Python; run this with uv run")
    return program


def our_server(root: Path, *options: str) -> list[str]:
    """The command of mergeway-mcp over a repository.

    Raises:
        RuntimeError: it is not installed beside this interpreter.
    """
    return [installed("mergeway-mcp"), "--root", str(root), *options]


def resident(pid: int) -> int:
    """Bytes of memory that a process and its children occupy now; on Windows the program is a child of its launcher."""
    process = psutil.Process(pid)
    return sum(int(each.memory_info().rss) for each in (process, *process.children(recursive=True)))


def peak_resident(pid: int) -> int:
    """The most memory that a process has occupied so far, in bytes; where the system does not tell, what it does now."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        peak = re.search(
            r"^VmHWM:\s+(\d+) kB$", status.read_text(encoding="ascii", errors="replace"), re.MULTILINE
        )
        if peak is not None:
            return int(peak[1]) * 1024
    memory = psutil.Process(pid).memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


class StdioServer:
    """A server over its stdin and stdout, after the handshake."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        """Start it and shake hands.

        Args:
            command: The program and its arguments.
            variables: Environment variables beside this process's own.

        Raises:
            RuntimeError: it refused or ended.
        """
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment(), **(variables or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        self._number = 1
        self._early: dict[int, bytes] = {}
        self.send(INITIALIZE)
        self.reply(1)
        self.send(INITIALIZED)

    @property
    def resident(self) -> int:
        """Bytes of memory that the process occupies now."""
        return resident(self._process.pid)

    @property
    def peak(self) -> int:
        """The most bytes of memory that the process has occupied."""
        return peak_resident(self._process.pid)

    def call(self, tool: Tool) -> bytes:
        """The line a call is answered with.

        Raises:
            RuntimeError: the call failed.
        """
        return self.reply(self.post(tool))

    def timed(self, tool: Tool) -> float:
        """Milliseconds from the request to its reply."""
        started = time.perf_counter()
        line = self._line(self.post(tool))
        elapsed = (time.perf_counter() - started) * 1000
        _require_result(line)
        return elapsed

    def post(self, tool: Tool) -> int:
        """Send a call and return its number."""
        self._number += 1
        self.send(tool.message(self._number))
        return self._number

    def send(self, *messages: Mapping[str, Any]) -> None:
        """Send messages as they are."""
        self._input.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self._input.flush()

    def reply(self, number: int) -> bytes:
        """Read up to the reply of that number.

        Raises:
            RuntimeError: it is an error, or the server has ended.
        """
        line = self._line(number)
        _require_result(line)
        return line

    def _line(self, number: int) -> bytes:
        while (line := self._early.pop(number, None)) is None:
            line = self._output.readline()
            if not line:
                raise RuntimeError("the server ended before it answered")
            match = _ID.search(line, 0, _HEAD)
            if match is not None:
                self._early[int(match[1])] = line
        return line

    def has_answered(self, number: int) -> bool:
        """Whether the reply of that number was read while another was waited for; it is dropped then."""
        return self._early.pop(number, None) is not None

    def close(self) -> None:
        """End its input and wait for it."""
        self._input.close()
        try:
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()
            self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_result(line: bytes) -> None:
    message = json.loads(line)
    if message.get("result", {"isError": True}).get("isError"):
        raise RuntimeError(f"the server refused: {line[:500].decode()}")


@contextmanager
def http_server(command: Sequence[str], port: int) -> Iterator[int]:
    """Run a server that is to listen on a port of this machine; gives its process id once it does."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        try:
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    HttpConnection(port).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("the server does not listen") from None
                    time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            finally:
                process.kill()


class HttpConnection:
    """One kept-alive connection to an MCP endpoint at `/`."""

    def __init__(self, port: int) -> None:
        """Connect.

        Raises:
            OSError: nobody listens.
        """
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._port = port

    def request(self, tool: Tool) -> bytes:
        """The bytes of a call, to be sent any number of times."""
        body = json.dumps(tool.message(1)).encode()
        head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {_VERSION}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def exchange(self, request: bytes) -> bytes:
        """Send a request and return the body of its reply.

        Raises:
            RuntimeError: the reply is no result.
        """
        self._socket.sendall(request)
        status = self._stream.readline()
        length = 0
        while (line := self._stream.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self._stream.read(length)
        if b" 200 " not in status or b'"result"' not in body:
            raise RuntimeError(f"the server refused: {status.decode()}{body[:500].decode()}")
        return body

    def close(self) -> None:
        """Disconnect."""
        self._stream.close()
        self._socket.close()

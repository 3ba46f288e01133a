"""mergeway-mcp on both transports, what its tools are asked, and the TypeScript clients."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from mcpkit.isolation import seal_settings
from mcpkit.testing import ServerProcess, start_server
from mcpkit.testing.http import listening_url

seal_settings()

HERE: Final = Path(__file__).parent
CATALOGUE: Final = HERE.parents[1] / "packages" / "mergeway-mcp" / "examples" / "service-catalogue"
START_SECONDS: Final = 60
NODE_SECONDS: Final = 60

#: One call of each tool.
CALLS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("entity_list", {}),
    ("entity_show", {"entity": "Service"}),
    ("object_list", {"entity": "Service", "limit": 2}),
    ("object_get", {"entity": "Service", "id": "basket", "fields": ["title"]}),
    ("repository_export", {"entities": ["Team"]}),
    ("files_list", {"entity": "Service"}),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def calls() -> list[tuple[str, dict[str, Any]]]:
    return CALLS


@pytest.fixture(scope="session")
def command() -> list[str]:
    """How a client is told to start mergeway-mcp."""
    program = shutil.which("mergeway-mcp", path=str(Path(sys.executable).parent))
    assert program
    return [program, "--root", str(CATALOGUE)]


@asynccontextmanager
async def listening(argv: list[str]) -> AsyncIterator[tuple[str, ServerProcess]]:
    async with start_server(argv) as server:
        await server.wait_for(lambda s: listening_url(s.stderr) is not None, START_SECONDS)
        yield listening_url(server.stderr) or "", server


@pytest.fixture(scope="module")
async def url(command: list[str]) -> AsyncIterator[str]:
    """Where mergeway-mcp listens."""
    async with listening([*command, "--transport", "http", "--http-listen", "127.0.0.1:0"]) as (url, _):
        yield url


class Reports:
    """What the tool `wait` of `waiting_server.py` reports, line by line.

    Attributes:
        command: how to start the server over stdio.
    """

    def __init__(self, listener: Any) -> None:
        self._listener = listener
        self._connection: BufferedByteReceiveStream | None = None
        self._port = listener.extra(SocketAttribute.local_port)
        self.command = [sys.executable, "-P", str(HERE / "waiting_server.py"), "stdio", str(self._port)]

    def serve(self) -> AbstractAsyncContextManager[tuple[str, ServerProcess]]:
        """Start the server over HTTP; gives its URL and process."""
        return listening([*self.command[:3], "http", str(self._port)])

    async def next(self) -> str:
        """The next line; `` once the tool has ended without a word."""
        with anyio.fail_after(START_SECONDS):
            if self._connection is None:
                self._connection = BufferedByteReceiveStream(await self._listener.accept())
            try:
                return (await self._connection.receive_until(b"\n", 100)).decode("ascii")
            except (anyio.IncompleteRead, anyio.BrokenResourceError):
                return ""

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.aclose()


@pytest.fixture
async def reports() -> AsyncIterator[Reports]:
    multi = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with multi:
        made = Reports(multi.listeners[0])
        yield made
        await made.aclose()


@pytest.fixture(scope="session")
def typescript(node: Path, npm_install: Callable[[Path], Path]) -> Callable[[str, dict[str, Any]], list[str]]:
    """The command that runs one of the drivers with a plan; see drive.mjs."""
    npm_install(HERE)

    def build(driver: str, plan: dict[str, Any]) -> list[str]:
        return [str(node), str(HERE / f"{driver}.mjs"), json.dumps(plan)]

    return build


@pytest.fixture
def run_typescript(
    typescript: Callable[[str, dict[str, Any]], list[str]],
) -> Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]:
    """Runs a driver to its end and gives what it printed."""

    async def run(driver: str, plan: dict[str, Any]) -> dict[str, Any]:
        with anyio.fail_after(NODE_SECONDS):
            done = await anyio.run_process(typescript(driver, plan), stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        assert done.stderr == b"", "neither the client nor the server has anything to complain of"
        # Version 2 says a word about each request it spares the server.
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen

    return run


@pytest.fixture
def where(request: pytest.FixtureRequest, command: list[str]) -> Callable[[str], dict[str, Any]]:
    """The part of a plan that names mergeway-mcp over a transport."""

    def place(transport: str) -> dict[str, Any]:
        if transport == "http":
            return {"url": request.getfixturevalue("url")}
        return {"command": command[0], "args": command[1:]}

    return place

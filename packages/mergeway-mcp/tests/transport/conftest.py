"""The recorded HTTP exchanges against mergeway-mcp itself, one server a recorded session."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mcpkit.testing import HttpClient, connect_http

START = "from mergeway_mcp.main import main; raise SystemExit(main())"

Served = Callable[[str, list[str]], Awaitable[HttpClient]]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory, vectors_folder: Path) -> AsyncIterator[Served]:
    """Starts a server on a copy of a fixture, once for each name, and gives a client of it."""
    running: dict[str, HttpClient] = {}
    async with AsyncExitStack() as stack:

        async def serve(name: str, args: list[str]) -> HttpClient:
            if name not in running:
                root = tmp_path_factory.mktemp("http") / "root"
                shutil.copytree(vectors_folder / "fixtures" / "basic", root)
                listen = ["--transport", "http", "--http-listen", "127.0.0.1:0"]
                argv = [sys.executable, "-P", "-c", START, "--root", str(root), *listen, *args]
                running[name] = await stack.enter_async_context(connect_http(argv))
            return running[name]

        yield serve

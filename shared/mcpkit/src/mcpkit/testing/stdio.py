"""A server over its stdin and stdout."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from mcpkit.testing.background import background
from mcpkit.testing.client import DEADLINE_SECONDS, DuplexClient
from mcpkit.testing.process import ServerProcess, start_server

__all__ = ["StdioClient", "connect_stdio"]


class StdioClient(DuplexClient):
    """A client over a process's pipes.

    Attributes:
        process: the server's process.
        strays: lines on stdout that are not JSON, of which there should be none.
    """

    process: ServerProcess

    def __init__(self, process: ServerProcess, deadline: float) -> None:
        super().__init__(deadline)
        self.process = process
        self.strays: list[bytes] = []

    async def send(self, message: dict[str, Any]) -> None:
        await self._write(json.dumps(message).encode("ascii") + b"\n")

    async def raw(self, data: bytes, replies: int = 1) -> list[Any]:
        await self._write(data)
        return await self.receive(replies)

    async def finish(self, deadline: float = DEADLINE_SECONDS) -> int:
        """End the server's input and return its exit code."""
        await self.process.close_stdin()
        return await self.process.wait(deadline)

    async def _write(self, data: bytes) -> None:
        with anyio.fail_after(self._deadline):
            await self.process.stdin.send(data)

    async def _read(self) -> None:
        rest = b""
        try:
            while True:
                *lines, rest = (rest + await self.process.stdout.receive(1 << 16)).split(b"\n")
                for line in lines:
                    self._take(line)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            if rest:
                self.strays.append(rest)
        finally:
            self.end()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.strays.append(line)
        else:
            self.deliver(message)


@asynccontextmanager
async def connect_stdio(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    deadline: float = DEADLINE_SECONDS,
) -> AsyncIterator[StdioClient]:
    """Start a server and be its client.

    Args:
        argv: the server's command.
        env: its whole environment; this process's own where None.
        cwd: its working directory.
        deadline: seconds to wait for any one reply.
    """
    async with start_server(argv, env=env, cwd=cwd, collect_stdout=False) as process:
        client = StdioClient(process, deadline)
        async with background() as tasks:
            tasks.start_soon(client._read)
            try:
                yield client
            finally:
                tasks.cancel_scope.cancel()

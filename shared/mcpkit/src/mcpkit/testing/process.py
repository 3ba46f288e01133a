"""A server in a process of its own, watched from start to exit code."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from mcpkit.testing.background import background

__all__ = ["ServerProcess", "start_server"]

_PATIENCE_SECONDS: Final = 10.0
_CHUNK: Final = 1 << 16


class ServerProcess:
    """A running server.

    Attributes:
        pid: its process id.
        stdin: what it reads.
        stdout: what it writes; None where nobody asked for it and it is collected in `output`.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._errors = bytearray()
        self._output = bytearray()
        self._news = anyio.Event()
        self._open = 0
        assert process.stdin is not None  # noqa: S101 - always a pipe here
        assert process.stdout is not None  # noqa: S101
        self.pid = process.pid
        self.stdin: ByteSendStream = process.stdin
        self.stdout: ByteReceiveStream = process.stdout

    @property
    def stderr(self) -> str:
        """Everything it has written to stderr so far."""
        return self._errors.decode("utf-8", "replace")

    @property
    def output(self) -> bytes:
        """Everything it has written to stdout so far, where stdout is collected."""
        return bytes(self._output)

    @property
    def returncode(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.returncode

    async def wait(self, deadline: float = _PATIENCE_SECONDS) -> int:
        """Its exit code once it has ended and everything it wrote was read.

        Raises:
            TimeoutError: it has not ended by then.
        """
        with anyio.fail_after(deadline):
            code = await self._process.wait()
            while self._open:
                await self._news.wait()
        return code

    async def wait_for(
        self, condition: Callable[[ServerProcess], bool], deadline: float = _PATIENCE_SECONDS
    ) -> None:
        """Wait until a condition on what it wrote holds; checked whenever it writes or closes a stream.

        Raises:
            TimeoutError: it does not hold by then, or can no longer come to hold because the process has ended.
        """
        with anyio.fail_after(deadline):
            while not condition(self):
                if not self._open:
                    raise TimeoutError(f"the server has ended: {self.stderr}")
                await self._news.wait()

    async def close_stdin(self) -> None:
        """End its input."""
        await self.stdin.aclose()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def _collect(self, stream: ByteReceiveStream, into: bytearray) -> None:
        try:
            while True:
                into += await stream.receive(_CHUNK)
                self._wake()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return
        finally:
            self._open -= 1
            self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()


@asynccontextmanager
async def start_server(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    collect_stdout: bool = True,
    **options: Any,
) -> AsyncIterator[ServerProcess]:
    """Run a command; at the end of the context its stdin is closed and, if need be, it is killed.

    Args:
        argv: the command.
        env: its whole environment; this process's own where None.
        cwd: its working directory.
        collect_stdout: read stdout into `output`; otherwise the caller reads `stdout`.
        options: passed on to `anyio.open_process`.
    """
    process = await anyio.open_process(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        cwd=cwd,
        **options,
    )
    assert process.stderr is not None  # noqa: S101 - always a pipe here
    server = ServerProcess(process)
    async with background() as tasks:
        server._open = 2 if collect_stdout else 1
        tasks.start_soon(server._collect, process.stderr, server._errors)
        if collect_stdout:
            tasks.start_soon(server._collect, server.stdout, server._output)
        try:
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await _reap(process, server)
                tasks.cancel_scope.cancel()


async def _reap(process: Process, server: ServerProcess) -> None:
    if process.returncode is None:
        with anyio.move_on_after(_PATIENCE_SECONDS):
            await server.stdin.aclose()
            if os.name != "nt":
                process.terminate()
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
    await process.aclose()

"""Lets a long poll wait until something was written."""

from __future__ import annotations

import asyncio
import threading

__all__ = ["Changes"]


class Changes:
    """A number that grows with every committed write, and a way to wait for it.

    Read `version` before the state it belongs to: a write in between then ends the wait at once.
    """

    def __init__(self) -> None:
        self._version = 0
        self._closed = False
        self._lock = threading.Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def version(self) -> int:
        """How many writes there were."""
        return self._version

    @property
    def closed(self) -> bool:
        """Whether the service is stopping, so that nobody should wait any longer."""
        return self._closed

    def notify(self) -> None:
        """Say that something was written; from any thread."""
        with self._lock:
            self._version += 1
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            _wake(future)

    def close(self) -> None:
        """Wake everybody, now and from now on: the service stops."""
        self._closed = True
        self.notify()

    async def wait(self, seen: int, seconds: float) -> int:
        """Wait for a write after `seen`.

        Args:
            seen: the `version` the caller knows.
            seconds: how long at most.

        Returns:
            The version now; `seen` if nothing was written in that time.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._version != seen or self._closed:
                return self._version
            self._waiting.add(future)
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await future
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting.discard(future)
        return self._version


def _wake(future: asyncio.Future[None]) -> None:
    def done() -> None:
        if not future.done():
            future.set_result(None)

    try:
        future.get_loop().call_soon_threadsafe(done)
    except RuntimeError:  # its loop has ended, and whoever waited with it
        return

"""Time as a thing that is passed in, so that hours of waiting can be tested in a moment.

Every wait and every deadline of the package goes through a `Clock`. Units are seconds.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What the package asks of time."""

    def now(self) -> float:
        """Seconds since the Unix epoch, to compare with times the service names."""
        ...

    def monotonic(self) -> float:
        """Seconds on a scale that only moves forward, to measure waits with."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass; a cancellation point even for 0."""
        ...

    def fail_after(self, seconds: float) -> AbstractContextManager[Any]:
        """Cancel the enclosed work after some time and raise TimeoutError; used with an ordinary `with`."""
        ...


class SystemClock:
    """The computer's own time."""

    def now(self) -> float:
        """See `Clock.now`."""
        return time.time()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        import anyio  # not needed until something waits

        await anyio.sleep(max(0.0, seconds))

    def fail_after(self, seconds: float) -> AbstractContextManager[Any]:
        """See `Clock.fail_after`."""
        import anyio

        return anyio.fail_after(max(0.0, seconds))

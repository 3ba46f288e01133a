"""Until when a session that is ending may take its time. Pure: every moment is handed in, in seconds."""

from __future__ import annotations

__all__ = ["GRACE", "TOTAL", "ShutdownClock"]

GRACE = 5.0
"""Seconds that calls in flight have to finish, counted from when the server is ready."""

TOTAL = 30.0
"""Seconds after which an ending session ends, whatever it waits for (an import, for instance)."""


class ShutdownClock:
    """Knows when the server got ready, when the session began to end, and from these the last moment.

    Args:
        grace: seconds for calls in flight, from the later of readiness and the beginning of the end.
        total: seconds in all, from the beginning of the end.
    """

    __slots__ = ("_cap", "_closing", "_grace", "_ready", "total")

    def __init__(self, grace: float = GRACE, total: float = TOTAL) -> None:
        self._grace = grace
        self.total = total
        self._ready: float | None = None
        self._closing: float | None = None
        self._cap: float | None = None

    @property
    def closing(self) -> bool:
        """Whether the session has begun to end."""
        return self._closing is not None

    def ready(self, now: float) -> None:
        """The server can take calls."""
        if self._ready is None:
            self._ready = now

    def close(self, now: float) -> None:
        """The session begins to end: end of input or a signal. Only the first time counts."""
        if self._closing is None:
            self._closing = now

    def hurry(self, now: float, within: float) -> None:
        """End within so many seconds at the latest; never later than said before."""
        self._cap = now + within if self._cap is None else min(self._cap, now + within)

    def deadline(self) -> float | None:
        """The last moment, `None` while nothing ends."""
        if self._closing is None:
            return self._cap
        last = self._closing + self.total
        if self._ready is not None:
            last = min(last, max(self._closing, self._ready) + self._grace)
        return last if self._cap is None else min(last, self._cap)

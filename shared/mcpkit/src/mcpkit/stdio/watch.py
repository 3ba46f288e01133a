"""Notices what ends a session from outside: signals, a client that hung up, a parent that died.

A thread waits here without spinning. On POSIX it polls a pipe into which the interpreter's C handler writes each
signal's number, so that signals are seen even while the main thread is deep inside an import, and the protocol's
descriptors for hang-ups. Windows has neither; there the main thread's handler rings the bell.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from mcpkit.stdio.streams import Wire

__all__ = ["SIGNALS", "News", "Watch"]

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
"""The signals that end a session in order."""


class News:
    """What a wait brought: numbers of signals, and whether an end of the wire or the parent is gone."""

    __slots__ = ("input_closed", "output_closed", "parent_died", "signals")

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.input_closed = False
        self.output_closed = False
        self.parent_died = False


class _Parent:
    """Tells whether the process that started this one still lives."""

    def __init__(self) -> None:
        self._pid = self._current()

    @staticmethod
    def _current() -> int:
        return 0 if sys.platform == "win32" else os.getppid()

    def died(self) -> bool:
        return self._current() != self._pid


if sys.platform == "win32":

    class Watch:
        """See the module."""

        def __init__(self, wire: Wire) -> None:
            self._bell = threading.Event()
            self._signals: list[int] = []

        def install(self) -> None:
            """Take the signals over; on the main thread only."""
            for number in SIGNALS:
                signal.signal(number, self._on_signal)

        def _on_signal(self, number: int, _frame: object) -> None:
            self._signals.append(number)
            self._bell.set()

        def ring(self) -> None:
            """End the current wait early; from any thread."""
            self._bell.set()

        def wait(self, timeout: float) -> News:
            """Wait for news, a ring, or so many seconds."""
            self._bell.wait(timeout)
            self._bell.clear()
            news = News()
            news.signals, self._signals = self._signals, []
            return news

else:
    import select

    class Watch:
        """See the module."""

        def __init__(self, wire: Wire) -> None:
            self._parent = _Parent()
            self._wire = wire
            self._read, self._ring = os.pipe()
            os.set_blocking(self._read, False)
            os.set_blocking(self._ring, False)
            self._poll = select.poll()
            self._poll.register(self._read, select.POLLIN)
            # No events asked for: a hang-up or an error is reported all the same.
            self._poll.register(wire.input, 0)
            self._poll.register(wire.output, 0)

        def install(self) -> None:
            """Take the signals over; on the main thread only."""
            for number in SIGNALS:
                signal.signal(number, _nothing)
            signal.set_wakeup_fd(self._ring, warn_on_full_buffer=False)

        def ring(self) -> None:
            """End the current wait early; from any thread."""
            try:
                os.write(self._ring, b"\0")
            except BlockingIOError:
                pass  # full: the wait ends anyway

        def wait(self, timeout: float) -> News:
            """Wait for news, a ring, or so many seconds."""
            news = News()
            for fd, event in self._poll.poll(max(timeout, 0.0) * 1000):
                if fd == self._read:
                    news.signals = [number for number in os.read(self._read, 4096) if number]
                    continue
                self._poll.unregister(fd)  # said once; it would be said again and again
                if event & select.POLLNVAL:
                    continue  # some systems cannot poll devices
                if fd == self._wire.input:
                    news.input_closed = True
                else:
                    news.output_closed = True
            news.parent_died = self._parent.died()
            return news


def _nothing(_number: int, _frame: object) -> None:
    """Stands in for the default action; the wake-up descriptor has told the watch already."""

"""Takes the standard streams over for the protocol, and writes answers without ever blocking the server's loop."""

from __future__ import annotations

import os
import sys
from collections import deque
from threading import Condition

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OUTBOX_LIMIT", "Outbox", "Wire", "read_some", "take_over", "write_all"]

OUTBOX_LIMIT = 64 * 1024 * 1024
"""Bytes of answers that may wait for a client that does not read; a longer one goes in alone."""

_CHUNK = 64 * 1024


class Wire:
    """The two file descriptors that carry the protocol."""

    __slots__ = ("input", "output")

    def __init__(self, input: int, output: int) -> None:  # noqa: A002
        self.input = input
        self.output = output


def take_over() -> Wire:
    """Keep descriptors 0 and 1 for the protocol alone.

    Both are duplicated, not inheritably; what else is printed, by whatever means and by child processes too, goes to
    stderr, and whoever reads standard input finds it empty.

    Raises:
        OSError: standard input or output is closed.
    """
    reading, writing = _duplicate(0), _duplicate(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(reading, os.O_BINARY)
        msvcrt.setmode(writing, os.O_BINARY)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    if null > 2:
        os.close(null)
    if sys.stdout is not None:
        # It was set up for a pipe; what is printed should come out when it is printed, as on stderr.
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    return Wire(reading, writing)


def _duplicate(fd: int) -> int:
    """A duplicate outside the standard range, even where a standard stream is closed."""
    low: list[int] = []
    copy = os.dup(fd)
    while copy <= 2:
        low.append(copy)
        copy = os.dup(fd)
    for spare in low:
        os.close(spare)
    return copy


def read_some(fd: int) -> bytes:
    """Up to 64 KiB of input, empty at its end; a broken connection is an end, too."""
    while True:
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:  # the other side shares the descriptor and made it non-blocking
            _wait_for(fd, writing=False)
        except OSError:
            return b""


def write_all(fd: int, data: bytes) -> None:
    """Write everything, however many calls it takes.

    Raises:
        OSError: nobody reads the other end any more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            _wait_for(fd, writing=True)


def _wait_for(fd: int, *, writing: bool) -> None:
    from select import select  # only where a descriptor is non-blocking, which is never so on Windows

    select([] if writing else [fd], [fd] if writing else [], [])


class Outbox:
    """Answers on their way to the client, written by a thread of their own (`run`).

    Args:
        write: writes one line; `OSError` means that the client is gone.
        gone: called once, from the writing thread, when the client is gone.
        limit: bytes that may wait.
    """

    def __init__(
        self, write: Callable[[bytes], None], gone: Callable[[], None], limit: int = OUTBOX_LIMIT
    ) -> None:
        self._write = write
        self._gone = gone
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._size = 0  # of the lines that are not written yet
        self._broken = False
        self._changed = Condition()
        self.on_room: Callable[[], None] | None = None
        """Called, from the writing thread, when there is room again after `offer` refused a line."""
        self._refused = False

    def offer(self, line: bytes) -> bool:
        """Queue a line if there is room; a line for a client that is gone is taken and dropped."""
        with self._changed:
            if self._broken:
                return True
            if self._size and self._size + len(line) > self._limit:
                self._refused = True
                return False
            self._lines.append(line)
            self._size += len(line)
            self._changed.notify_all()
            return True

    def put(self, line: bytes) -> None:
        """Queue a line, waiting for room: who does not read our answers is not read from."""
        with self._changed:
            while not self.offer(line):
                self._changed.wait()

    def flush(self, timeout: float) -> bool:
        """Wait until all is written, at most so many seconds; whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: self._size == 0 or self._broken, max(timeout, 0.0))

    def run(self) -> None:
        """Write lines as they come, until the client is gone."""
        while True:
            with self._changed:
                while not self._lines:
                    self._changed.wait()
                line = self._lines.popleft()
            try:
                self._write(line + b"\n")
            except OSError:
                self._give_up()
                return
            with self._changed:
                self._size -= len(line)
                refused, self._refused = self._refused, False
                self._changed.notify_all()
            if refused:
                self._room()

    def _give_up(self) -> None:
        with self._changed:
            self._broken = True
            self._lines.clear()
            self._changed.notify_all()
        self._room()
        self._gone()

    def _room(self) -> None:
        if self.on_room is not None:
            self.on_room()

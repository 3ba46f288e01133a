"""Cuts a byte stream into lines without ever holding more than the longest line allowed."""

from __future__ import annotations

from mcpkit.messages import HEAD, TooLong

__all__ = ["LINE_LIMIT", "LineSplitter"]

LINE_LIMIT = 32 * 1024 * 1024
"""The longest message taken, in bytes without its newline."""


class LineSplitter:
    """Collects chunks and gives back whole lines, without their newlines.

    A line over the limit is reported once, as soon as it passes the limit; its remainder is dropped as it comes.

    Args:
        limit: the longest line, in bytes.
    """

    __slots__ = ("_buffer", "_discarding", "_limit")

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._discarding = False

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that `chunk` completes, in order."""
        lines: list[bytes | TooLong] = []
        *ends, rest = chunk.split(b"\n")
        for part in ends:
            self._append(part, lines)
            if not self._discarding:
                lines.append(bytes(self._buffer))
            self._buffer.clear()
            self._discarding = False
        self._append(rest, lines)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """What is left at the end of the stream: a last line may lack its newline."""
        lines: list[bytes | TooLong] = [bytes(self._buffer)] if self._buffer else []
        self._buffer.clear()
        return lines

    def _append(self, part: bytes, lines: list[bytes | TooLong]) -> None:
        if self._discarding:
            return
        if len(self._buffer) + len(part) <= self._limit:
            self._buffer += part
            return
        head = bytes(self._buffer[:HEAD])
        lines.append(TooLong(head + part[: HEAD - len(head)]))
        self._buffer = bytearray()  # a new one: clear() may keep the memory
        self._discarding = True

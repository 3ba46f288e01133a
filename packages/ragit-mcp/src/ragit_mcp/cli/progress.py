"""How far an ingest is, on stderr: one line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from ragit_mcp.ingest import Progress

__all__ = ["LineProgress", "TerminalProgress", "describe"]

_PAUSE_SECONDS: Final = 0.1
_LINE_PAUSE_SECONDS: Final = 5.0
_BAR: Final = 24
_STAGES: Final = {
    "planning": "looking at the commit",
    "reading": "reading documents",
    "embedding": "embedding",
    "verifying": "verifying the new index",
    "publishing": "publishing it",
    "done": "done",
}
#: Takes the cursor to the line's beginning and erases the line.
_ERASE: Final = "\r\x1b[2K"


def describe(progress: Progress, seconds: float) -> str:
    """One line about an ingest.

    Args:
        progress: how far it is.
        seconds: how long it has been in this stage.
    """
    words = _STAGES[progress.stage]
    if progress.stage == "reading" and progress.files_total:
        words += f": {progress.files_done}/{progress.files_total} files, {progress.chunks_new} new chunks"
        return words + _rest(progress.files_done, progress.files_total, seconds, "files")
    if progress.stage == "embedding" and progress.chunks_new:
        words += f": {progress.chunks_embedded}/{progress.chunks_new} chunks"
        return words + _rest(progress.chunks_embedded, progress.chunks_new, seconds, "chunks")
    return words


def _rest(done: int, total: int, seconds: float, unit: str) -> str:
    if done <= 0 or seconds < 0.5:
        return ""
    rate = done / seconds
    left = (total - done) / rate
    return f", {rate:,.0f} {unit}/s, {_duration(left)} left"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class _Reporter:
    def __init__(self, stream: TextIO, clock: Callable[[], float], pause: float) -> None:
        self._stream = stream
        self._clock = clock
        self._pause = pause
        self._stage: str | None = None
        self._entered = self._shown = clock()

    def __call__(self, progress: Progress) -> None:
        """Take note; called often."""
        now = self._clock()
        fresh = progress.stage != self._stage
        if fresh:
            self._stage, self._entered = progress.stage, now
        if fresh or now - self._shown >= self._pause:
            self._shown = now
            self._show(progress, now - self._entered)

    def _show(self, progress: Progress, seconds: float) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing more will come."""

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return  # nobody looks any more


class TerminalProgress(_Reporter):
    """One line with a bar, drawn over and over.

    Args:
        stream: a terminal.
        clock: seconds, as `time.monotonic`.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream or sys.stderr, clock, _PAUSE_SECONDS)

    def _show(self, progress: Progress, seconds: float) -> None:
        done, total = progress.files_done, progress.files_total
        if progress.stage == "embedding":
            done, total = progress.chunks_embedded, progress.chunks_new
        filled = _BAR * done // total if total else 0
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] " if total else ""
        self._write(f"{_ERASE}{bar}{describe(progress, seconds)}" if progress.stage != "done" else _ERASE)

    def close(self) -> None:
        """Leave the line empty."""
        self._write(_ERASE)


class LineProgress(_Reporter):
    """A line for each stage, and one every few seconds while it lasts.

    Args:
        stream: where to.
        clock: seconds, as `time.monotonic`.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream or sys.stderr, clock, _LINE_PAUSE_SECONDS)

    def _show(self, progress: Progress, seconds: float) -> None:
        self._write(f"ragit: {describe(progress, seconds)}\n")

"""Time: when it is now, and when something that takes a while is due.

The hour is always the real one, so that no time a client reads lies in the future. What "fast" shortens is durations:
a review of 20 seconds takes one at a scale of 20.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "ManualClock", "Pace", "RealClock", "iso", "parse_iso"]


class Clock(Protocol):
    """Where the hour comes from."""

    def now(self) -> datetime:
        """The time, with its zone, which is UTC."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when told, for tests.

    Args:
        start: the first hour it shows.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        """The hour it was set to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on."""
        self._now += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Pace:
    """A clock and how much faster than life things happen.

    Attributes:
        clock: where the hour comes from.
        scale: what durations are divided by; 1 is real time, more is faster.
    """

    clock: Clock = field(default_factory=RealClock)
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a scale that would stop time or turn it round."""
        if not 0 < self.scale < float("inf"):
            raise ValueError("the scale must be a positive number")

    def now(self) -> datetime:
        """The time, in UTC."""
        return self.clock.now()

    def seconds(self, seconds: float) -> float:
        """How long something takes that takes so many seconds in real life."""
        return seconds / self.scale

    def after(self, seconds: float) -> datetime:
        """When something is due that takes so many seconds in real life."""
        return self.now() + timedelta(seconds=self.seconds(seconds))


def iso(moment: datetime) -> str:
    """A time as the service writes it: `2026-01-02T03:04:05.678Z`. Sorts as text in order of time."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def parse_iso(text: str) -> datetime:
    """The time that `iso` wrote."""
    return datetime.fromisoformat(text)

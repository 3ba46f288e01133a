"""What a head's reviews come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["UNDER_WAY", "WITH_VERDICT", "HeadVerdict", "head_verdict", "verdict_of"]

UNDER_WAY: Final = frozenset({"queued", "reviewing"})
"""Statuses of a review that has not ended."""

WITH_VERDICT: Final = frozenset({"completed", "incomplete"})
"""Statuses of a review that ended in a verdict, be it on a part of the difference."""


@dataclass(frozen=True, slots=True)
class HeadVerdict:
    """All Core reviews of one head together.

    Attributes:
        verdict: approve, comment or request_changes; None while no review of the head is complete.
        running: a review of the head is queued or under way.
        incomplete: a review of the head failed, or read only a part of it, and none after it was complete.
    """

    verdict: str | None
    running: bool
    incomplete: bool

    @property
    def green(self) -> bool:
        """Whether Auto land goes on: nothing is under way, and no open error finding is left."""
        return not self.running and not self.incomplete and self.verdict in {"approve", "comment"}


def verdict_of(severities: Iterable[str]) -> str:
    """The verdict that open findings of these severities come to."""
    present = set(severities)
    if "error" in present:
        return "request_changes"
    return "comment" if "warning" in present else "approve"


def head_verdict(statuses: Iterable[str], open_severities: Iterable[str]) -> HeadVerdict:
    """The verdict on a head.

    Args:
        statuses: of the head's Core reviews, oldest first.
        open_severities: of the findings of its completed reviews that nobody dismissed.
    """
    listed = list(statuses)
    settled = [status for status in listed if status in {"completed", "failed", "incomplete"}]
    return HeadVerdict(
        verdict=verdict_of(open_severities) if not WITH_VERDICT.isdisjoint(listed) else None,
        running=not UNDER_WAY.isdisjoint(listed),
        incomplete=bool(settled) and settled[-1] != "completed",
    )

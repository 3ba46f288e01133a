"""How long the merge queue has taken, in words, and from when on that is stuck (contract 3.15 D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mergestorm_mcp.stacks.model import QueueAhead, QueueEntry, moment
from mergestorm_mcp.text import one_line

__all__ = ["STALLED_SECONDS", "QueueWait", "queue_wait"]

STALLED_SECONDS: Final = 45 * 60.0
"""A queue that has not moved for this long is stuck."""


@dataclass(frozen=True, slots=True)
class QueueWait:
    """The wait of a stack's first live entry.

    Attributes:
        text: for people.
        since: when what holds it began, as the service wrote it; None if unknown.
        wait_reason: the service's own note.
        stalled: whether it is stuck; never where `since` is unknown.
        picked_up: whether the queue is working on it, or on the one ahead.
    """

    text: str
    since: str | None
    wait_reason: str | None
    stalled: bool
    picked_up: bool


def queue_wait(entries: tuple[QueueEntry, ...], now: float) -> QueueWait | None:
    """The wait of the first live entry listed; None without one."""
    entry = next((item for item in entries if item.live), None)
    if entry is None:
        return None
    if entry.state != "queued":
        return _worked_on(entry, now)
    if entry.ahead is not None:
        return _behind(entry, entry.ahead, now)
    note = one_line(entry.wait_reason or "")
    text = f"Queued {_minutes(entry.enqueued_at, now)} in the merge queue, not picked up yet"
    return QueueWait(
        text=f"{text} (last note: {note})" if note else text,
        since=entry.enqueued_at,
        wait_reason=note or None,
        stalled=_stalled(entry.enqueued_at, now),
        picked_up=False,
    )


def _behind(entry: QueueEntry, ahead: QueueAhead, now: float) -> QueueWait:
    whose = f"stack {one_line(ahead.stack_id, 100)}" if ahead.stack_id is not None else "another user's stack"
    reason = one_line(ahead.wait_reason or "")
    state = "waiting" if ahead.state == "waiting" else "running"
    text = (
        f"Queued {_minutes(entry.enqueued_at, now)} behind {whose}, which has been {state} in the merge queue "
        f"for {_minutes(ahead.claimed_at, now)}"
    )
    return QueueWait(
        text=f"{text}: {reason}" if reason else text,
        since=ahead.claimed_at,
        wait_reason=reason or None,
        stalled=_stalled(ahead.claimed_at, now),
        picked_up=True,
    )


def _worked_on(entry: QueueEntry, now: float) -> QueueWait:
    reason = one_line(entry.wait_reason or "")
    text = (
        f"Merge queue {entry.state} for {_minutes(entry.claimed_at, now)}: {reason or 'no reason recorded'}"
    )
    return QueueWait(
        text=text,
        since=entry.claimed_at,
        wait_reason=reason or None,
        stalled=_stalled(entry.claimed_at, now),
        picked_up=True,
    )


def _minutes(since: str | None, now: float) -> str:
    began = moment(since)
    return "an unknown duration" if began is None else f"{int(max(0.0, now - began) // 60)}m"


def _stalled(since: str | None, now: float) -> bool:
    began = moment(since)
    return began is not None and now - began >= STALLED_SECONDS

"""Counting and summarising the ledger: bounded, tolerant of anything a file may hold, and without a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below, walk_below

__all__ = [
    "ADMISSION_DIR",
    "EVENTS_DIR",
    "QUARANTINE_DIR",
    "STATE_FILE",
    "AuditState",
    "EventSummary",
    "SecuritySummary",
    "count_recent_blocked",
    "day_lines",
    "read_audit_state",
    "summarise_events",
    "summarise_security",
]

EVENTS_DIR: Final = ".ragit/log/events"
ADMISSION_DIR: Final = ".ragit/security/admission"
QUARANTINE_DIR: Final = ".ragit/security/quarantine"
STATE_FILE: Final = ".ragit/security/state.json"

#: Largest day file that is read, and how many days are looked at, the latest first.
MAX_DAY_BYTES: Final = 16 << 20
_MAX_DAYS: Final = 400
_MAX_FILES: Final = 10_000
_STATE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class EventSummary:
    """The member `events` of status.

    Attributes:
        event_count: events on record.
        last_recorded_at: ISO time of the latest.
        latest_episode_id: of the latest event that names one; likewise the others.
        latest_goal_id: likewise.
        latest_session_id: likewise.
    """

    event_count: int = 0
    last_recorded_at: str | None = None
    latest_episode_id: str | None = None
    latest_goal_id: str | None = None
    latest_session_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As the contract names the members."""
        return {
            "eventCount": self.event_count,
            "lastRecordedAt": self.last_recorded_at,
            "latestEpisodeId": self.latest_episode_id,
            "latestGoalId": self.latest_goal_id,
            "latestSessionId": self.latest_session_id,
        }


@dataclass(frozen=True, slots=True)
class AuditState:
    """What the last audit left behind.

    Attributes:
        last_audit_at: ISO time; None if there was none.
        legacy_unsafe_state: it found secrets in what an older ragit wrote; None if there was none.
    """

    last_audit_at: str | None = None
    legacy_unsafe_state: bool | None = None


@dataclass(frozen=True, slots=True)
class SecuritySummary:
    """What admission decided so far.

    Attributes:
        quarantine_entries: documents on record that were indexed masked.
        last_admission_at: ISO time of the latest decision on record.
        blocked_entries: decisions to keep a document out.
        quarantined_entries: decisions to index it masked.
    """

    quarantine_entries: int = 0
    last_admission_at: str | None = None
    blocked_entries: int = 0
    quarantined_entries: int = 0


def summarise_events(root: str | os.PathLike[str]) -> EventSummary:
    """The events of a repository; never fails."""
    count = 0
    found: dict[str, str | None] = dict.fromkeys(("recordedAt", "episodeId", "goalId", "sessionId"))
    for day in _days(root, EVENTS_DIR):
        records = list(day_lines(root, day))
        count += len(records)
        for record in reversed(records):
            for member, known in found.items():
                if known is None:
                    found[member] = _text(record.get(member))
    return EventSummary(count, found["recordedAt"], found["episodeId"], found["goalId"], found["sessionId"])


def summarise_security(root: str | os.PathLike[str]) -> SecuritySummary:
    """The admission decisions of a repository; never fails."""
    blocked = quarantined = 0
    last: str | None = None
    for day in _days(root, ADMISSION_DIR):
        for record in day_lines(root, day):
            blocked += record.get("action") == "block"
            quarantined += record.get("action") == "quarantine"
            time = _text(record.get("recordedAt"))
            last = time if time is not None and (last is None or time > last) else last
    quarantine = sum(1 for day in _days(root, QUARANTINE_DIR) for _ in day_lines(root, day))
    return SecuritySummary(quarantine, last, blocked, quarantined)


def count_recent_blocked(root: str | os.PathLike[str], *, since: datetime) -> int:
    """Documents and texts that admission kept out since a time; never fails."""
    first = since.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    days = [day for day in _days(root, ADMISSION_DIR) if day.rpartition("/")[2] >= first[:10]]
    return sum(
        record.get("action") == "block" and (_text(record.get("recordedAt")) or "") >= first
        for day in days
        for record in day_lines(root, day)
    )


def read_audit_state(root: str | os.PathLike[str]) -> AuditState:
    """What the last audit left behind; never fails."""
    try:
        value = json.loads(read_below(root, STATE_FILE, max_bytes=_STATE_BYTES))
    except (FileAccessError, ValueError, RecursionError):
        return AuditState()
    if not isinstance(value, dict):
        return AuditState()
    unsafe = value.get("legacyUnsafeState")
    return AuditState(_text(value.get("lastAuditAt")), unsafe if isinstance(unsafe, bool) else None)


def day_lines(root: str | os.PathLike[str], path: str) -> Iterator[dict[str, Any]]:
    """The records of one day file; lines that hold none are passed over."""
    try:
        data = read_below(root, path, max_bytes=MAX_DAY_BYTES)
    except FileAccessError:
        return
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _days(root: str | os.PathLike[str], directory: str) -> list[str]:
    """The day files of a directory, the latest first."""
    try:
        files = [file.path for file in walk_below(root, directory, max_entries=_MAX_FILES, max_depth=0)]
    except FileAccessError:
        return []
    return sorted((path for path in files if path.endswith(".jsonl")), reverse=True)[:_MAX_DAYS]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 200 else None

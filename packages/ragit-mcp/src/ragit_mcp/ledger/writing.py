"""Appending to the ledger; for commands that write anyway."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ragit_mcp import __version__
from ragit_mcp.ledger.reading import ADMISSION_DIR, EVENTS_DIR, QUARANTINE_DIR, STATE_FILE, day_lines
from ragit_mcp.safety import masked_reply
from ragit_mcp.workspace_files import append_line, write_file

__all__ = ["EVENT_TYPES", "iso_time", "record_admission", "record_audit", "record_event"]

EVENT_TYPES: Final = frozenset({
    "artifact.review",
    "harness.capture",
    "ingest.completed",
    "security.admission",
    "session.materialize",
})


def iso_time(moment: datetime | None = None) -> str:
    """A time as every record of ragit's writes it: UTC, milliseconds, `Z`."""
    utc = (moment or datetime.now(UTC)).astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_event(
    root: str | os.PathLike[str],
    event_type: str,
    summary: str,
    *,
    key: str,
    now: datetime | None = None,
    goal_id: str | None = None,
    episode_id: str | None = None,
    session_id: str | None = None,
    source_head_sha: str | None = None,
    artifact_ids: Iterable[str] = (),
    related_paths: Iterable[str] = (),
    open_loops: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> str:
    """Append one event; an event that the day's file holds already is not written again.

    Args:
        root: the repository's root.
        event_type: one of `EVENT_TYPES`.
        summary: what happened, one line.
        key: what makes the event the same as an earlier one.
        now: the time; the present if None.
        goal_id: and the others: what the event is about, as far as known.
        episode_id: likewise.
        session_id: likewise.
        source_head_sha: the commit.
        artifact_ids: likewise.
        related_paths: likewise.
        open_loops: likewise.
        metadata: further members.

    Returns:
        The event's id.

    Raises:
        CommandError: `WRITE_FAILED`.
        ValueError: the type is none of ours.
    """
    if event_type not in EVENT_TYPES:
        raise ValueError(event_type)
    time = iso_time(now)
    digest = hashlib.sha256(f"{event_type}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
    event_id = f"evt_{digest[:16]}"
    path = f"{EVENTS_DIR}/{time[:10]}.jsonl"
    if any(record.get("eventId") == event_id for record in day_lines(root, path)):
        return event_id
    record: dict[str, Any] = {
        "version": 1,
        "eventId": event_id,
        "eventType": event_type,
        "recordedAt": time,
        "goalId": goal_id,
        "episodeId": episode_id,
        "sessionId": session_id,
        "sourceHeadSha": source_head_sha,
        "summary": summary,
        "artifactIds": list(artifact_ids),
        "relatedPaths": list(related_paths),
        "openLoops": list(open_loops),
        "nextActions": [],
        "provenance": {"producer": "ragit", "producerVersion": __version__},
    }
    if metadata:
        record["metadata"] = dict(metadata)
    _append(root, path, record)
    return event_id


def record_admission(
    root: str | os.PathLike[str], items: Iterable[Mapping[str, Any]], *, now: datetime | None = None
) -> None:
    """Append the decisions of one command to the day's admission log, and to the quarantine what was indexed masked.

    Args:
        root: the repository's root.
        items: members `items` of an admission report: sources and reasons, no content.
        now: the time; the present if None.

    Raises:
        CommandError: `WRITE_FAILED`.
    """
    time = iso_time(now)
    for item in items:
        record = {"version": 1, "recordedAt": time, **item}
        _append(root, f"{ADMISSION_DIR}/{time[:10]}.jsonl", record)
        if item.get("action") == "quarantine":
            _append(root, f"{QUARANTINE_DIR}/{time[:10]}.jsonl", record)


def record_audit(root: str | os.PathLike[str], *, unsafe: bool, now: datetime | None = None) -> str:
    """Keep the outcome of an audit.

    Returns:
        The time that was recorded.

    Raises:
        CommandError: `WRITE_FAILED`.
    """
    time = iso_time(now)
    state = {"lastAuditAt": time, "legacyUnsafeState": unsafe}
    write_file(root, STATE_FILE, json.dumps(state, indent=2) + "\n")
    return time


def _append(root: str | os.PathLike[str], path: str, record: Mapping[str, Any]) -> None:
    masked = masked_reply(record).value
    append_line(root, path, json.dumps(masked, ensure_ascii=True, separators=(",", ":")))

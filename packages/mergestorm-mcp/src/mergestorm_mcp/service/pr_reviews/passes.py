"""Passes of Vortex over a pull request: reading them, and the verdict of a head."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from mergestorm_mcp.service.pr_reviews.verdict import WITH_VERDICT, HeadVerdict, head_verdict

__all__ = [
    "COMMENT_ID_BASE",
    "add_pass",
    "dismissals_of",
    "findings_of",
    "latest_pass",
    "open_findings",
    "pass_by_id",
    "passes_at",
    "verdict_at",
    "verdict_of_passes",
]

COMMENT_ID_BASE: Final = 2_100_000_000
"""Inline findings are review comments; their ids begin above this, as on a busy GitHub."""


def add_pass(
    connection: sqlite3.Connection,
    repo_id: int,
    number: int,
    *,
    head: str,
    kind: str,
    status: str,
    at: str,
    skip_reason: str | None = None,
) -> int:
    """Begin a pass, numbered after the last of its kind, and return its id."""
    finished = at if status == "skipped" else None
    row = connection.execute(
        "INSERT INTO passes (repo_id, pull_number, kind, number, head_sha, status, skip_reason, queued_at, finished_at)"
        " SELECT ?, ?, ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ? FROM passes"
        " WHERE repo_id = ? AND pull_number = ? AND kind = ? RETURNING id",
        (repo_id, number, kind, head, status, skip_reason, at, finished, repo_id, number, kind),
    ).fetchone()
    return int(row["id"])


def pass_by_id(connection: sqlite3.Connection, pass_id: int) -> sqlite3.Row | None:
    """One pass."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM passes WHERE id = ?", (pass_id,)).fetchone()
    return row


def passes_at(
    connection: sqlite3.Connection, repo_id: int, number: int, head: str, kind: str = "core"
) -> list[sqlite3.Row]:
    """Passes over one head, oldest first."""
    return connection.execute(
        "SELECT * FROM passes WHERE repo_id = ? AND pull_number = ? AND head_sha = ? AND kind = ? ORDER BY number",
        (repo_id, number, head, kind),
    ).fetchall()


def latest_pass(
    connection: sqlite3.Connection, repo_id: int, number: int, kind: str = "core"
) -> sqlite3.Row | None:
    """The newest pass over a pull request."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM passes WHERE repo_id = ? AND pull_number = ? AND kind = ? ORDER BY number DESC LIMIT 1",
        (repo_id, number, kind),
    ).fetchone()
    return row


def findings_of(connection: sqlite3.Connection, pass_id: int) -> list[sqlite3.Row]:
    """All findings of a pass, dismissed or not, in the order they were raised."""
    return connection.execute("SELECT * FROM findings WHERE pass_id = ? ORDER BY id", (pass_id,)).fetchall()


def dismissals_of(connection: sqlite3.Connection, pass_id: int) -> dict[str, sqlite3.Row]:
    """Dismissals of a pass's findings by finding id."""
    rows = connection.execute("SELECT * FROM dismissals WHERE pass_id = ?", (pass_id,)).fetchall()
    return {row["finding_id"]: row for row in rows}


def open_findings(connection: sqlite3.Connection, pass_id: int) -> list[sqlite3.Row]:
    """The findings of a pass that nobody dismissed."""
    dismissed = dismissals_of(connection, pass_id)
    return [row for row in findings_of(connection, pass_id) if row["finding_id"] not in dismissed]


def verdict_at(connection: sqlite3.Connection, repo_id: int, number: int, head: str) -> HeadVerdict:
    """What all Core reviews of a head come to, dismissals taken into account."""
    return verdict_of_passes(connection, passes_at(connection, repo_id, number, head))


def verdict_of_passes(connection: sqlite3.Connection, passes: Sequence[sqlite3.Row]) -> HeadVerdict:
    """The same, of Core passes over one head that were read already, oldest first."""
    severities = [
        finding["severity"]
        for item in passes
        if item["status"] in WITH_VERDICT
        for finding in open_findings(connection, item["id"])
    ]
    return head_verdict((item["status"] for item in passes if item["status"] != "stopped"), severities)

"""Threads: the reviews of one branch, numbered in a row."""

from __future__ import annotations

import sqlite3
import uuid
from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.refusals import not_found

__all__ = ["list_threads", "read_thread", "thread_for"]


def thread_for(
    connection: sqlite3.Connection, account_id: int, slug: str, branch: str, repo: str | None, now: str
) -> tuple[str, int]:
    """The thread of a slug, made if it is not there, and the number of its next job.

    Args:
        connection: of a write.
        account_id: whose.
        slug: name of the thread within the account.
        branch: what is reviewed now; the thread shows the latest.
        repo: `owner/name`, where there is one.
        now: the time, as stored.
    """
    owner, _, name = (repo or "").partition("/")
    row = connection.execute(
        "INSERT INTO threads (id, account_id, slug, branch, owner, repo, created_at, last_activity_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, slug) DO UPDATE SET branch = excluded.branch, "
        "owner = coalesce(excluded.owner, owner), repo = coalesce(excluded.repo, repo), "
        "last_activity_at = excluded.last_activity_at RETURNING id",
        (str(uuid.uuid4()), account_id, slug, branch, owner or None, name or None, now, now),
    ).fetchone()
    number = connection.execute(
        "SELECT coalesce(max(thread_job_number), 0) + 1 AS n FROM review_jobs WHERE thread_id = ?",
        (row["id"],),
    ).fetchone()["n"]
    return row["id"], number


def list_threads(connection: sqlite3.Connection, caller: Caller, limit: int) -> list[dict[str, Any]]:
    """The threads of the caller's account with the latest activity."""
    rows = connection.execute(
        "SELECT * FROM threads WHERE account_id = ? ORDER BY last_activity_at DESC, id LIMIT ?",
        (caller.account_id, limit),
    ).fetchall()
    return [_listed(row, _jobs(connection, row["id"])) for row in rows]


def read_thread(connection: sqlite3.Connection, caller: Caller, slug: str) -> dict[str, Any]:
    """A thread with its jobs, oldest first.

    Raises:
        Refusal: 404 `thread_not_found`.
    """
    row = connection.execute(
        "SELECT * FROM threads WHERE account_id = ? AND slug = ?", (caller.account_id, slug)
    ).fetchone()
    if row is None:
        raise not_found("The thread", "thread_not_found")
    jobs = _jobs(connection, row["id"])
    return {
        "thread_id": row["id"],
        "slug": row["slug"],
        "source": "local",
        "branch": row["branch"],
        "owner": row["owner"],
        "repo": row["repo"],
        "pr_number": None,
        "status": _status(jobs),
        "pr_linked_at": None,
        "job_count": len(jobs),
        "created_at": row["created_at"],
        "jobs": [
            {
                "job_id": job["id"],
                "status": job["status"],
                "summary": job["summary"],
                "verdict": job["verdict"],
                "thread_job_number": job["thread_job_number"],
                "created_at": job["created_at"],
                "finished_at": job["finished_at"],
            }
            for job in jobs
        ],
    }


def _listed(row: sqlite3.Row, jobs: list[sqlite3.Row]) -> dict[str, Any]:
    verdicts = [job["verdict"] for job in jobs if job["verdict"] is not None]
    return {
        "slug": row["slug"],
        "branch": row["branch"],
        "owner": row["owner"],
        "repo": row["repo"],
        "pr_number": None,
        "status": _status(jobs),
        "job_count": len(jobs),
        "last_verdict": verdicts[-1] if verdicts else None,
        "last_activity_at": row["last_activity_at"],
    }


def _jobs(connection: sqlite3.Connection, thread: str) -> list[sqlite3.Row]:
    return connection.execute(
        "SELECT * FROM review_jobs WHERE thread_id = ? ORDER BY thread_job_number", (thread,)
    ).fetchall()


def _status(jobs: list[sqlite3.Row]) -> str:
    """`active` while one of its reviews is under way."""
    return "active" if any(job["status"] in {"queued", "in_progress"} for job in jobs) else "idle"

"""Submitting a review once, however often the request arrives; reading it and listing the newest."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import uuid
from typing import Any, Final, NamedTuple

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.accounts.credits import REVIEW_COST, charge
from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.local_reviews import reviewer
from mergestorm_mcp.service.local_reviews.threads import thread_for
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal, not_found
from mergestorm_mcp.service.timeline import schedule
from mergestorm_mcp.service.world import World

__all__ = ["MAX_DIFF_BYTES", "Submission", "fingerprint", "list_jobs", "read_job", "submit"]

MAX_DIFF_BYTES: Final = 1_000_000


class Submission(NamedTuple):
    """A review as it is asked for.

    Attributes:
        thread: slug of the thread it belongs to.
        branch: name of the branch that is reviewed.
        repo: `owner/name`, where the branch has a repository.
        base_label: what the left side of the diff is called.
        head_label: what its right side is called.
        diff: the unified diff.
        router_mode: which specialists run beside the core review; None for `standard`.
        specialists: the ones asked for by name.
        idempotency_key: makes a repeated request the same request.
        wants_webhook: whether a webhook was asked for.
        fingerprint: hash of the whole request, to tell a repetition from another request with the same key.
    """

    thread: str
    branch: str
    repo: str | None
    base_label: str
    head_label: str
    diff: str
    router_mode: str | None
    specialists: tuple[str, ...]
    idempotency_key: str | None
    wants_webhook: bool
    fingerprint: str


def submit(world: World, connection: sqlite3.Connection, caller: Caller, asked: Submission) -> dict[str, Any]:
    """Queue a review, or find the job that the same request has queued before.

    A new job is charged here, so that jobs submitted at once cannot overdraw the account. The secret of a webhook is in
    the answer to the request that made the job and nowhere else; this service calls no webhooks, for it reaches
    nothing but this machine.

    Args:
        world: the service.
        connection: of a write.
        caller: who asks.
        asked: what for.

    Raises:
        Refusal: 413 `diff_too_large`, 400 `invalid_specialists`, 409 `idempotency_key_reused`, 402
            `quota_exceeded`.
    """
    _check(asked)
    if asked.idempotency_key is not None:
        known = connection.execute(
            "SELECT * FROM review_jobs WHERE account_id = ? AND idempotency_key = ?",
            (caller.account_id, asked.idempotency_key),
        ).fetchone()
        if known is not None:
            if known["request_hash"] != asked.fingerprint:
                raise Refusal(
                    409,
                    "idempotency_key_reused",
                    "This idempotency key belongs to another review; use a new key for a new review.",
                    extra={"job_id": known["id"]},
                )
            return _shown(connection, known)
    now = iso(world.pace.now())
    job = str(uuid.uuid4())
    charge(world, connection, caller.account_id, job)
    thread, number = thread_for(connection, caller.account_id, asked.thread, asked.branch, asked.repo, now)
    connection.execute(
        "INSERT INTO review_jobs (id, account_id, thread_id, thread_job_number, status, base_label, head_label, "
        "router_mode, specialists_requested_json, diff, idempotency_key, request_hash, created_at) "
        "VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            job,
            caller.account_id,
            thread,
            number,
            asked.base_label,
            asked.head_label,
            asked.router_mode or ("manual" if asked.specialists else "standard"),
            json.dumps(asked.specialists),
            asked.diff,
            asked.idempotency_key,
            asked.fingerprint,
            now,
        ),
    )
    waits = knobs.dial(connection, "local_review.queued_seconds", reviewer.QUEUED_SECONDS)
    schedule(connection, reviewer.BEGIN, {"job": job}, world.pace.after(waits))
    shown = _shown(connection, _row(connection, caller, job))
    if asked.wants_webhook:
        shown["webhook_secret"] = "whsec_" + secrets.token_urlsafe(24)
    return shown


def read_job(connection: sqlite3.Connection, caller: Caller, job_id: str) -> dict[str, Any]:
    """A job of the caller's account.

    Raises:
        Refusal: 404 `review_not_found`; also for another account's job.
    """
    return _shown(connection, _row(connection, caller, job_id))


def list_jobs(connection: sqlite3.Connection, caller: Caller, limit: int) -> list[dict[str, Any]]:
    """The newest jobs of the caller's account, newest first."""
    rows = connection.execute(
        "SELECT review_jobs.*, threads.slug FROM review_jobs JOIN threads ON threads.id = thread_id "
        "WHERE review_jobs.account_id = ? ORDER BY number DESC LIMIT ?",
        (caller.account_id, limit),
    )
    return [
        {
            "job_id": row["id"],
            "thread_slug": row["slug"],
            "status": row["status"],
            "verdict": row["verdict"],
            "summary": row["summary"],
            "base_label": row["base_label"],
            "head_label": row["head_label"],
            "created_at": row["created_at"],
            "finished_at": row["finished_at"],
            "credits": _credits(row),
        }
        for row in rows
    ]


def fingerprint(request: Any) -> str:
    """The hash of a request, whatever the order of its members."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check(asked: Submission) -> None:
    size = len(asked.diff.encode("utf-8"))
    if size > MAX_DIFF_BYTES:
        raise Refusal(
            413,
            "diff_too_large",
            f"The diff has {size} bytes; {MAX_DIFF_BYTES} are the most that is reviewed.",
        )
    unknown = sorted(set(asked.specialists) - reviewer.SPECIALISTS)
    if unknown:
        raise Refusal(400, "invalid_specialists", f"Not a specialist to ask for: {', '.join(unknown)[:200]}.")
    if asked.router_mode == "manual" and not asked.specialists:
        raise Refusal(400, "invalid_specialists", "The manual router needs one to five specialists.")
    if asked.router_mode not in {None, "manual"} and asked.specialists:
        raise Refusal(400, "invalid_specialists", "Specialists are named with the manual router only.")


def _row(connection: sqlite3.Connection, caller: Caller, job_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM review_jobs WHERE id = ? AND account_id = ?", (job_id, caller.account_id)
    ).fetchone()
    if row is None:
        raise not_found("The review", "review_not_found")
    return row


def _shown(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    slug = connection.execute("SELECT slug FROM threads WHERE id = ?", (row["thread_id"],)).fetchone()["slug"]
    return {
        "job_id": row["id"],
        "status": row["status"],
        "thread_slug": slug,
        "thread_job_number": row["thread_job_number"],
        "base_label": row["base_label"],
        "head_label": row["head_label"],
        "router_mode": row["router_mode"],
        "specialists_requested": json.loads(row["specialists_requested_json"]),
        "specialists_run": json.loads(row["specialists_run_json"]),
        "verdict": row["verdict"],
        "summary": row["summary"],
        "findings": None if row["findings_json"] is None else json.loads(row["findings_json"]),
        "truncated": bool(row["truncated"]),
        "error": row["error"],
        "credits": _credits(row),
        "webhook_secret": None,
        "created_at": row["created_at"],
        "finished_at": row["finished_at"],
    }


def _credits(row: sqlite3.Row) -> dict[str, int]:
    return {"standard": 0 if row["status"] == "failed" else REVIEW_COST}

"""The form in which every tool shows a local review job: schema `mergestorm.review_job/v1` (contract 1.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SCHEMA", "job_envelope", "job_summary"]

SCHEMA: Final = "mergestorm.review_job/v1"

_UNSET: Final[Any] = object()


def job_envelope(
    row: Mapping[str, Any] | None = None,
    *,
    job_id: str | None = None,
    status: str | None = None,
    thread: str | None = None,
    base_label: str | None = None,
    head_label: str | None = None,
    router_mode: str | None = None,
    specialists: list[str] | None = None,
    error: str | None = _UNSET,
    retry_after: float | None = None,
) -> dict[str, Any]:
    """The envelope of a job: what its row says, else the fallback given here, else null, [] or false.

    Two members take the fallback first: `error`, whenever one is given (None too), and `retry_after`.

    Args:
        row: the job as the service shows it.
        job_id: used where the row names neither `job_id` nor `id`.
        status: fallback; "failed" if there is none either.
        thread: fallback for the thread's slug.
        base_label: fallback.
        head_label: fallback.
        router_mode: fallback.
        specialists: fallback for the specialists requested.
        error: what went wrong here, instead of what the row says.
        retry_after: seconds the service asked to wait.
    """
    data = row or {}

    def told(name: str, fallback: Any = None) -> Any:
        value = data.get(name)
        return fallback if value is None else value

    findings = told("findings")
    ran = told("specialists_run")
    if ran is None and isinstance(findings, dict):
        ran = findings.get("specialists_run")
    slug = told("thread_slug", thread)
    envelope: dict[str, Any] = {
        "schema": SCHEMA,
        "job_id": told("job_id", told("id", job_id)),
        "status": told("status", status or "failed"),
        "thread": None if slug is None else {"slug": slug, "job_number": told("thread_job_number")},
        "base_label": told("base_label", base_label),
        "head_label": told("head_label", head_label),
        "router_mode": told("router_mode", router_mode),
        "specialists_requested": told("specialists_requested", specialists or []),
        "specialists_run": [] if ran is None else ran,
        "verdict": told("verdict"),
        "summary": told("summary"),
        "findings": findings,
        "truncated": told("truncated", False),
        "error": told("error") if error is _UNSET else error,
        "credits": told("credits"),
        "webhook_secret": told("webhook_secret"),
        "created_at": told("created_at"),
        "finished_at": told("finished_at"),
    }
    delay = told("retry_after_seconds") if retry_after is None else retry_after
    if isinstance(delay, (int, float)) and not isinstance(delay, bool) and math.isfinite(delay):
        envelope["retry_after_seconds"] = delay
    return envelope


def job_summary(envelope: Mapping[str, Any]) -> str:
    """One line: the job, its status and, once there is one, its verdict."""
    parts = [envelope.get("job_id") or "review", envelope.get("status"), envelope.get("verdict")]
    return " · ".join(str(part) for part in parts if part)

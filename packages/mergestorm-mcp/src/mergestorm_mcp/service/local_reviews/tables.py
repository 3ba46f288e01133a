"""Tables of local reviews. A diff is kept only until it was reviewed."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS threads (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    slug TEXT NOT NULL,
    branch TEXT NOT NULL,
    owner TEXT,
    repo TEXT,
    created_at TEXT NOT NULL,
    last_activity_at TEXT NOT NULL,
    UNIQUE (account_id, slug)
);
CREATE TABLE IF NOT EXISTS review_jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    thread_id TEXT NOT NULL REFERENCES threads (id),
    thread_job_number INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'failed')),
    base_label TEXT NOT NULL,
    head_label TEXT NOT NULL,
    router_mode TEXT NOT NULL,
    specialists_requested_json TEXT NOT NULL,
    specialists_run_json TEXT NOT NULL DEFAULT '[]',
    diff TEXT,
    idempotency_key TEXT,
    request_hash TEXT NOT NULL,
    verdict TEXT,
    summary TEXT,
    findings_json TEXT,
    truncated INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    UNIQUE (account_id, idempotency_key),
    UNIQUE (thread_id, thread_job_number)
);
CREATE INDEX IF NOT EXISTS review_jobs_of_account ON review_jobs (account_id, number);
"""

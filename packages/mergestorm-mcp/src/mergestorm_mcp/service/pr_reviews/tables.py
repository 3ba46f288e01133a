"""Tables of reviews. A pass's number is what GitHub would call the review's id."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS passes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repo_id INTEGER NOT NULL,
    pull_number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('core', 'seam')),
    number INTEGER NOT NULL,
    head_sha TEXT NOT NULL,
    diff_id TEXT,
    status TEXT NOT NULL,
    phase TEXT,
    verdict TEXT,
    summary TEXT,
    skip_reason TEXT,
    queued_at TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    UNIQUE (repo_id, pull_number, kind, number)
) STRICT;
CREATE INDEX IF NOT EXISTS passes_of_head ON passes (repo_id, pull_number, head_sha);

CREATE TABLE IF NOT EXISTS findings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pass_id INTEGER NOT NULL REFERENCES passes (id) ON DELETE CASCADE,
    finding_id TEXT NOT NULL,
    finding_key TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('error', 'warning', 'info')),
    path TEXT,
    line INTEGER,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    specialist TEXT NOT NULL,
    UNIQUE (pass_id, finding_id)
) STRICT;

CREATE TABLE IF NOT EXISTS dismissals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pass_id INTEGER NOT NULL REFERENCES passes (id) ON DELETE CASCADE,
    finding_id TEXT NOT NULL,
    repo_id INTEGER NOT NULL,
    pull_number INTEGER NOT NULL,
    finding_key TEXT NOT NULL,
    diff_id TEXT,
    head_sha TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    actor_login TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence_url TEXT,
    scope TEXT NOT NULL,
    dismissed_at TEXT NOT NULL,
    UNIQUE (pass_id, finding_id)
) STRICT;
CREATE INDEX IF NOT EXISTS dismissals_of_diff ON dismissals (repo_id, pull_number, diff_id);
"""

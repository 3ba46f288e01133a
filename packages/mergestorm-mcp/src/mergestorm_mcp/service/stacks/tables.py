"""Tables of stacks. Times are texts as `pace.iso` writes them; switches are 0, 1, or null for "not pinned"."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS stacks (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL,
    repo_id INTEGER NOT NULL,
    trunk_branch TEXT NOT NULL,
    created_at TEXT NOT NULL,
    archived_at TEXT,
    landed_at TEXT,
    auto_land INTEGER NOT NULL,
    auto_review INTEGER,
    auto_patch INTEGER,
    auto_resolve INTEGER,
    auto_fix_ci INTEGER,
    land_off_reason TEXT,
    land_off_entry TEXT,
    land_off_at TEXT,
    settle_action TEXT,
    settle_pull INTEGER,
    settle_head TEXT,
    settle_started_at TEXT,
    settle_seconds REAL,
    wait_reason TEXT,
    wait_pull INTEGER,
    wait_head TEXT,
    wait_since TEXT,
    wait_attempts INTEGER,
    wait_detail TEXT,
    revision INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS stacks_of_account ON stacks (account_id);
CREATE INDEX IF NOT EXISTS stacks_of_repository ON stacks (repo_id);

CREATE TABLE IF NOT EXISTS layers (
    stack_id TEXT NOT NULL REFERENCES stacks (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    pull_number INTEGER NOT NULL,
    branch TEXT NOT NULL,
    freeze_branch TEXT,
    seen_head TEXT,
    last_restacked_sha TEXT,
    restack_kind TEXT,
    restack_detail TEXT,
    restack_head TEXT,
    restack_at TEXT,
    restack_attempts INTEGER NOT NULL DEFAULT 0,
    restack_from_branch TEXT,
    restack_from_sha TEXT,
    PRIMARY KEY (stack_id, pull_number)
) STRICT;
CREATE INDEX IF NOT EXISTS layers_of_pull ON layers (pull_number);

CREATE TABLE IF NOT EXISTS units (
    id TEXT PRIMARY KEY,
    stack_id TEXT NOT NULL UNIQUE REFERENCES stacks (id) ON DELETE CASCADE,
    repo_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    branch TEXT NOT NULL,
    land_target TEXT NOT NULL,
    state TEXT NOT NULL,
    land_pull INTEGER,
    UNIQUE (repo_id, number)
) STRICT;

CREATE TABLE IF NOT EXISTS members (
    unit_id TEXT NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    pull_number INTEGER NOT NULL,
    seam_state TEXT NOT NULL DEFAULT 'none',
    seam_reviewed_sha TEXT,
    seam_pass INTEGER,
    promoted_head TEXT,
    promoted_at TEXT,
    PRIMARY KEY (unit_id, pull_number)
) STRICT;

CREATE TABLE IF NOT EXISTS queue_entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    stack_id TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    repo_id INTEGER NOT NULL,
    pull_number INTEGER NOT NULL,
    state TEXT NOT NULL,
    wait_reason TEXT,
    bounce_reason TEXT,
    bounce_json TEXT,
    enqueued_by TEXT NOT NULL,
    enqueued_via TEXT NOT NULL,
    enqueued_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    landed_json TEXT NOT NULL DEFAULT '[]',
    verify_head TEXT,
    verify_base TEXT,
    cancel_requested_at TEXT,
    claimed_at TEXT,
    finished_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS entries_of_stack ON queue_entries (stack_id);
CREATE INDEX IF NOT EXISTS entries_of_repository ON queue_entries (repo_id, state);
CREATE UNIQUE INDEX IF NOT EXISTS one_live_entry ON queue_entries (stack_id)
    WHERE state IN ('queued', 'running', 'waiting');

CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    account_id INTEGER,
    stack_id TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_of_stack ON events (stack_id, number);
"""

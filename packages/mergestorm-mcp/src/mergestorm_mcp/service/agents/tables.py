"""Tables of the agents: their scripts for a repository, the heads they have seen, and what Cyclone did."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS agent_scripts (
    repo_id INTEGER PRIMARY KEY,
    script_json TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS agent_progress (
    repo_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (repo_id, key)
) STRICT;

CREATE TABLE IF NOT EXISTS seen_heads (
    repo_id INTEGER NOT NULL,
    branch TEXT NOT NULL,
    sha TEXT NOT NULL,
    PRIMARY KEY (repo_id, branch)
) STRICT;

CREATE TABLE IF NOT EXISTS cyclone_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repo_id INTEGER NOT NULL,
    pull_number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('findings', 'conflict', 'ci')),
    head_sha TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'patching', 'done', 'handed_off')),
    reason TEXT,
    pushed_sha TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    UNIQUE (repo_id, pull_number, kind, head_sha)
) STRICT;
"""

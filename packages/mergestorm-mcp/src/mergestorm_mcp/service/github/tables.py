"""Rows of the GitHub side. Times are ISO texts in UTC, identifiers of users are GitHub logins."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS repositories (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL COLLATE NOCASE,
    default_branch TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    private INTEGER NOT NULL DEFAULT 0,
    next_number INTEGER NOT NULL DEFAULT 1,
    UNIQUE (owner, name)
);
CREATE TABLE IF NOT EXISTS collaborators (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    login TEXT NOT NULL COLLATE NOCASE,
    permission TEXT NOT NULL CHECK (permission IN ('read', 'write', 'admin')),
    PRIMARY KEY (repo_id, login)
);
CREATE TABLE IF NOT EXISTS labels (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    name TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (repo_id, name)
);
CREATE TABLE IF NOT EXISTS apps (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    app TEXT NOT NULL CHECK (app IN ('surge', 'cyclone')),
    may_write INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (repo_id, app)
);
CREATE TABLE IF NOT EXISTS pulls (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    number INTEGER NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    head_branch TEXT NOT NULL,
    base_branch TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed', 'merged')),
    draft INTEGER NOT NULL DEFAULT 0,
    author_login TEXT NOT NULL,
    created_at TEXT NOT NULL,
    closed_at TEXT,
    merged_at TEXT,
    last_head TEXT,
    last_base TEXT,
    merge_sha TEXT,
    PRIMARY KEY (repo_id, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS one_open_pull ON pulls (repo_id, head_branch, base_branch) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS issues (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    number INTEGER NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    labels_json TEXT NOT NULL DEFAULT '[]',
    author_login TEXT NOT NULL,
    account_id INTEGER,
    created_at TEXT NOT NULL,
    PRIMARY KEY (repo_id, number)
);
CREATE TABLE IF NOT EXISTS checks (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    sha TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'success', 'failure', 'neutral')),
    started_at TEXT NOT NULL,
    completed_at TEXT,
    PRIMARY KEY (repo_id, sha, name)
);
CREATE TABLE IF NOT EXISTS pull_claims (
    repo_id INTEGER NOT NULL REFERENCES repositories (id),
    head_branch TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (repo_id, head_branch)
);
"""

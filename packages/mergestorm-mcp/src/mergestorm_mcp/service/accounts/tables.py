"""Tables of accounts: keys only as SHA-256, charges one per review job."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS accounts (
    id INTEGER PRIMARY KEY,
    login TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL,
    plan_key TEXT NOT NULL,
    plan_label_key TEXT NOT NULL,
    credits_limit INTEGER,
    bonus_credits INTEGER NOT NULL DEFAULT 0,
    cyclone_connected INTEGER NOT NULL DEFAULT 1,
    github_connected INTEGER NOT NULL DEFAULT 1,
    stacks_ready INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    hash TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT,
    revoked_at TEXT
);
CREATE TABLE IF NOT EXISTS charges (
    id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    job_id TEXT NOT NULL UNIQUE,
    standard INTEGER NOT NULL,
    bonus INTEGER NOT NULL,
    charged_at TEXT NOT NULL,
    refunded_at TEXT
);
CREATE TABLE IF NOT EXISTS device_logins (
    id INTEGER PRIMARY KEY,
    device_code_hash TEXT NOT NULL UNIQUE,
    user_code TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'redeemed')),
    account_id INTEGER REFERENCES accounts (id),
    interval_seconds REAL NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    last_polled_at TEXT
);
"""

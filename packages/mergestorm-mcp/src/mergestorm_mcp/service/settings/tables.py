"""Tables of settings: one JSON object each, holding what was set and nothing else."""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS account_settings (
    account_id INTEGER PRIMARY KEY REFERENCES accounts (id),
    values_json TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS repository_settings (
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    repo_id INTEGER NOT NULL,
    values_json TEXT NOT NULL,
    PRIMARY KEY (account_id, repo_id)
);
"""

"""The agents' script of each repository, and how far along its lists they are; kept in the database over restarts."""

from __future__ import annotations

import sqlite3

from mergestorm_mcp.service.agents.script import AgentScript

__all__ = ["count", "script_of", "set_script"]


def set_script(connection: sqlite3.Connection, repo_id: int, script: AgentScript) -> None:
    """Give a repository's agents their script; what they do from now on follows it."""
    connection.execute(
        "INSERT INTO agent_scripts (repo_id, script_json) VALUES (?, ?)"
        " ON CONFLICT (repo_id) DO UPDATE SET script_json = excluded.script_json",
        (repo_id, script.model_dump_json(by_alias=True)),
    )


def script_of(connection: sqlite3.Connection, repo_id: int) -> AgentScript:
    """A repository's script; one that finds and breaks nothing by itself where none was set."""
    row = connection.execute("SELECT script_json FROM agent_scripts WHERE repo_id = ?", (repo_id,)).fetchone()
    return AgentScript() if row is None else AgentScript.model_validate_json(row["script_json"])


def count(connection: sqlite3.Connection, repo_id: int, key: str) -> int:
    """How often this was asked before, and count it: the place in a list that is worked through once."""
    row = connection.execute(
        "INSERT INTO agent_progress (repo_id, key, count) VALUES (?, ?, 1)"
        " ON CONFLICT (repo_id, key) DO UPDATE SET count = count + 1 RETURNING count",
        (repo_id, key),
    ).fetchone()
    return int(row["count"]) - 1

"""Stacks, layers, units and members as they are stored."""

from __future__ import annotations

import sqlite3
from typing import Final

from mergestorm_mcp.service.refusals import Refusal

__all__ = [
    "LIVE",
    "goes_on",
    "layers_of",
    "live_entry",
    "member_of",
    "members_of",
    "owned_stack",
    "stack_by_id",
    "stack_of_pull",
    "stacks_of",
    "unit_of",
]

LIVE: Final = ("queued", "running", "waiting")
"""States of a queue entry that is on its way."""

_LISTED: Final = 200


def stack_by_id(connection: sqlite3.Connection, stack_id: str) -> sqlite3.Row | None:
    """A stack, whoever owns it. Ids are compared without regard to letter case."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM stacks WHERE id = ?", (stack_id.strip().lower(),)
    ).fetchone()
    return row


def goes_on(stack: sqlite3.Row) -> bool:
    """Whether a stack is still worked on: it has not landed and is not archived."""
    return stack["archived_at"] is None and stack["landed_at"] is None


def owned_stack(connection: sqlite3.Connection, account_id: int, stack_id: str) -> sqlite3.Row:
    """An account's own stack; any other is not there.

    Raises:
        Refusal: 404 `stack_not_found`.
    """
    row = stack_by_id(connection, stack_id)
    if row is None or row["account_id"] != account_id:
        raise Refusal(404, "stack_not_found", "There is no such stack.")
    return row


def stack_of_pull(connection: sqlite3.Connection, repo_id: int, number: int) -> sqlite3.Row | None:
    """The stack a pull request belongs to, as a layer or as the land PR of its unit; one that goes on before any other."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT stacks.* FROM stacks WHERE repo_id = ? AND (id IN (SELECT stack_id FROM layers WHERE pull_number = ?)"
        " OR id IN (SELECT stack_id FROM units WHERE land_pull = ?))"
        " ORDER BY archived_at IS NOT NULL, landed_at IS NOT NULL, created_at DESC LIMIT 1",
        (repo_id, number, number),
    ).fetchone()
    return row


def stacks_of(connection: sqlite3.Connection, account_id: int) -> list[sqlite3.Row]:
    """An account's stacks, those that go on first, then the newest of those that are over."""
    rows = connection.execute(
        "SELECT * FROM stacks WHERE account_id = ? ORDER BY archived_at IS NOT NULL OR landed_at IS NOT NULL,"
        " created_at DESC, id LIMIT ?",
        (account_id, _LISTED),
    )
    return rows.fetchall()


def layers_of(connection: sqlite3.Connection, stack_id: str) -> list[sqlite3.Row]:
    """A stack's layers, bottom first."""
    return connection.execute(
        "SELECT * FROM layers WHERE stack_id = ? ORDER BY position", (stack_id,)
    ).fetchall()


def unit_of(connection: sqlite3.Connection, stack_id: str) -> sqlite3.Row | None:
    """A stack's review unit; a stack of one pull request has none."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM units WHERE stack_id = ?", (stack_id,)
    ).fetchone()
    return row


def members_of(connection: sqlite3.Connection, unit_id: str) -> dict[int, sqlite3.Row]:
    """A unit's members by pull request."""
    rows = connection.execute("SELECT * FROM members WHERE unit_id = ?", (unit_id,)).fetchall()
    return {row["pull_number"]: row for row in rows}


def member_of(connection: sqlite3.Connection, repo_id: int, number: int) -> sqlite3.Row | None:
    """A pull request's membership in the unit of a stack that goes on."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT members.* FROM members JOIN units ON units.id = members.unit_id JOIN stacks ON stacks.id = units.stack_id"
        " WHERE units.repo_id = ? AND members.pull_number = ? AND archived_at IS NULL AND landed_at IS NULL",
        (repo_id, number),
    ).fetchone()
    return row


def live_entry(connection: sqlite3.Connection, stack_id: str) -> sqlite3.Row | None:
    """A stack's queue entry that is on its way."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM queue_entries WHERE stack_id = ? AND state IN (?, ?, ?)", (stack_id, *LIVE)
    ).fetchone()
    return row

"""What happened, in one line each, for people who look on; and the number by which a watch sees that something did."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from mergestorm_mcp.service.pace import iso

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["record", "touched"]

_KEPT: Final = 5000
_MAX_TEXT: Final = 500


def record(
    world: World,
    connection: sqlite3.Connection,
    kind: str,
    text: str,
    *,
    stack_id: str | None = None,
    account_id: int | None = None,
) -> None:
    """Append an event; the oldest beyond some thousands are forgotten.

    Args:
        world: gives the time.
        connection: of the write it belongs to.
        kind: one word.
        text: one line, without anything secret.
        stack_id: the stack it is about, which is touched by it.
        account_id: whose it is, where there is no stack.
    """
    if stack_id is not None:
        touched(connection, stack_id)
        row = connection.execute("SELECT account_id FROM stacks WHERE id = ?", (stack_id,)).fetchone()
        account_id = row["account_id"] if row is not None else account_id
    line = " ".join(text.split())[:_MAX_TEXT]
    number = connection.execute(
        "INSERT INTO events (at, account_id, stack_id, kind, text) VALUES (?, ?, ?, ?, ?)",
        (iso(world.pace.now()), account_id, stack_id, kind, line),
    ).lastrowid
    connection.execute("DELETE FROM events WHERE number <= ?", ((number or 0) - _KEPT,))


def touched(connection: sqlite3.Connection, stack_id: str) -> None:
    """Note that a stack changed, so that a watch that waits for it looks again."""
    connection.execute("UPDATE stacks SET revision = revision + 1 WHERE id = ?", (stack_id,))

"""What is due later: reviews that finish, checks that turn green, queues that move on.

An event is a row. Its handler runs in the transaction that marks the row done, so that it takes effect exactly once
even if the process is killed in between. A handler that fails is tried again a few times and then given up, with the
reason in its row: one bad event must not hold up the others.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from mergestorm_mcp.service.pace import iso, parse_iso

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["SCHEMA", "Handler", "Timeline", "cancel", "schedule"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS timeline (
    id INTEGER PRIMARY KEY,
    due_at TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload_json TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    done_at TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    failure TEXT
);
CREATE INDEX IF NOT EXISTS timeline_due ON timeline (due_at, id) WHERE done_at IS NULL;
"""

Handler = Callable[["World", sqlite3.Connection, dict[str, Any]], object]

_LOG = logging.getLogger("mergestorm_mcp.service")
_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 1.0
_LONGEST_SLEEP: Final = 30.0
"""The loop looks again at least so often: the machine's clock may have been set."""


def schedule(connection: sqlite3.Connection, kind: str, payload: Mapping[str, Any], due: datetime) -> int:
    """Put an event on the timeline, in the caller's transaction.

    Args:
        connection: of a `Store.write`.
        kind: which handler it is for.
        payload: what the handler gets, plain JSON.
        due: when.

    Returns:
        The event's id.
    """
    row = connection.execute(
        "INSERT INTO timeline (due_at, kind, payload_json) VALUES (?, ?, ?)",
        (iso(due), kind, json.dumps(payload)),
    )
    assert row.lastrowid is not None  # noqa: S101 - always set after an INSERT
    return row.lastrowid


def cancel(connection: sqlite3.Connection, event: int, now: datetime) -> bool:
    """Take an event back; says whether it was still due."""
    row = connection.execute(
        "UPDATE timeline SET done_at = ?, failure = 'cancelled' WHERE id = ? AND done_at IS NULL",
        (iso(now), event),
    )
    return row.rowcount > 0


class Timeline:
    """The handlers, and the loop that calls them."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def register(self, kind: str, handler: Handler) -> None:
        """Say who handles events of a kind.

        Raises:
            ValueError: somebody does already.
        """
        if kind in self._handlers:
            raise ValueError(f"the kind {kind!r} has a handler")
        self._handlers[kind] = handler

    def next_due(self, world: World) -> datetime | None:
        """When the next event is due, None if nothing is."""
        with world.store.read() as connection:
            row = connection.execute(
                "SELECT min(due_at) AS due FROM timeline WHERE done_at IS NULL"
            ).fetchone()
        return parse_iso(row["due"]) if row["due"] is not None else None

    def run_due(self, world: World, limit: int = 1000) -> int:
        """Handle what is due now, in order, including what handlers add that is due at once.

        Args:
            world: what handlers act on.
            limit: how many at most.

        Returns:
            How many events were handled.
        """
        handled = 0
        while handled < limit and self._run_one(world):
            handled += 1
        return handled

    async def run(self, world: World) -> None:
        """Handle events as they come due, until cancelled or the service stops."""
        while not world.changes.closed:
            version = world.changes.version
            await anyio.to_thread.run_sync(self.run_due, world)
            due = await anyio.to_thread.run_sync(self.next_due, world)
            sleep = _LONGEST_SLEEP
            if due is not None:
                # A millisecond more: due times are cut to milliseconds, and an early look would be one too many.
                sleep = min(sleep, (due - world.pace.now()).total_seconds() + 0.001)
            if sleep > 0:
                await world.changes.wait(version, sleep)
            else:
                await asyncio.sleep(0)

    def _run_one(self, world: World) -> bool:
        now = world.pace.now()
        with world.store.read() as connection:
            event = connection.execute(
                "SELECT id FROM timeline WHERE done_at IS NULL AND due_at <= ? ORDER BY due_at, id LIMIT 1",
                (iso(now),),
            ).fetchone()
        if event is None:
            return False
        try:
            self._handle(world, event["id"], now)
        except Exception as error:  # noqa: BLE001 - one bad event must not hold up the others
            _LOG.exception("an event of the timeline failed")
            self._postpone(world, event["id"], error)
        return True

    def _handle(self, world: World, event: int, now: datetime) -> None:
        with world.store.write() as connection:
            row = connection.execute(
                "SELECT * FROM timeline WHERE id = ? AND done_at IS NULL", (event,)
            ).fetchone()
            if row is None:  # taken back since it was looked up
                return
            handler = self._handlers.get(row["kind"])
            if handler is None:
                raise LookupError(f"nobody handles events of kind {row['kind']!r}")
            connection.execute("UPDATE timeline SET done_at = ? WHERE id = ?", (iso(now), event))
            handler(world, connection, json.loads(row["payload_json"]))

    @staticmethod
    def _postpone(world: World, event: int, error: Exception) -> None:
        now = world.pace.now()
        words = f"{type(error).__name__}: {error}"[:500]
        with world.store.write() as connection:
            attempts = connection.execute(
                "UPDATE timeline SET attempts = attempts + 1, failure = ? WHERE id = ? RETURNING attempts",
                (words, event),
            ).fetchone()["attempts"]
            if attempts >= _ATTEMPTS:
                connection.execute("UPDATE timeline SET done_at = ? WHERE id = ?", (iso(now), event))
            else:
                due = now + timedelta(seconds=_PAUSE_SECONDS * 2 ** (attempts - 1))
                connection.execute("UPDATE timeline SET due_at = ? WHERE id = ?", (iso(due), event))

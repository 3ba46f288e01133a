"""Trouble on request: what scenarios turn so that a client meets outages, rate limits, slowness and lost answers.

A knob is a row, so that it survives a restart with its count. It applies to requests whose method and path it matches
(`*` for any run of characters), a number of times or until a moment; the oldest that matches and says no wins, the
latencies of all that match add up.

    outage        503, or another status, with or without Retry-After
    rate_limit    429 with Retry-After, in the body only, or without any
    latency       the answer comes later
    lost_answer   the work is done and the connection ends before the answer has arrived
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

__all__ = ["SCHEMA", "Kind", "Trouble", "clear", "dial", "meet", "set_dial", "turn"]

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS knobs (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('outage', 'rate_limit', 'latency', 'lost_answer')),
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    remaining INTEGER,
    until_at TEXT,
    status INTEGER NOT NULL,
    retry_after_seconds REAL,
    retry_after_header INTEGER NOT NULL DEFAULT 1,
    latency_seconds REAL NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS dials (
    name TEXT PRIMARY KEY,
    value_json TEXT NOT NULL
);
"""

Kind = Literal["outage", "rate_limit", "latency", "lost_answer"]

_LONGEST_LATENCY: Final = 60.0
_STATUS: Final = {"outage": 503, "rate_limit": 429, "latency": 0, "lost_answer": 0}
_WORDS: Final = {
    "outage": ("service_unavailable", "The service is out of order for the moment."),
    "rate_limit": ("rate_limited", "Too many requests."),
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is to happen to one request.

    Attributes:
        refusal: what it is answered with instead.
        latency_seconds: how long the answer is held back.
        lose_answer: whether the answer is to be lost on the way.
    """

    refusal: Refusal | None = None
    latency_seconds: float = 0.0
    lose_answer: bool = False


def turn(
    world: World,
    connection: sqlite3.Connection,
    kind: Kind,
    *,
    method: str = "*",
    path: str = "/api/*",
    times: int | None = None,
    seconds: float | None = None,
    status: int | None = None,
    retry_after_seconds: float | None = None,
    retry_after_header: bool = True,
    latency_seconds: float = 0.0,
) -> int:
    """Make trouble; returns the knob's id.

    Args:
        world: the service.
        connection: of a write.
        kind: which trouble.
        method: HTTP method, `*` for any.
        path: path with `*` for any run of characters.
        times: for how many requests; until cleared by default.
        seconds: for how long, in real life; shortened by the scale.
        status: HTTP status of an outage, 500 to 599.
        retry_after_seconds: what the refusal says about asking again.
        retry_after_header: whether the header says it too, or the body only.
        latency_seconds: how long an answer is held back, as it is, whatever the scale.
    """
    row = connection.execute(
        "INSERT INTO knobs (kind, method, path, remaining, until_at, status, retry_after_seconds, retry_after_header, "
        "latency_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            kind,
            method.upper(),
            path,
            times,
            None if seconds is None else iso(world.pace.after(seconds)),
            status if status is not None else _STATUS[kind],
            retry_after_seconds,
            retry_after_header,
            min(max(latency_seconds, 0.0), _LONGEST_LATENCY),
        ),
    )
    assert row.lastrowid is not None  # noqa: S101 - always set after an INSERT
    return row.lastrowid


def clear(connection: sqlite3.Connection) -> None:
    """End all trouble."""
    connection.execute("DELETE FROM knobs")


def meet(world: World, method: str, path: str) -> Trouble:
    """What happens to a request, counted where knobs count."""
    with world.store.read() as connection:
        if not _matching(world, connection, method, path):
            return Trouble()
    with world.store.write() as connection:
        knobs = _matching(world, connection, method, path)
        refusing = next((knob for knob in knobs if knob["kind"] in _WORDS), None)
        if refusing is not None:  # what is refused has no answer to lose, and keeps the counts of the others
            knobs = [knob for knob in knobs if knob is refusing or knob["kind"] == "latency"]
        for knob in knobs:
            connection.execute(
                "UPDATE knobs SET remaining = remaining - 1 WHERE id = ? AND remaining IS NOT NULL",
                (knob["id"],),
            )
    return Trouble(
        refusal=None if refusing is None else _refusal(refusing),
        latency_seconds=min(sum(knob["latency_seconds"] for knob in knobs), _LONGEST_LATENCY),
        lose_answer=any(knob["kind"] == "lost_answer" for knob in knobs),
    )


def dial(connection: sqlite3.Connection, name: str, default: Any) -> Any:
    """A value that a scenario set, for instance how long a review takes."""
    row = connection.execute("SELECT value_json FROM dials WHERE name = ?", (name,)).fetchone()
    return default if row is None else json.loads(row["value_json"])


def set_dial(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Set a value."""
    connection.execute(
        "INSERT INTO dials (name, value_json) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value_json = excluded.value_json",
        (name, json.dumps(value)),
    )


def _matching(world: World, connection: sqlite3.Connection, method: str, path: str) -> list[sqlite3.Row]:
    now = iso(world.pace.now())
    rows = connection.execute(
        "SELECT * FROM knobs WHERE (remaining IS NULL OR remaining > 0) AND (until_at IS NULL OR until_at > ?) "
        "ORDER BY id",
        (now,),
    ).fetchall()
    return [row for row in rows if row["method"] in {"*", method} and fnmatchcase(path, row["path"])]


def _refusal(knob: sqlite3.Row) -> Refusal:
    code, words = _WORDS[knob["kind"]]
    return Refusal(
        knob["status"],
        code,
        words,
        retry_after_seconds=knob["retry_after_seconds"],
        retry_after_in_header=bool(knob["retry_after_header"]),
    )

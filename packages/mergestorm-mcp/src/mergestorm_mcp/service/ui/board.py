"""What the page shows, as one JSON document: stacks, other pull requests, the queue, the newest events.

The page belongs to whoever runs the service, so it shows every account's. All texts of users go out as they are; the page
puts them on the screen as text.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.github.access import reading_github
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.stacks.live import live_stack
from mergestorm_mcp.service.stacks.queue import entry_view
from mergestorm_mcp.service.stacks.records import LIVE, stack_by_id
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.ui.pulls_shown import other_pulls
from mergestorm_mcp.service.ui.stacks_shown import stack_shown
from mergestorm_mcp.service.ui.words import plain
from mergestorm_mcp.service.world import World

__all__ = ["board"]

_STACKS: Final = 50
_FINISHED: Final = 10
_EVENTS: Final = 60
_LOGINS: Final = 10


def board(world: World) -> dict[str, Any]:
    """Everything on the page at this moment.

    Returns:
        The document; its member `seen` differs from that of another document exactly when the rest does.

    Raises:
        Refusal: 503 while a repository cannot be read.
    """
    with world.store.read() as connection, reading_github():
        sites = {
            found.id: Site.of(world, connection, found.id) for found in world.hub.repositories(connection)
        }
        shown: dict[str, Any] = {
            "title": knobs.dial(connection, "scenario", None),
            "logins": _logins(world, connection),
            "stacks": [
                stack_shown(sites[row["repo_id"]], live_stack(sites[row["repo_id"]], row))
                for row in _stacks(connection)
            ],
            "pulls": [pull for site in sites.values() for pull in other_pulls(site)],
            "queue": _queue(sites, connection),
            "events": _events(sites, connection),
        }
    shown["seen"] = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:24]
    return shown


def _events(sites: dict[int, Site], connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The newest events, newest first; with their repository where there is more than one."""
    rows = connection.execute("SELECT * FROM events ORDER BY number DESC LIMIT ?", (_EVENTS,)).fetchall()
    return [
        {
            "number": row["number"],
            "at": row["at"],
            "kind": plain(row["kind"]),
            "text": row["text"],
            "repository": _repository_of(sites, connection, row["stack_id"]) if len(sites) > 1 else None,
        }
        for row in rows
    ]


def _stacks(connection: sqlite3.Connection) -> Iterable[sqlite3.Row]:
    return connection.execute(
        "SELECT * FROM stacks ORDER BY archived_at IS NOT NULL OR landed_at IS NOT NULL, created_at DESC, id LIMIT ?",
        (_STACKS,),
    ).fetchall()


def _logins(world: World, connection: sqlite3.Connection) -> list[dict[str, Any]]:
    rows = connection.execute(
        "SELECT user_code, created_at FROM device_logins WHERE state = 'pending' AND expires_at > ?"
        " ORDER BY created_at DESC LIMIT ?",
        (iso(world.pace.now()), _LOGINS),
    ).fetchall()
    return [{"code": row["user_code"], "at": row["created_at"]} for row in rows]


def _queue(sites: dict[int, Site], connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """What is on its way, in its order, then what ended last."""
    live = connection.execute(
        "SELECT * FROM queue_entries WHERE state IN (?, ?, ?) ORDER BY repo_id, number LIMIT 200", LIVE
    ).fetchall()
    ended = connection.execute(
        "SELECT * FROM queue_entries WHERE state NOT IN (?, ?, ?) ORDER BY finished_at DESC, number DESC LIMIT ?",
        (*LIVE, _FINISHED),
    ).fetchall()
    return [_entry(sites[row["repo_id"]], row) for row in (*live, *ended)]


def _entry(site: Site, row: sqlite3.Row) -> dict[str, Any]:
    repository = site.repository
    view = entry_view(site.connection, row, (repository.owner, repository.name))
    if row["state"] == "landed":
        detail = "landed " + ", ".join(f"#{number}" for number in view["landedPrNumbers"])
    elif row["cancel_requested_at"] is not None and row["state"] in LIVE:
        detail = "is being taken out"
    else:
        detail = view["bounceReason"] or plain(view["waitReason"] or "")
    return {
        "id": row["id"],
        "repository": repository.full_name,
        "number": row["pull_number"],
        "place": view["position"] if row["state"] in LIVE else None,
        "state": row["state"],
        "detail": detail,
        "at": row["finished_at"] or row["claimed_at"] or row["enqueued_at"],
    }


def _repository_of(
    sites: dict[int, Site], connection: sqlite3.Connection, stack_id: str | None
) -> str | None:
    stack = stack_by_id(connection, stack_id) if stack_id is not None else None
    return sites[stack["repo_id"]].repository.full_name if stack is not None else None

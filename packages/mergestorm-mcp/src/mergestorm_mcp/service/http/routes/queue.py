"""The merge queue: reading it, also held until it changes, and taking an entry out."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.agents.reactions import advance
from mergestorm_mcp.service.github.access import reading_github, require_write
from mergestorm_mcp.service.http.bodies import Digits, Query
from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.queue import cancel, entry_view, fingerprint, listing, newest_landed
from mergestorm_mcp.service.stacks.records import stack_by_id
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["LONGEST_WAIT", "routes"]

LONGEST_WAIT: Final = 45
"""Seconds a read is held at most."""


class _QueueQuery(Query):
    stackId: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None  # noqa: N815 - names of the wire
    wait: Annotated[int, Field(ge=1, le=LONGEST_WAIT), Digits] | None = None
    seen: Annotated[str, StringConstraints(max_length=200)] | None = None
    landed: Literal["1"] | None = None


def routes() -> list[Route]:
    """The queue."""
    return [
        endpoint("GET", "/api/v1/stacks/queue", _read, query=_QueueQuery),
        endpoint("POST", "/api/v1/stacks/queue/{entryId}/cancel", _cancel),
    ]


async def _read(call: Call) -> dict[str, Any]:
    """Answer at once, unless the caller has seen this state and wants to wait for another."""
    changes = call.world.changes
    deadline = time.monotonic() + min(call.query.wait or 0, LONGEST_WAIT)
    while True:
        version = changes.version
        view = await call.in_thread(_view, call)
        left = deadline - time.monotonic()
        if not call.query.seen or view["fingerprint"] != call.query.seen or left <= 0 or changes.closed:
            return view
        await changes.wait(version, left)


def _view(call: Call) -> dict[str, Any]:
    query, account = call.query, call.caller.account_id
    with call.world.store.read() as connection:
        names = {found.id: (found.owner, found.name) for found in call.world.hub.repositories(connection)}
        entries = listing(names, connection, account, query.stackId)
        row = stack_by_id(connection, query.stackId) if query.stackId is not None else None
        own = row is not None and row["account_id"] == account
        view: dict[str, Any] = {
            "entries": entries,
            "fingerprint": fingerprint(entries, row["revision"] if row is not None and own else None),
        }
        if query.landed:
            view["landed"] = (
                newest_landed(names, connection, account, query.stackId)
                if query.stackId is not None
                else None
            )
        return view


def _cancel(call: Call) -> dict[str, Any]:
    with call.world.store.write() as connection, reading_github():
        entry = connection.execute(
            "SELECT * FROM queue_entries WHERE id = ? AND account_id = ?",
            (call.part("entryId").strip().lower(), call.caller.account_id),
        ).fetchone()
        if entry is None:
            raise Refusal(404, "entry_not_found", "There is no such entry in the queue.")
        site = Site.of(call.world, connection, entry["repo_id"])
        require_write(call.world, connection, call.caller, site.repository)
        changed = cancel(site, entry)
        advance(site, entry["stack_id"])
        name = (site.repository.owner, site.repository.name)
        return {"cancelRequested": True, "entry": entry_view(connection, changed, name)}

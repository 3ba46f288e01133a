"""Archiving: a person takes a stack back, and nothing is done to it any more."""

from __future__ import annotations

import sqlite3

from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.policy import disarm
from mergestorm_mcp.service.stacks.queue import cancel, forget_later
from mergestorm_mcp.service.stacks.records import goes_on, live_entry
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["archive"]


def archive(site: Site, stack: sqlite3.Row) -> None:
    """Archive a stack that goes on: out of the queue, Auto land off. Its pull requests and branches stay as they are.

    An entry that is being merged at this moment still ends as it ends.
    """
    if not goes_on(stack):
        return
    entry = live_entry(site.connection, stack["id"])
    if entry is not None:
        cancel(site, entry)
    disarm(site, stack["id"], "archive")
    site.connection.execute("UPDATE stacks SET archived_at = ? WHERE id = ?", (site.now(), stack["id"]))
    forget_later(site, stack["id"])
    record(site.world, site.connection, "archived", "Stack archived", stack_id=stack["id"])

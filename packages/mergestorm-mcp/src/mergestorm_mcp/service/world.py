"""Everything a request or an event acts on, in one place."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from mergestorm_mcp.service.changes import Changes
from mergestorm_mcp.service.github.hub import Hub
from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.store import Store
from mergestorm_mcp.service.timeline import Timeline

__all__ = ["World"]


@dataclass(slots=True)
class World:
    """One service.

    Domain functions are plain functions `f(world, connection, ...)` and run on worker threads.

    Attributes:
        store: the database.
        pace: the time.
        timeline: what is due later.
        changes: who waits for news.
        hub: what stands for GitHub; its repositories are below `hub.root`.
        base_url: address of the service, without a trailing slash; known once it listens.
        run_token: what approvals and other writes from a page must show. New in every run, never stored.
    """

    store: Store
    pace: Pace
    timeline: Timeline
    changes: Changes
    hub: Hub
    base_url: str = ""
    run_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

"""Puts a service together: store, tables, the GitHub side, handlers of events."""

from __future__ import annotations

import os
from pathlib import Path

from mergestorm_mcp.service.agents import reactions
from mergestorm_mcp.service.changes import Changes
from mergestorm_mcp.service.data_folder import DATABASE
from mergestorm_mcp.service.github.hub import Hub
from mergestorm_mcp.service.local_reviews import reviewer
from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.schema import SCHEMAS, VERSION
from mergestorm_mcp.service.store import Store
from mergestorm_mcp.service.timeline import Timeline
from mergestorm_mcp.service.world import World

__all__ = ["build"]

_ROOMS_WITH_EVENTS = (reviewer, reactions)
"""Each has `register_events(timeline)`."""


def build(data: str | os.PathLike[str], pace: Pace | None = None) -> World:
    """A service that keeps its state in a folder, new or as it was left.

    Args:
        data: the folder; made if it is not there.
        pace: the time; the real one by default.

    Raises:
        StoreError: the folder holds something else.
        OSError: the folder cannot be made.
    """
    root = Path(data).absolute()
    repositories = root / "repositories"
    for folder in (root, repositories):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    changes = Changes()
    store = Store(root / DATABASE, on_commit=changes.notify)
    try:
        store.create(SCHEMAS, version=VERSION)
    except BaseException:
        store.close()
        raise
    timeline = Timeline()
    for room in _ROOMS_WITH_EVENTS:
        room.register_events(timeline)
    return World(store, pace or Pace(), timeline, changes, Hub(repositories))

"""Puts a service together: store, tables, handlers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mergestorm_mcp.service.agents.reactions import register_handlers
from mergestorm_mcp.service.changes import Changes
from mergestorm_mcp.service.github.hub import Hub
from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.schema import SCHEMAS, VERSION
from mergestorm_mcp.service.store import Store
from mergestorm_mcp.service.timeline import Timeline
from mergestorm_mcp.service.world import World

__all__ = ["build"]


def build(data: str | os.PathLike[str], pace: Pace | None = None) -> World:
    """A service that keeps its state in a folder, new or as it was left.

    Args:
        data: the folder; made if it is not there.
        pace: the time; the real one by default.

    Raises:
        StoreError: the folder holds something else.
        OSError: the folder cannot be made.
    """
    root = os.path.abspath(data)
    repositories = os.path.join(root, "repositories")
    os.makedirs(root, mode=0o700, exist_ok=True)
    os.makedirs(repositories, mode=0o700, exist_ok=True)
    changes = Changes()
    store = Store(os.path.join(root, "mergestorm.sqlite"), on_commit=changes.notify)
    try:
        store.create(SCHEMAS, version=VERSION)
    except BaseException:
        store.close()
        raise
    timeline = Timeline()
    world = World(store, pace or Pace(), timeline, changes, repositories, Hub(Path(repositories)))
    for register in _handlers():
        register(timeline)
    return world


def _handlers() -> list[Callable[[Timeline], object]]:
    return [register_handlers]

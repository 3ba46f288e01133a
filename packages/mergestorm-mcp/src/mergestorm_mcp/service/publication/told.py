"""How a publication's pull request and stack are told, in both answers."""

from __future__ import annotations

import sqlite3
from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.hub import GitHubRepository, Pull
from mergestorm_mcp.service.stacks.records import stack_of_pull
from mergestorm_mcp.service.world import World

__all__ = ["told_pull", "told_stack"]


def told_pull(world: World, repository: GitHubRepository, pull: Pull) -> dict[str, Any]:
    """A pull request."""
    return {
        "number": pull.number,
        "url": world.hub.pull_url(repository, pull.number),
        "draft": pull.draft,
    }


def told_stack(connection: sqlite3.Connection, caller: Caller, pull: Pull) -> dict[str, Any] | None:
    """The caller's stack that holds a pull request, with its switches; null is a switch that is not pinned."""
    stack = stack_of_pull(connection, pull.repo_id, pull.number)
    if stack is None or stack["account_id"] != caller.account_id:
        return None
    return {
        "id": stack["id"],
        "auto_patch": _switch(stack["auto_patch"]),
        "auto_land": bool(stack["auto_land"]),
        "auto_review": _switch(stack["auto_review"]),
    }


def _switch(value: int | None) -> bool | None:
    return None if value is None else bool(value)

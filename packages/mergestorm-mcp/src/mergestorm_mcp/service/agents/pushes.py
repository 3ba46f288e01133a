"""Notices what was pushed to the repositories with plain git, as GitHub tells its Apps of a push.

A clone of a repository may push to it by its path, and nobody calls the service then. So the branches are compared with
those last seen, every second. What the service moved itself is seen here too, and changes nothing the second time.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from mcpkit.git import GitError
from mergestorm_mcp.service.agents.reactions import on_head_changed

if TYPE_CHECKING:
    import sqlite3

    from mergestorm_mcp.service.github.hub import GitHubRepository
    from mergestorm_mcp.service.world import World

__all__ = ["SECONDS", "notice", "watch"]

SECONDS: Final = 1.0
"""Between two looks, whatever the scale: pushing takes people as long as ever."""

_LOG = logging.getLogger("mergestorm_mcp.service")


def notice(world: World) -> int:
    """Look once; says how many branches had moved, come or gone."""
    with world.store.read() as connection:
        moved = {
            repository: changed
            for repository in world.hub.repositories(connection)
            if (changed := _changed(world, connection, repository))
        }
    for repository, changed in moved.items():
        git = world.hub.git(repository)
        with world.store.write() as connection:
            for branch in changed:
                # Asked again, now that nothing else can write: the service itself may have moved it on meanwhile.
                sha = git.head(branch)
                _remember(connection, repository.id, branch, sha)
                on_head_changed(world, connection, repository.id, branch, sha)
    return sum(map(len, moved.values()))


async def watch(world: World) -> None:
    """Look until the service stops."""
    while not world.changes.closed:
        try:
            await anyio.to_thread.run_sync(notice, world)
        except GitError:  # a lock held, or the branch has moved on meanwhile; the next look finds it
            _LOG.info("the branches could not be compared this time")
        end = time.monotonic() + SECONDS
        while (left := end - time.monotonic()) > 0:
            if world.changes.closed:
                return
            await world.changes.wait(world.changes.version, left)


def _changed(world: World, connection: sqlite3.Connection, repository: GitHubRepository) -> list[str]:
    """The branches that stand elsewhere than when they were last seen, are new, or are gone."""
    rows = connection.execute("SELECT branch, sha FROM seen_heads WHERE repo_id = ?", (repository.id,))
    before = {row["branch"]: row["sha"] for row in rows}
    now = world.hub.git(repository).branches()
    return sorted(branch for branch in before.keys() | now.keys() if before.get(branch) != now.get(branch))


def _remember(connection: sqlite3.Connection, repo_id: int, branch: str, sha: str | None) -> None:
    if sha is None:
        connection.execute("DELETE FROM seen_heads WHERE repo_id = ? AND branch = ?", (repo_id, branch))
        return
    connection.execute(
        "INSERT INTO seen_heads (repo_id, branch, sha) VALUES (?, ?, ?)"
        " ON CONFLICT (repo_id, branch) DO UPDATE SET sha = excluded.sha",
        (repo_id, branch, sha),
    )

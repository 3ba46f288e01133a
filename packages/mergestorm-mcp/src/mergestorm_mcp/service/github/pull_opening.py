"""Pull requests opened for somebody by the Surge App, of branches that are on GitHub already."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.access import (
    reading_github,
    require_surge,
    require_write,
    visible_repository,
)
from mergestorm_mcp.service.github.hub import GitHubRepository, Pull
from mergestorm_mcp.service.github.people import SURGE_LOGIN
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal, invalid_input

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["find_pull", "open_pull"]


def find_pull(world: World, caller: Caller, owner: str, name: str, head: str) -> int | None:
    """Number of the open pull request of a branch; None if there is none.

    Raises:
        Refusal: 404 `not_found`; the codes of `require_surge`.
    """
    with world.store.read() as connection:
        repository = visible_repository(world, connection, caller, owner, name)
        require_surge(world, connection, caller, repository)
        pull = world.hub.find_open_pull(connection, repository.id, head)
    return pull.number if pull is not None else None


def open_pull(
    world: World, caller: Caller, owner: str, name: str, *, head: str, base: str, title: str, body: str
) -> dict[str, Any]:
    """Open a ready pull request, or find the one that is open.

    Returns:
        `number`, `url`, `created`.

    Raises:
        Refusal: 404 `not_found`, 403 `forbidden`, the codes of `require_surge`; 400 `invalid_input` for branches that are
            not there or the same, 400 `no_commits` where the base holds everything already.
    """
    if head == base:
        raise invalid_input("head and base are the same branch.")
    if not title.strip():
        raise invalid_input("title is blank.")
    with world.store.write() as connection, reading_github():
        repository = visible_repository(world, connection, caller, owner, name)
        require_write(world, connection, caller, repository)
        require_surge(world, connection, caller, repository)
        pull = world.hub.find_open_pull(connection, repository.id, head)
        made = pull is None
        if pull is None:
            _require_difference(world, repository, head, base)
            pull = _open(world, connection, repository, head=head, base=base, title=title, body=body)
    return {
        "number": pull.number,
        "url": world.hub.pull_url(repository, pull.number),
        "created": made,
    }


def _open(
    world: World,
    connection: sqlite3.Connection,
    repository: GitHubRepository,
    *,
    head: str,
    base: str,
    title: str,
    body: str,
) -> Pull:
    return world.hub.open_pull(
        connection,
        repository.id,
        title=title,
        body=body,
        head=head,
        base=base,
        author=SURGE_LOGIN,
        at=iso(world.pace.now()),
    )


def _require_difference(world: World, repository: GitHubRepository, head: str, base: str) -> None:
    git = world.hub.git(repository)
    tips = [git.branch_head(branch) for branch in (head, base)]
    if tips[0] is None or tips[1] is None:
        raise invalid_input("head or base is not a branch on GitHub.")
    if git.merge_base(tips[0], tips[1]) is None:
        raise Refusal(400, "unrelated_history", "head and base share no history.")
    if git.is_ancestor(tips[0], tips[1]):
        raise Refusal(400, "no_commits", "The base holds every commit of the head already.")

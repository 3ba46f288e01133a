"""How far the publication of a branch got (contract 5.6). Derived from the branch itself; changes nothing."""

from __future__ import annotations

from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.access import reading_github, visible_repository
from mergestorm_mcp.service.publication.check import check_branch_name
from mergestorm_mcp.service.publication.request import PublicationQuery
from mergestorm_mcp.service.publication.told import told_pull, told_stack
from mergestorm_mcp.service.world import World

__all__ = ["publication_status"]


def publication_status(world: World, caller: Caller, query: PublicationQuery) -> dict[str, Any]:
    """State, head, pull request and stack of a branch.

    `absent` is a branch that is not on GitHub, `pushed` one without a pull request, `opened` one whose pull request is in
    no stack of the caller, `registered` one that has all.

    Raises:
        Refusal: 404 `not_found`, 400 `invalid_input`, 503 `github_unreadable`.
    """
    check_branch_name(query.branch)
    with world.store.read() as connection, reading_github():
        repository = visible_repository(world, connection, caller, query.owner, query.repo)
        git = world.hub.git(repository)
        head = git.head(query.branch)
        pull = None
        if head is not None:
            pull = world.hub.find_open_pull(
                connection, repository.id, query.branch
            ) or world.hub.find_merged_pull(connection, repository.id, query.branch, head)
        stack = told_stack(connection, caller, pull) if pull is not None else None
        if head is None:
            state = "absent"
        elif pull is None:
            state = "pushed"
        else:
            state = "opened" if stack is None else "registered"
        return {
            "state": state,
            "owner": repository.owner,
            "repo": repository.name,
            "branch": query.branch,
            "head": {"sha": head, "tree": git.tree_of(head)} if head is not None else None,
            "pull": told_pull(world, repository, pull) if pull is not None else None,
            "stack": stack,
        }

"""One publication (contract 5.4 and 5.5): commits and branch, then the pull request, then the stack.

Objects are stored first, where nothing refers to them yet. Then, in one transaction of the database: the branch moves
from the commit that was looked at to the new one, or not at all; the pull request and the stack are made unless they are
there; the agents are told. If that transaction fails, the branch moves back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.git import GitError
from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.agents.reactions import on_head_changed
from mergestorm_mcp.service.github.access import (
    reading_github,
    require_surge,
    require_write,
    visible_repository,
)
from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.github.hub import GitHubRepository, Pull
from mergestorm_mcp.service.github.people import SURGE_LOGIN
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.publication.check import CheckedPublication, check
from mergestorm_mcp.service.publication.rebuild import Rebuilt, rebuild
from mergestorm_mcp.service.publication.request import PublishBody
from mergestorm_mcp.service.publication.standing import Standing, standing
from mergestorm_mcp.service.publication.told import told_pull, told_stack
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.policy import change_policy
from mergestorm_mcp.service.stacks.records import goes_on, layers_of, stack_of_pull
from mergestorm_mcp.service.stacks.registration import register
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.world import World

__all__ = ["publish"]

_MOVES: Final = frozenset({"absent", "behind", "replaceable"})


@dataclass(frozen=True, slots=True)
class _Work:
    """What one publication acts on."""

    world: World
    caller: Caller
    repository: GitHubRepository
    git: Bare
    publication: CheckedPublication

    @property
    def body(self) -> PublishBody:
        return self.publication.body


def publish(world: World, caller: Caller, body: PublishBody) -> dict[str, Any]:
    """Publish a branch, or go on where an earlier try ended.

    Raises:
        Refusal: by the codes of contract 5.7; nothing was written then.
    """
    publication = check(body)
    with world.store.read() as connection:
        repository = _admitted(world, connection, caller, body)
    with world.hub.claim(repository.id, body.branch) as mine, reading_github():
        if not mine:
            raise Refusal(
                503, "busy", "This branch is being published right now; try again.", retry_after_seconds=1
            )
        return _publish(_Work(world, caller, repository, world.hub.git(repository), publication))


def _admitted(
    world: World, connection: sqlite3.Connection, caller: Caller, body: PublishBody
) -> GitHubRepository:
    repository = visible_repository(world, connection, caller, body.owner, body.repo)
    require_write(world, connection, caller, repository)
    require_surge(world, connection, caller, repository)
    if body.branch == repository.default_branch:
        raise Refusal(400, "reserved_branch", "The trunk itself cannot be published.")
    return repository


def _publish(work: _Work) -> dict[str, Any]:
    body = work.body
    live = work.git.head(body.branch)
    base = _checked_base(work, live)
    rebuilt = rebuild(work.git, work.publication)
    with work.world.store.read() as connection:
        # A late repetition of what has landed must not publish it again.
        landed = work.world.hub.find_merged_pull(
            connection, work.repository.id, body.branch, rebuilt.head.oid
        )
        if landed is not None:
            return _answer(work, connection, rebuilt, landed)
        _check_stacks(work, connection)
    stand = standing(work.git, live, body.base_sha, rebuilt, body.replace_head)
    if stand == "changed":
        raise Refusal(
            409,
            "head_changed",
            "The branch on GitHub holds work that was not sent.",
            extra={"github_head": live, "local_head": body.head_sha},
        )
    if stand in _MOVES:
        _check_new(work, rebuilt, stand, base)
        work.git.store(rebuilt.objects)
    with _moved(work, live, rebuilt.head.oid if stand in _MOVES else None) as connection:
        _admitted(work.world, connection, work.caller, body)
        pull = work.world.hub.find_open_pull(connection, work.repository.id, body.branch)
        made_pull = pull is None
        if pull is None:
            pull = work.world.hub.open_pull(
                connection,
                work.repository.id,
                title=body.title,
                body=body.body,
                head=body.branch,
                base=body.base,
                author=SURGE_LOGIN,
                at=iso(work.world.pace.now()),
            )
        made_stack = _register(work, connection, pull)
        on_head_changed(work.world, connection, work.repository.id, body.branch, rebuilt.head.oid)
        created = {"branch": live is None, "pull": made_pull, "stack": made_stack}
        return _answer(work, connection, rebuilt, pull, created, resumed=live is not None)


def _checked_base(work: _Work, live: str | None) -> str:
    """Where the base stands; refuses one that the sent line does not begin at."""
    body = work.body
    base = work.git.head(body.base)
    if base is None:
        raise Refusal(400, "base_not_found", "There is no such base branch on GitHub.")
    if not work.git.has_commit(body.base_sha):
        raise Refusal(
            400,
            "base_not_found",
            "GitHub does not have the commit that the branch begins at; fetch the base.",
        )
    # An earlier publication may have begun at a commit that the base has dropped since.
    if not any(head and work.git.is_ancestor(body.base_sha, head) for head in (base, live)):
        raise Refusal(400, "unrelated_history", "The branch does not begin at a commit of its base.")
    return base


def _check_stacks(work: _Work, connection: sqlite3.Connection) -> None:
    """Refuse a base that would make a stack nobody asked for, and another account's stack."""
    body, hub, repository = work.body, work.world.hub, work.repository
    pull = hub.find_open_pull(connection, repository.id, body.branch)
    if pull is not None:
        stack = stack_of_pull(connection, repository.id, pull.number)
        if stack is not None and goes_on(stack) and stack["account_id"] != work.caller.account_id:
            raise Refusal(403, "forbidden", "The pull request belongs to the stack of another account.")
        return
    if body.base == repository.default_branch:
        return
    below = hub.find_open_pull(connection, repository.id, body.base)
    stack = stack_of_pull(connection, repository.id, below.number) if below is not None else None
    if stack is None or not goes_on(stack) or stack["account_id"] != work.caller.account_id:
        raise Refusal(
            409,
            "implicit_stack",
            "The base is neither the trunk nor a layer of one of your stacks; publish or adopt it first.",
        )
    if below is not None and below.number != layers_of(connection, stack["id"])[-1]["pull_number"]:
        raise Refusal(
            409, "implicit_stack", "The base has a layer above it already; name the top of the stack."
        )


def _check_new(work: _Work, rebuilt: Rebuilt, stand: Standing, base: str) -> None:
    """What GitHub would refuse of a branch that moves."""
    body = work.body
    if work.git.has_commit(rebuilt.head.oid) and work.git.is_ancestor(rebuilt.head.oid, base):
        raise Refusal(400, "no_commits", "The base holds every commit of the branch already.")
    if stand == "absent":
        taken = work.git.branches()
        if any(name.startswith(body.branch + "/") or body.branch.startswith(name + "/") for name in taken):
            raise Refusal(
                400, "invalid_input", "A branch is in the way whose name is the beginning of the other's."
            )


@contextmanager
def _moved(work: _Work, live: str | None, new: str | None) -> Iterator[sqlite3.Connection]:
    """A transaction in which the branch has moved, or stays where it was seen; a move is undone if it fails."""
    moved = False
    try:
        with work.world.store.write() as connection:
            if new is not None:
                work.git.move(work.body.branch, new, live)
                moved = True
            elif work.git.head(work.body.branch) != live:
                raise GitError("ref_changed")
            yield connection
    except BaseException:
        if moved:
            with suppress(GitError):  # the first failure is the one to tell
                work.git.move(work.body.branch, live, new)
        raise


def _register(work: _Work, connection: sqlite3.Connection, pull: Pull) -> bool:
    """Make sure that the pull request is in a stack that goes on; says whether that stack is new."""
    wanted = work.body.auto_land
    stack = stack_of_pull(connection, work.repository.id, pull.number)
    if stack is not None and goes_on(stack):
        if wanted is not None and wanted != bool(stack["auto_land"]):
            place = Site.of(work.world, connection, work.repository.id)
            change_policy(place, stack, {"autoEnqueueWhenReady": wanted})
        return False
    below = work.world.hub.find_open_pull(connection, work.repository.id, pull.base_branch)
    joined = stack_of_pull(connection, work.repository.id, below.number) if below is not None else None
    joins = joined is not None and goes_on(joined)
    register(
        work.world,
        connection,
        work.caller.account_id,
        work.repository.id,
        pull.number,
        auto_land=True if wanted is None and not joins else wanted,
        auto_patch=False,
    )
    return not joins


def _answer(
    work: _Work,
    connection: sqlite3.Connection,
    rebuilt: Rebuilt,
    pull: Pull,
    created: dict[str, bool] | None = None,
    *,
    resumed: bool = True,
) -> dict[str, Any]:
    stack = told_stack(connection, work.caller, pull)
    return {
        "state": "registered" if stack is not None else "opened",
        "created": created or {"branch": False, "pull": False, "stack": False},
        "resumed": resumed,
        "owner": work.repository.owner,
        "repo": work.repository.name,
        "branch": work.body.branch,
        "base": pull.base_branch,
        "head": {"sha": rebuilt.head.oid, "tree": rebuilt.head.tree},
        "commits": [
            {"local_sha": copy.local, "github_sha": copy.oid, "tree": copy.tree} for copy in rebuilt.copies
        ],
        "pull": told_pull(work.world, work.repository, pull),
        "stack": stack,
    }

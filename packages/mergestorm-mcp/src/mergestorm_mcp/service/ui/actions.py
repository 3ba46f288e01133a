"""What a person does on the page. Each is one write; a refusal leaves everything as it was.

Whoever holds the run token acts as the owner of whatever is touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from mergestorm_mcp.service.agents.reactions import on_pull_changed, rerun_checks, review_seam_again
from mergestorm_mcp.service.github.access import reading_github
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.refusals import Refusal, not_found
from mergestorm_mcp.service.stacks.archiving import archive
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.landing import land_next
from mergestorm_mcp.service.stacks.live import live_stack
from mergestorm_mcp.service.stacks.policy import change_policy
from mergestorm_mcp.service.stacks.records import goes_on, layers_of, stack_by_id, stack_of_pull
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.ui.seam import seam_rests
from mergestorm_mcp.service.world import World

__all__ = ["archive_stack", "close_pull", "continue_review", "land_pull", "rerun", "set_auto_land"]


def set_auto_land(world: World, stack_id: str, *, armed: bool) -> str:
    """Switch Auto land of a stack on or off.

    Returns:
        What was done, in a sentence.

    Raises:
        Refusal: 404 `stack_not_found`; 409 `stack_over`.
    """
    with _stack(world, stack_id) as (site, row):
        change_policy(site, row, {"autoEnqueueWhenReady": armed})
        for layer in layers_of(site.connection, row["id"]):
            on_pull_changed(world, site.connection, site.repo_id, layer["pull_number"])
    return f"Auto land is {'on' if armed else 'off'}."


def archive_stack(world: World, stack_id: str) -> str:
    """Take a stack back: out of the queue, and no agent acts for it any more.

    Raises:
        Refusal: 404 `stack_not_found`; 409 `stack_over`.
    """
    with _stack(world, stack_id) as (site, row):
        _require_going_on(row)
        archive(site, row)
    return "The stack is archived."


def land_pull(world: World, stack_id: str, number: int) -> str:
    """Merge the next pull request of a stack where it goes, without the queue.

    Raises:
        Refusal: 404 `stack_not_found`; 409 as `land_next`, and `stack_over`.
    """
    with _stack(world, stack_id) as (site, row):
        _require_going_on(row)
        land_next(site, row, number)
    return f"#{number} was merged."


def close_pull(world: World, repository: str, number: int) -> str:
    """Close a pull request without merging it, as its author does on GitHub.

    Raises:
        Refusal: 404 `not_found`; 409 `not_open`.
    """
    with _pull(world, repository, number) as (site, pull):
        connection = site.connection
        head = site.git.head(pull.head_branch)
        stack = stack_of_pull(connection, site.repo_id, number)
        site.hub.close_pull(connection, site.repo_id, number, at=site.now(), head=head)
        record(
            world,
            connection,
            "closed",
            f"#{number} was closed by a person",
            stack_id=stack["id"] if stack is not None else None,
        )
        on_pull_changed(world, connection, site.repo_id, number)
    return f"#{number} was closed."


def rerun(world: World, repository: str, number: int) -> str:
    """Run the checks of a pull request's head again.

    Raises:
        Refusal: 404 `not_found`; 409 `not_open`, `no_checks`, `checks_running`.
    """
    with _pull(world, repository, number) as (site, pull):
        head = site.git.head(pull.head_branch)
        checks = site.hub.checks(site.connection, site.repo_id, head) if head is not None else []
        if head is None or not checks:
            raise Refusal(409, "no_checks", f"#{number} has no checks at its head.")
        if any(check.status == "pending" for check in checks):
            raise Refusal(409, "checks_running", f"The checks of #{number} are running.")
        stack = stack_of_pull(site.connection, site.repo_id, number)
        record(
            world,
            site.connection,
            "ci",
            f"#{number}: a person runs the checks of {head[:7]} again",
            stack_id=stack["id"] if stack is not None else None,
        )
        rerun_checks(world, site.connection, site.repo_id, head)
    return f"The checks of #{number} run again."


def continue_review(world: World, stack_id: str, number: int) -> str:
    """Set a seam review going again that does not go on by itself.

    Raises:
        Refusal: 404 `stack_not_found` or `not_found`; 409 `seam_not_stuck` or `stack_over`.
    """
    with _stack(world, stack_id) as (site, row):
        stack = live_stack(site, row)
        layer = next((each for each in stack.layers if each.pull.number == number), None)
        if layer is None:
            raise not_found("The pull request")
        _require_going_on(row)
        if not seam_rests(site, stack, layer):
            raise Refusal(409, "seam_not_stuck", f"The seam review of #{number} goes on by itself.")
        record(
            world,
            site.connection,
            "vortex",
            f"#{number}: a person asked for the seam review again",
            stack_id=row["id"],
        )
        review_seam_again(world, site.connection, site.repo_id, number)
    return f"The seam of #{number} is reviewed again."


@contextmanager
def _stack(world: World, stack_id: str) -> Iterator[tuple[Site, sqlite3.Row]]:
    with world.store.write() as connection, reading_github():
        row = stack_by_id(connection, stack_id)
        if row is None:
            raise Refusal(404, "stack_not_found", "There is no such stack.")
        yield Site.of(world, connection, row["repo_id"]), row


def _require_going_on(row: sqlite3.Row) -> None:
    if not goes_on(row):
        raise Refusal(409, "stack_over", "The stack has landed or is archived.")


@contextmanager
def _pull(world: World, repository: str, number: int) -> Iterator[tuple[Site, Pull]]:
    owner, _, name = repository.partition("/")
    with world.store.write() as connection, reading_github():
        found = world.hub.find_repository(connection, owner, name)
        pull = world.hub.pull(connection, found.id, number) if found is not None else None
        if found is None or pull is None:
            raise not_found("The pull request")
        if not pull.open:
            raise Refusal(409, "not_open", f"#{number} is {pull.state}.")
        yield Site.of(world, connection, found.id), pull

"""What follows from what: a new head is checked and reviewed, a green one settles, a landing frees the queue.

The one place that knows all agents. Others say that something changed; what is due later comes back here as events of
the timeline. Everything happens in the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mergestorm_mcp.service.agents import auto_land, ci, cyclone, vortex
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.pr_reviews.passes import pass_by_id, passes_at
from mergestorm_mcp.service.stacks import queue
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveStack, live_stack
from mergestorm_mcp.service.stacks.records import (
    goes_on,
    layers_of,
    live_entry,
    member_of,
    stack_by_id,
    stack_of_pull,
    stacks_of,
)
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.stacks.units import arrange, ensure_land_pull

if TYPE_CHECKING:
    from mergestorm_mcp.service.timeline import Timeline
    from mergestorm_mcp.service.world import World

__all__ = [
    "advance",
    "on_head_changed",
    "on_pull_changed",
    "on_settings_changed",
    "register_events",
    "rerun_checks",
    "review_seam_again",
]


def on_head_changed(
    world: World, connection: sqlite3.Connection, repo_id: int, branch: str, sha: str | None
) -> None:
    """A branch stands somewhere else now. Saying so again does nothing.

    Args:
        world: the service.
        connection: of a write.
        repo_id: the repository.
        branch: short name.
        sha: where it stands; None for a branch that is gone, whose pull requests are closed with it.
    """
    site = Site.of(world, connection, repo_id)
    affected: list[str] = []
    for pull in site.hub.pulls(connection, repo_id, head=branch, state="open"):
        stack = stack_of_pull(connection, repo_id, pull.number)
        vortex.stop_older(site, pull.number, sha)
        if stack is not None:
            affected.append(stack["id"])
            _head_of_stack_moved(site, stack, pull, sha)
        if sha is None:
            site.hub.close_pull(connection, repo_id, pull.number, at=site.now(), head=None)
        else:
            _ready(site, pull, sha)
    for pull in site.hub.pulls(connection, repo_id, base=branch, state="open"):
        stack = stack_of_pull(connection, repo_id, pull.number)
        if stack is not None:
            affected.append(stack["id"])
    _advance_all(site, affected)


def on_pull_changed(world: World, connection: sqlite3.Connection, repo_id: int, number: int) -> None:
    """A pull request was opened, closed, made ready or a draft, joined a stack, or its stack's policy has changed."""
    site = Site.of(world, connection, repo_id)
    pull = site.hub.pull(connection, repo_id, number)
    if pull is None:
        return
    head = site.git.head(pull.head_branch)
    if pull.open and head is not None:
        _ready(site, pull, head)
    stack = stack_of_pull(connection, repo_id, number)
    if stack is not None:
        advance(site, stack["id"])


def on_settings_changed(world: World, connection: sqlite3.Connection, account_id: int) -> None:
    """Settings of an account, or of a repository within it, have changed: what agents left alone may be theirs now."""
    for row in stacks_of(connection, account_id):
        if goes_on(row):
            for layer in layers_of(connection, row["id"]):
                on_pull_changed(world, connection, row["repo_id"], layer["pull_number"])


def review_seam_again(world: World, connection: sqlite3.Connection, repo_id: int, number: int) -> bool:
    """Have a member's integration review made again at its live head, as the Continue button does.

    Returns:
        Whether one was begun; not where the pull request is no open member, or one is under way.
    """
    site = Site.of(world, connection, repo_id)
    pull = site.hub.pull(connection, repo_id, number)
    head = site.git.head(pull.head_branch) if pull is not None and pull.open else None
    if pull is None or head is None or member_of(connection, repo_id, number) is None:
        return False
    begun = vortex.request_seam(site, pull, head)
    _advance_pull(site, number)
    return begun


def rerun_checks(world: World, connection: sqlite3.Connection, repo_id: int, sha: str) -> None:
    """Run the checks of a head again, as a person does on GitHub."""
    site = Site.of(world, connection, repo_id)
    ci.start(site, sha, again=True)
    _advance_all(site, _stacks_at(site, sha))


def advance(site: Site, stack_id: str) -> None:
    """Let everybody look at a stack: Surge at its unit, Vortex at its seams, Cyclone at its troubles, Auto land at last."""
    row = stack_by_id(site.connection, stack_id)
    if row is None or not goes_on(row):
        return
    stack = live_stack(site, row)
    if stack.unit is not None:
        arrange(site, stack)
        stack = live_stack(site, row)
        _look_after_unit(site, stack)
        stack = live_stack(site, row)
    candidate = stack.candidate
    if candidate is not None and candidate.head is not None and auto_land.needs_seam(site, stack, candidate):
        done = passes_at(site.connection, site.repo_id, candidate.pull.number, candidate.head, "seam")
        if not any(item["status"] != "stopped" for item in done):
            vortex.request_seam(site, candidate.pull, candidate.head)
            stack = live_stack(site, row)
    for layer in stack.pulls:
        cyclone.consider(site, stack, layer)
    auto_land.consider(site, stack)


def register_events(timeline: Timeline) -> None:
    """Say who handles the agents' events."""
    timeline.register(ci.FINISH, _ci_finished)
    timeline.register(vortex.START, _review_starts)
    timeline.register(vortex.FINISH, _review_finished)
    timeline.register(vortex.RETRY, _review_retried)
    timeline.register(cyclone.FINISH, _patch_finished)
    timeline.register(auto_land.SETTLED, _settled)
    timeline.register(queue.CLAIM, _claimed)
    timeline.register(queue.FINISH, _queue_finished)
    timeline.register(queue.FORGET, _forgotten)


def _ready(site: Site, pull: Pull, sha: str) -> None:
    ci.start(site, sha)
    vortex.request(site, pull, sha)


def _head_of_stack_moved(site: Site, stack: sqlite3.Row, pull: Pull, sha: str | None) -> None:
    entry = live_entry(site.connection, stack["id"])
    if (
        entry is not None
        and entry["pull_number"] == pull.number
        and entry["state"] != "queued"
        and entry["verify_head"] != sha
    ):
        queue.bounce(site, entry, "head_moved")
    site.connection.execute(
        "UPDATE layers SET restack_kind = NULL, restack_detail = NULL, restack_head = NULL, restack_at = NULL,"
        " restack_attempts = 0, restack_from_branch = NULL, restack_from_sha = NULL"
        " WHERE stack_id = ? AND pull_number = ? AND restack_head IS NOT NULL AND restack_head IS NOT ?",
        (stack["id"], pull.number, sha),
    )
    news = site.connection.execute(
        "UPDATE layers SET seen_head = ? WHERE stack_id = ? AND pull_number = ? AND seen_head IS NOT ?",
        (sha, stack["id"], pull.number, sha),
    )
    if sha is not None and news.rowcount:
        record(site.world, site.connection, "head", f"#{pull.number} is at {sha[:7]}", stack_id=stack["id"])


def _look_after_unit(site: Site, stack: LiveStack) -> None:
    unit = stack.unit
    if unit is None:
        return
    if not stack.promoting and not any(layer.open for layer in stack.layers):
        if unit["state"] != "abandoned":
            site.connection.execute("UPDATE units SET state = 'abandoned' WHERE id = ?", (unit["id"],))
            record(
                site.world, site.connection, "unit", f"{unit['branch']} given up", stack_id=stack.row["id"]
            )
        return
    number = ensure_land_pull(site, stack)
    pull = site.hub.pull(site.connection, site.repo_id, number) if number is not None else None
    head = site.git.head(unit["branch"])
    if pull is not None and pull.open and head is not None:
        _ready(site, pull, head)


def _advance_all(site: Site, stack_ids: Iterable[str]) -> None:
    for stack_id in dict.fromkeys(stack_ids):
        advance(site, stack_id)


def _advance_pull(site: Site, number: int) -> None:
    stack = stack_of_pull(site.connection, site.repo_id, number)
    if stack is not None:
        advance(site, stack["id"])


def _stacks_at(site: Site, sha: str) -> list[str]:
    found = []
    for pull in site.hub.pulls(site.connection, site.repo_id, state="open"):
        stack = stack_of_pull(site.connection, site.repo_id, pull.number)
        if stack is not None and site.git.head(pull.head_branch) == sha:
            found.append(stack["id"])
    return found


# Events


def _ci_finished(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site = Site.of(world, connection, payload["repo_id"])
    ci.finish(site, payload["sha"])
    for stack_id in dict.fromkeys(_stacks_at(site, payload["sha"])):
        record(world, connection, "ci", f"Checks of {payload['sha'][:7]} finished", stack_id=stack_id)
        advance(site, stack_id)


def _review_starts(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site = Site.of(world, connection, payload["repo_id"])
    item = pass_by_id(connection, payload["pass_id"])
    if item is not None:
        vortex.start(site, item)


def _review_finished(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    _with_pass(world, connection, payload, vortex.finish)


def _review_retried(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    _with_pass(world, connection, payload, vortex.retry)


def _with_pass(world: World, connection: sqlite3.Connection, payload: dict[str, Any], act: Any) -> None:
    site = Site.of(world, connection, payload["repo_id"])
    item = pass_by_id(connection, payload["pass_id"])
    pull = site.hub.pull(connection, site.repo_id, item["pull_number"]) if item is not None else None
    if item is not None and pull is not None:
        act(site, item, pull)
        _advance_pull(site, pull.number)


def _patch_finished(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site = Site.of(world, connection, payload["repo_id"])
    run = connection.execute("SELECT * FROM cyclone_runs WHERE id = ?", (payload["run_id"],)).fetchone()
    pull = site.hub.pull(connection, site.repo_id, run["pull_number"])
    if pull is None:
        return
    stack = stack_of_pull(connection, site.repo_id, pull.number)
    pushed = cyclone.finish(site, run, pull, stack["id"] if stack is not None else None)
    if pushed is not None:
        on_head_changed(world, connection, site.repo_id, pull.head_branch, pushed)
    else:
        _advance_pull(site, pull.number)


def _settled(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site = Site.of(world, connection, payload["repo_id"])
    row = stack_by_id(connection, payload["stack_id"])
    if row is None or not goes_on(row):
        return
    stack = live_stack(site, row)
    if auto_land.settled(site, stack, payload):
        advance(site, row["id"])


def _claimed(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site, entry = _entry(world, connection, payload)
    queue.claim(site, entry)
    advance(site, entry["stack_id"])


def _queue_finished(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    site, entry = _entry(world, connection, payload)
    if not queue.finish(site, entry):
        advance(site, entry["stack_id"])
        return
    pull = site.hub.pull(connection, site.repo_id, entry["pull_number"])
    if pull is not None:
        trunk = site.git.head(pull.base_branch)
        on_head_changed(world, connection, site.repo_id, pull.base_branch, trunk)


def _entry(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> tuple[Site, sqlite3.Row]:
    site = Site.of(world, connection, payload["repo_id"])
    entry = connection.execute("SELECT * FROM queue_entries WHERE id = ?", (payload["entry_id"],)).fetchone()
    return site, entry


def _forgotten(_world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    connection.execute("DELETE FROM stacks WHERE id = ?", (payload["stack_id"],))

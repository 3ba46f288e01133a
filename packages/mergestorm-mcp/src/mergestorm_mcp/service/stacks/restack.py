"""Restacking: putting a layer's own commits on the commit its parent stands at now."""

from __future__ import annotations

import itertools

from mergestorm_mcp.service.agents.reactions import on_head_changed
from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveLayer, live_stack
from mergestorm_mcp.service.stacks.records import stack_by_id
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["restack"]


def restack(site: Site, stack_id: str) -> str | None:
    """Restack every layer that needs it, bottom up, as far as it goes without a conflict.

    Git moves first. A restack that was cut off is done again from where git stands.

    Returns:
        The branch that the first restacked layer stood behind; None if none needed it.
    """
    first: str | None = None
    done: set[int] = set()
    while True:
        row = stack_by_id(site.connection, stack_id)
        if row is None:
            return first
        waiting = live_stack(site, row).waiting
        pair = next(
            (
                (below, layer)
                for below, layer in itertools.pairwise(waiting)
                if layer.state in {"needs_restack", "conflict"} and layer.pull.number not in done
            ),
            None,
        )
        if pair is None:
            return first
        below, layer = pair
        done.add(layer.pull.number)
        first = first or below.pull.head_branch
        if not _put_on(site, stack_id, below, layer):
            return first


def _put_on(site: Site, stack_id: str, below: LiveLayer, layer: LiveLayer) -> bool:
    onto, head = below.head, layer.head
    if onto is None or head is None:
        return False
    fork = site.diff_base(onto, head)
    commits = site.git.commits_between(fork, head)
    made: str | MergeResult
    if any(len(commit.parents) != 1 for commit in commits):  # a merge cannot be replayed; merging keeps it
        made = site.git.merge_commit(
            head,
            onto,
            message=f"Merge {below.pull.head_branch} into {layer.pull.head_branch}",
            when=site.moment(),
        )
    else:
        made = site.git.replay(commits, onto, when=site.moment())
    connection, number = site.connection, layer.pull.number
    if isinstance(made, MergeResult):
        detail = f"conflict in {', '.join(made.conflicts)}"
        connection.execute(
            "UPDATE layers SET restack_kind = 'rebase_conflict', restack_detail = ?, restack_head = ?, restack_at = ?,"
            " restack_attempts = restack_attempts + 1, restack_from_branch = ?, restack_from_sha = ?"
            " WHERE stack_id = ? AND pull_number = ?",
            (detail, head, site.now(), below.pull.head_branch, fork, stack_id, number),
        )
        record(
            site.world,
            connection,
            "restack",
            f"#{number} could not be restacked: {detail}",
            stack_id=stack_id,
        )
        return False
    site.git.move(layer.pull.head_branch, made, head)
    connection.execute(
        "UPDATE layers SET restack_kind = NULL, restack_detail = NULL, restack_head = NULL, restack_at = NULL,"
        " restack_attempts = 0, last_restacked_sha = ? WHERE stack_id = ? AND pull_number = ?",
        (made, stack_id, number),
    )
    record(
        site.world,
        connection,
        "restack",
        f"#{number} restacked on {below.pull.head_branch}",
        stack_id=stack_id,
    )
    on_head_changed(site.world, connection, site.repo_id, layer.pull.head_branch, made)
    return True

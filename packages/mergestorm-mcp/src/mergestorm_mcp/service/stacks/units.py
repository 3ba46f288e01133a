"""Review units: where the layers of a taller stack are collected before they land together.

The unit's own branch is `mg-stack-<n>`, made at the trunk's head. The bottom layer stands on it, the second on the
first, and higher ones on frozen copies of their parents, `mg-park-<n>-<position>`. A layer that is ready is promoted,
which means merged into the unit; then the next one takes its place. When all are in, the land PR brings the unit to the
trunk.
"""

from __future__ import annotations

import sqlite3
import uuid

from mcpkit.git import GitError
from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.github.people import SURGE_LOGIN
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack, live_stack
from mergestorm_mcp.service.stacks.merging import merge_pull
from mergestorm_mcp.service.stacks.records import layers_of, unit_of
from mergestorm_mcp.service.stacks.site import PARK_PREFIX, UNIT_PREFIX, Site

__all__ = ["arrange", "ensure_land_pull", "ensure_unit", "ensure_upper_park", "promote"]


def ensure_unit(site: Site, stack: sqlite3.Row) -> sqlite3.Row:
    """The stack's unit, made if there is none, with every layer a member."""
    connection = site.connection
    unit = unit_of(connection, stack["id"])
    if unit is None:
        number = connection.execute(
            "SELECT coalesce(max(number), 0) + 1 AS next FROM units WHERE repo_id = ?", (site.repo_id,)
        ).fetchone()["next"]
        branch = f"{UNIT_PREFIX}{number}"
        _make_branch(site, branch, stack["trunk_branch"])
        connection.execute(
            "INSERT INTO units (id, stack_id, repo_id, number, branch, land_target, state)"
            " VALUES (?, ?, ?, ?, ?, ?, 'open')",
            (str(uuid.uuid4()), stack["id"], site.repo_id, number, branch, stack["trunk_branch"]),
        )
        record(site.world, connection, "unit", f"Review unit {branch} opened", stack_id=stack["id"])
        unit = unit_of(connection, stack["id"])
    assert unit is not None  # noqa: S101 - made just now if it was not there
    for layer in layers_of(connection, stack["id"]):
        connection.execute(
            "INSERT OR IGNORE INTO members (unit_id, pull_number) VALUES (?, ?)",
            (unit["id"], layer["pull_number"]),
        )
    return unit


def arrange(site: Site, stack: LiveStack) -> None:
    """Give every open layer the base of its place: the unit, its parent, or a frozen copy of its parent."""
    if stack.unit is None:
        return
    waiting = stack.waiting
    for place, layer in enumerate(waiting):
        if place == 0:
            base = stack.unit["branch"]
        elif place == 1:
            base = waiting[0].pull.head_branch
        else:
            base = _park(site, stack, layer, waiting[place - 1])
        if base != layer.pull.base_branch:
            site.hub.retarget(site.connection, site.repo_id, layer.pull.number, base)


def ensure_upper_park(site: Site, stack: sqlite3.Row) -> tuple[str, bool]:
    """The frozen copy of the highest open layer, on which the next layer above would stand; and whether it is new."""
    live = live_stack(site, stack)
    unit = ensure_unit(site, stack)
    top = next((layer for layer in reversed(live.layers) if layer.open and layer.head is not None), None)
    branch = f"{PARK_PREFIX}{unit['number']}-{len(live.layers)}"
    if site.git.head(branch) is not None:
        return branch, False
    site.git.move(branch, top.head if top is not None else site.git.head(unit["branch"]), None)
    return branch, True


def promote(site: Site, stack: LiveStack, layer: LiveLayer) -> str | MergeResult:
    """Merge a layer into its unit: git first, then the rows.

    A promotion that was cut off after git is found in the unit's history and only written down.

    Returns:
        The commit the unit stands at, or the conflicts.
    """
    unit = stack.unit
    if unit is None or layer.head is None:
        raise LookupError("only a layer of a unit can be promoted, and only with a head")
    before = site.git.head(unit["branch"])
    if before is None:
        raise GitError("unknown_revision", "the unit's branch is gone")
    after = merge_pull(site, layer.pull, layer.head, into=unit["branch"], at=before)
    if isinstance(after, MergeResult):
        return after
    connection, at = site.connection, site.now()
    site.hub.mark_merged(
        connection, site.repo_id, layer.pull.number, at=at, head=layer.head, base=before, merge_sha=after
    )
    connection.execute(
        "UPDATE members SET promoted_head = ?, promoted_at = ? WHERE unit_id = ? AND pull_number = ?",
        (layer.head, at, unit["id"], layer.pull.number),
    )
    connection.execute("UPDATE units SET state = 'growing' WHERE id = ?", (unit["id"],))
    record(
        site.world,
        connection,
        "promoted",
        f"#{layer.pull.number} promoted into {unit['branch']}",
        stack_id=stack.row["id"],
    )
    arrange(site, live_stack(site, stack.row))
    return after


def ensure_land_pull(site: Site, stack: LiveStack) -> int | None:
    """Open the pull request that lands a unit whose members are all in; None while some are not.

    Members that were closed without a merge do not hold it up; a unit that nothing was promoted into has none.
    """
    unit = stack.unit
    if unit is None or unit["state"] in {"landed", "abandoned"} or not stack.promoting:
        return None
    if stack.waiting:
        return None
    if unit["land_pull"] is not None:
        return int(unit["land_pull"])
    connection = site.connection
    found = next(
        iter(
            site.hub.pulls(
                connection, site.repo_id, head=unit["branch"], base=unit["land_target"], state="open"
            )
        ),
        None,
    )
    titles = [f"- #{layer.pull.number} {layer.pull.title}" for layer in stack.layers if layer.promoted]
    pull = found or site.hub.open_pull(
        connection,
        site.repo_id,
        title=f"Land {unit['branch']}",
        body="\n".join(["Lands together:", "", *titles]),
        head=unit["branch"],
        base=unit["land_target"],
        author=SURGE_LOGIN,
        at=site.now(),
    )
    connection.execute(
        "UPDATE units SET land_pull = ?, state = 'landing' WHERE id = ?", (pull.number, unit["id"])
    )
    record(
        site.world,
        connection,
        "land_pr",
        f"#{pull.number} opened to land {unit['branch']}",
        stack_id=stack.row["id"],
    )
    return pull.number


def _park(site: Site, stack: LiveStack, layer: LiveLayer, parent: LiveLayer) -> str:
    if layer.row is not None and layer.row["freeze_branch"] is not None:
        return str(layer.row["freeze_branch"])
    if stack.unit is None or layer.row is None:
        raise LookupError("only a layer of a unit stands on a frozen branch")
    branch = f"{PARK_PREFIX}{stack.unit['number']}-{layer.row['position']}"
    if site.git.head(branch) is None and parent.head is not None:
        site.git.move(branch, parent.head, None)
    site.connection.execute(
        "UPDATE layers SET freeze_branch = ? WHERE stack_id = ? AND pull_number = ?",
        (branch, stack.row["id"], layer.pull.number),
    )
    return branch


def _make_branch(site: Site, branch: str, source: str) -> None:
    if site.git.head(branch) is None:
        site.git.move(branch, site.git.head(source), None)

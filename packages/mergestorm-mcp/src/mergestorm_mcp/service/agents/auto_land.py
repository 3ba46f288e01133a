"""Auto land: waits until the next pull request of a stack is ready, lets it settle, and moves it on.

Ready means: open and no draft, checks not red or pending, reviewed without an open error finding, no conflict with its
base, and for a member of a unit that something was promoted into, an approving integration review of this head. What is
not there yet is recorded as the wait, with since when.
"""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.service.agents.scripts import script_of
from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record, touched
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.policy import reviews_land_pulls, seam_reviewed, settle_seconds
from mergestorm_mcp.service.stacks.queue import conflict_stands, enqueue
from mergestorm_mcp.service.stacks.records import live_entry
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.stacks.units import promote
from mergestorm_mcp.service.timeline import schedule

__all__ = ["SETTLED", "blocker", "consider", "needs_seam", "settled"]

SETTLED: Final = "auto_land.settled"


def consider(site: Site, stack: LiveStack) -> None:
    """Look whether the next step can be taken, and note what is waited for."""
    candidate = stack.candidate
    if (
        not stack.row["auto_land"]
        or candidate is None
        or live_entry(site.connection, stack.row["id"]) is not None
    ):
        _clear(site, stack, "settle", "wait")
        return
    why = blocker(site, stack, candidate)
    if why is not None:
        _clear(site, stack, "settle")
        _wait(site, stack, candidate, why)
        return
    _clear(site, stack, "wait")
    _settle(site, stack, candidate)


def settled(site: Site, stack: LiveStack, payload: dict[str, Any]) -> bool:
    """Take the step that was let settle, if nothing has changed since. Event `auto_land.settled`.

    Returns:
        Whether the stack has moved on.
    """
    row, candidate = stack.row, stack.candidate
    if row["settle_started_at"] != payload["started_at"] or candidate is None:
        return False
    if candidate.pull.number != row["settle_pull"] or candidate.head != row["settle_head"]:
        return False
    if not row["auto_land"] or blocker(site, stack, candidate) is not None:
        return False
    _clear(site, stack, "settle")
    if row["settle_action"] == "promote":
        result = promote(site, stack, candidate)
        if isinstance(result, MergeResult):
            _wait(site, stack, candidate, "promote_merge_failed", attempt=True)
            return False
        return True
    try:
        enqueue(site, stack, by="agent", via="api")
    except Refusal:
        _wait(site, stack, candidate, "readiness_check_failed")
        return False
    return True


def blocker(site: Site, stack: LiveStack, layer: LiveLayer) -> str | None:
    """Why a pull request is not ready, in the words of `autoLandWait`; None if it is."""
    if layer.head is None or layer.base_head is None:
        return "missing_head"
    if layer.pull.draft:
        return "pr_draft"
    if layer.merge is None:
        return "mergeability_unknown"
    if not layer.merge.clean or layer.state == "conflict":
        return "merge_conflict"
    if layer.ci in {"failure", "pending"}:
        return f"ci_{layer.ci}"
    reviewed = layer is not stack.land or reviews_land_pulls(site, stack.row)
    if reviewed and not layer.verdict.green:
        return "vortex_not_green"
    if needs_seam(site, stack, layer) and not layer.seam_approved:
        return "seam_not_green"
    return "conflict_unchanged" if conflict_stands(site, stack.row, layer) else None


def needs_seam(site: Site, stack: LiveStack, layer: LiveLayer) -> bool:
    """Whether a layer has to pass the integration review: once something was promoted, every later member."""
    return (
        stack.promoting and layer.member is not None and not layer.promoted and seam_reviewed(site, stack.row)
    )


def _settle(site: Site, stack: LiveStack, candidate: LiveLayer) -> None:
    action = "promote" if stack.unit is not None and candidate is not stack.land else "ready"
    row = stack.row
    if (row["settle_action"], row["settle_pull"], row["settle_head"]) == (
        action,
        candidate.pull.number,
        candidate.head,
    ):
        return
    scripted = script_of(site.connection, site.repo_id).queue.settle_seconds
    seconds = settle_seconds(site, row) if scripted is None else scripted
    started_at = site.now()
    site.connection.execute(
        "UPDATE stacks SET settle_action = ?, settle_pull = ?, settle_head = ?, settle_started_at = ?, settle_seconds = ?"
        " WHERE id = ?",
        (
            action,
            candidate.pull.number,
            candidate.head,
            started_at,
            site.world.pace.seconds(seconds),
            row["id"],
        ),
    )
    payload = {"repo_id": site.repo_id, "stack_id": row["id"], "started_at": started_at}
    schedule(site.connection, SETTLED, payload, site.world.pace.after(seconds))
    record(
        site.world,
        site.connection,
        "settle",
        f"#{candidate.pull.number} is ready; Auto land lets it settle ({action})",
        stack_id=row["id"],
    )


def _wait(site: Site, stack: LiveStack, layer: LiveLayer, reason: str, *, attempt: bool = False) -> None:
    row = stack.row
    same = (row["wait_reason"], row["wait_pull"], row["wait_head"]) == (reason, layer.pull.number, layer.head)
    if same and not attempt:
        return
    attempts = ((row["wait_attempts"] or 0) if same else 0) + 1 if attempt else None
    site.connection.execute(
        "UPDATE stacks SET wait_reason = ?, wait_pull = ?, wait_head = ?, wait_since = ?, wait_attempts = ?,"
        " wait_detail = NULL WHERE id = ?",
        (
            reason,
            layer.pull.number,
            layer.head,
            row["wait_since"] if same else site.now(),
            attempts,
            row["id"],
        ),
    )
    touched(site.connection, row["id"])


def _clear(site: Site, stack: LiveStack, *groups: str) -> None:
    columns = {
        "settle": ("settle_action", "settle_pull", "settle_head", "settle_started_at", "settle_seconds"),
        "wait": ("wait_reason", "wait_pull", "wait_head", "wait_since", "wait_attempts", "wait_detail"),
    }
    present = [
        name for group in groups for name in columns[group] if stack.row[columns[group][0]] is not None
    ]
    if not present:
        return
    assignments = ", ".join(f"{name} = NULL" for name in present)
    site.connection.execute(f"UPDATE stacks SET {assignments} WHERE id = ?", (stack.row["id"],))  # noqa: S608 - columns named here
    touched(site.connection, stack.row["id"])

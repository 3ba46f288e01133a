"""A stack as the service shows it (`GET /stacks/enrich`): rows and git put into the members that clients read."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any, Final

from mergestorm_mcp.service.agents import cyclone
from mergestorm_mcp.service.pr_reviews.verdict import UNDER_WAY
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.policy import off_reason, policy_of
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["listed_view", "stack_view"]

_RUNS_SHOWN: Final = 20
_VORTEX: Final = {
    "queued": "queued",
    "reviewing": "reviewing",
    "skipped": "skipped",
    "failed": "failed",
    "incomplete": "incomplete",
}
_REVIEW: Final = {
    "queued": "queued",
    "reviewing": "reviewing",
    "skipped": "skipped",
    "failed": "failed",
    "completed": "done",
    "incomplete": "done",
}
_WORDS: Final = {"approve": "approved", "request_changes": "changes_requested", "comment": "reviewed"}


def listed_view(site: Site, stack: LiveStack) -> dict[str, Any]:
    """A stack as `GET /stacks` lists it: as it is enriched, without the agents."""
    return stack_view(site, stack, agents=False)


def stack_view(site: Site, stack: LiveStack, *, agents: bool = True) -> dict[str, Any]:
    """A stack with everything that is known of it.

    Args:
        site: the repository.
        stack: the stack.
        agents: whether its layers say what the agents do and did.
    """
    row = stack.row
    view: dict[str, Any] = {
        "id": row["id"],
        "owner": site.repository.owner,
        "repo": site.repository.name,
        "trunkBranch": row["trunk_branch"],
        "landTarget": row["trunk_branch"],
        "archivedAt": row["archived_at"],
        **policy_of(row),
        "autoLandOff": _land_off(row),
        "autoEnqueueSettle": _settle(row),
        "autoLandWait": _wait(row),
        "keyUserId": str(row["account_id"]),
        "cycloneInstallUserId": str(row["account_id"]) if _cyclone_installed(site) else None,
        "cycloneOwnerMatch": "same" if _cyclone_installed(site) else "none",
        "layers": [_layer(site, stack, layer, agents=agents) for layer in stack.layers],
    }
    for name, pin in (
        ("cyclonePatchOff", "auto_patch"),
        ("cycloneConflictOff", "auto_resolve"),
        ("cycloneCiOff", "auto_fix_ci"),
    ):
        reason = off_reason(site, row, pin)
        if reason is not None:
            view[name] = reason
    if stack.unit is not None:
        view["unit"] = _unit(site, stack, stack.unit)
    return view


def _land_off(row: sqlite3.Row) -> dict[str, Any] | None:
    if row["land_off_reason"] is None:
        return None
    return {"reason": row["land_off_reason"], "entryId": row["land_off_entry"], "at": row["land_off_at"]}


def _settle(row: sqlite3.Row) -> dict[str, Any] | None:
    if row["settle_action"] is None:
        return None
    return {
        "action": row["settle_action"],
        "prNumber": row["settle_pull"],
        "headSha": row["settle_head"],
        "startedAt": row["settle_started_at"],
        "windowSeconds": row["settle_seconds"],
    }


def _wait(row: sqlite3.Row) -> dict[str, Any] | None:
    if row["wait_reason"] is None:
        return None
    return {
        "reason": row["wait_reason"],
        "prNumber": row["wait_pull"],
        "headSha": row["wait_head"],
        "since": row["wait_since"],
        "attempts": row["wait_attempts"],
        "detail": row["wait_detail"],
    }


def _cyclone_installed(site: Site) -> bool:
    return site.hub.app(site.connection, site.repo_id, "cyclone") != "absent"


def _layer(site: Site, stack: LiveStack, layer: LiveLayer, *, agents: bool) -> dict[str, Any]:
    pull, row = layer.pull, layer.row
    added = deleted = None
    if layer.head is not None and layer.base_head is not None:
        added, deleted = site.line_counts(layer.base_head, layer.head)
    at_head = layer.core is not None and layer.core["head_sha"] == layer.head
    position = row["position"] if row is not None else len(stack.layers)
    return {
        "branch": pull.head_branch,
        "parentBranch": pull.base_branch,
        "prNumber": pull.number,
        "openedAt": pull.created_at,
        "mergedAt": pull.merged_at,
        "closedAt": pull.closed_at,
        "additions": added,
        "deletions": deleted,
        "openAdditions": added if layer.open else None,
        "openDeletions": deleted if layer.open else None,
        "position": position,
        "state": layer.state,
        "title": pull.title,
        "htmlUrl": site.hub.pull_url(site.repository, pull.number),
        "ciStatus": layer.ci,
        "reviewStatus": _review_status(layer, at_head=at_head),
        "checks": _checks(layer),
        "vortexStatus": _vortex_status(layer, at_head=at_head),
        "cycloneStatus": _cyclone_status(site, layer),
        **(_agents(site, layer) if agents else {}),
        "conflictDetail": _conflict_detail(layer),
        "restackError": _restack_error(row),
        "lastRestackedSha": row["last_restacked_sha"] if row is not None else None,
        "mergeable": layer.merge.clean if layer.merge is not None else None,
        "mergeableState": _mergeable_state(layer),
        "headSha": layer.head,
        "mergeableHeadSha": layer.head if layer.merge is not None else None,
        "draft": pull.draft,
    }


def _agents(site: Site, layer: LiveLayer) -> dict[str, Any]:
    """What the agents do and did, and what Cyclone left to a person."""
    return {
        "agentRuns": _runs(site, layer),
        "vortexReview": _vortex_review(layer),
        "agentsBusy": {
            "vortex": _vortex_busy(layer),
            "cyclone": layer.open and cyclone.patching(site.connection, site.repo_id, layer.pull.number),
            "headSha": layer.head,
        },
        "cycloneHandoff": _handoff(site, layer, "findings"),
        "cycloneConflictHandoff": _handoff(site, layer, "conflict"),
        "cycloneCiHandoff": _handoff(site, layer, "ci"),
    }


def _checks(layer: LiveLayer) -> dict[str, Any] | None:
    if not layer.checks:
        return None
    statuses = Counter(check.status for check in layer.checks)
    return {
        "total": len(layer.checks),
        "success": statuses["success"],
        "pending": statuses["pending"],
        "failure": statuses["failure"],
        "failingName": layer.failing_check,
    }


def _review_status(layer: LiveLayer, *, at_head: bool) -> str:
    if not at_head or layer.core is None:
        return "none"
    if layer.core["status"] == "failed":
        return "failed"
    if layer.core["status"] == "skipped" or layer.verdict.running:
        return "none"
    return _WORDS.get(layer.verdict.verdict or "", "none")


def _vortex_status(layer: LiveLayer, *, at_head: bool) -> str | None:
    if not at_head or layer.core is None or layer.core["status"] == "stopped":
        return None
    if layer.core["status"] != "completed":
        return _VORTEX.get(layer.core["status"])
    if layer.seam_running:
        return "seam_pending"
    return "all_clear" if layer.verdict.verdict == "approve" else "findings"


def _vortex_busy(layer: LiveLayer) -> bool:
    return layer.open and (layer.verdict.running or layer.seam_running)


def _vortex_review(layer: LiveLayer) -> dict[str, Any]:
    item = layer.core
    if item is None or item["status"] == "stopped":
        return {
            "status": "none",
            "skip_reason": None,
            "pass": None,
            "head_sha": None,
            "phase": None,
            "started_at": None,
            "stoppable": False,
            "source": "none",
        }
    return {
        "status": _REVIEW[item["status"]],
        "skip_reason": item["skip_reason"],
        "pass": item["number"],
        "head_sha": item["head_sha"],
        "phase": item["phase"],
        "started_at": item["started_at"],
        "stoppable": item["status"] in UNDER_WAY,
        "source": "pr_reviews",
    }


def _cyclone_status(site: Site, layer: LiveLayer) -> str | None:
    if not layer.open:
        return None
    number = layer.pull.number
    if cyclone.patching(site.connection, site.repo_id, number):
        return "patching"
    given = any(
        cyclone.handoff(site.connection, site.repo_id, number, layer.head, kind) is not None
        for kind in ("findings", "conflict", "ci")
    )
    return "awaiting_fix" if given else None


def _runs(site: Site, layer: LiveLayer) -> list[dict[str, Any]]:
    number = layer.pull.number
    runs = [
        {
            "agent": "vortex",
            "status": item["status"],
            "sha": item["head_sha"],
            "pass": item["number"],
            "skipReason": item["skip_reason"],
            "startedAt": item["started_at"] or item["queued_at"],
            "finishedAt": item["finished_at"],
            "phase": item["phase"],
            "findingCount": item["finding_count"],
        }
        for item in site.connection.execute(
            "SELECT *, (SELECT count(*) FROM findings WHERE pass_id = passes.id) AS finding_count FROM passes"
            " WHERE repo_id = ? AND pull_number = ? ORDER BY id DESC LIMIT ?",
            (site.repo_id, number, _RUNS_SHOWN),
        ).fetchall()
    ]
    runs += [
        {
            "agent": "cyclone",
            "status": run["status"],
            "sha": run["head_sha"],
            "startedAt": run["started_at"],
            "finishedAt": run["finished_at"],
        }
        for run in site.connection.execute(
            "SELECT * FROM cyclone_runs WHERE repo_id = ? AND pull_number = ? ORDER BY id DESC LIMIT ?",
            (site.repo_id, number, _RUNS_SHOWN),
        ).fetchall()
    ]
    return runs


def _handoff(site: Site, layer: LiveLayer, kind: str) -> dict[str, Any] | None:
    if not layer.open:
        return None
    run = cyclone.handoff(site.connection, site.repo_id, layer.pull.number, layer.head, kind)
    if run is None:
        return None
    return {"headSha": run["head_sha"], "reason": run["reason"], "at": run["finished_at"]}


def _conflict_detail(layer: LiveLayer) -> str | None:
    if layer.merge is None or layer.merge.clean:
        return None
    return (
        f"conflict in {', '.join(layer.merge.conflicts)}" if layer.merge.conflicts else "unrelated histories"
    )


def _mergeable_state(layer: LiveLayer) -> str | None:
    if layer.merge is None:
        return None
    if not layer.merge.clean:
        return "dirty"
    if layer.pull.draft:
        return "draft"
    return "unstable" if layer.ci in {"failure", "pending"} else "clean"


def _restack_error(row: sqlite3.Row | None) -> dict[str, Any] | None:
    if row is None or row["restack_kind"] is None:
        return None
    return {
        "kind": row["restack_kind"],
        "detail": row["restack_detail"],
        "headSha": row["restack_head"],
        "attemptedAt": row["restack_at"],
        "attempts": row["restack_attempts"],
        "backupRef": None,
        "from": {"branch": row["restack_from_branch"], "oldSha": row["restack_from_sha"]},
    }


def _unit(site: Site, stack: LiveStack, unit: sqlite3.Row) -> dict[str, Any]:
    land = stack.land
    return {
        "id": unit["id"],
        "uNumber": unit["number"],
        "state": unit["state"],
        "branch": unit["branch"],
        "landTarget": unit["land_target"],
        "members": [
            _member(layer, layer.member, layer.row["position"])
            for layer in stack.layers
            if layer.member is not None and layer.row is not None
        ],
        "landPrNumber": unit["land_pull"],
        "landingBlockReason": _block_reason(stack),
        "landPr": _layer(site, stack, land, agents=True) if land is not None else None,
    }


def _member(layer: LiveLayer, member: sqlite3.Row, position: int) -> dict[str, Any]:
    return {
        "prNumber": layer.pull.number,
        "branch": layer.pull.head_branch,
        "position": position,
        "seamState": member["seam_state"],
        "seamReviewedSha": member["seam_reviewed_sha"],
        "seamReviewId": member["seam_pass"],
        "promotedHeadSha": member["promoted_head"],
        "promotedAt": member["promoted_at"],
        "title": layer.pull.title,
    }


def _block_reason(stack: LiveStack) -> str | None:
    """Why the land PR is not let into the queue; what only takes time ends in `_pending` or `_running`."""
    land = stack.land
    if land is None or stack.unit is None or stack.unit["state"] in {"landed", "abandoned"}:
        return None
    if land.pull.state == "closed":
        return f"landing blocked: land_pr_unavailable: #{land.pull.number} was closed"
    if land.ci == "pending":
        return "landing blocked: ci_pending"
    return "landing blocked: review_running" if land.verdict.running else None

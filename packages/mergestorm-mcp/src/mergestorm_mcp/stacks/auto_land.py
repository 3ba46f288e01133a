"""What Auto land waits for, and when that wait has become somebody's business (contract 3.15 C.2, with 11.1)."""

from __future__ import annotations

import re
from typing import Final

from mergestorm_mcp.stacks.candidate import OpenLayers
from mergestorm_mcp.stacks.layer_blockers import retry_scheduled
from mergestorm_mcp.stacks.model import AutoLandWait, Layer, Stack, moment
from mergestorm_mcp.stacks.verdicts import Finding
from mergestorm_mcp.text import one_line

__all__ = [
    "CI_PENDING_SECONDS",
    "PROMOTE_ATTEMPTS",
    "REVIEW_SECONDS",
    "UNREADABLE_SECONDS",
    "wait_finding",
    "wait_layer",
]

CI_PENDING_SECONDS: Final = 45 * 60.0
"""Checks that are still pending after this, and any other wait this long, are named."""

REVIEW_SECONDS: Final = 30 * 60.0
"""A head without a green review after this is named."""

UNREADABLE_SECONDS: Final = 10 * 60.0
"""Checks that cannot be read for this long are named; at once when GitHub refuses."""

PROMOTE_ATTEMPTS: Final = 3
"""Failed merges into the unit after which somebody should look."""

_UNREADABLE: Final = {
    "check_runs_unreadable": "the check runs",
    "commit_statuses_unreadable": "the commit statuses",
    "ci_unreadable": "CI",
}
_REFUSED: Final = re.compile(r"\bHTTP 40[34]\b", re.IGNORECASE)

_WORDS: Final = {
    "ci_error": "Mergestorm could not work out the CI result",
    "ci_missing": "no check has reported on this head",
    "ci_unknown": "the CI result of this head is not known",
    "conflict_unchanged": "the conflict that stopped the last attempt is still there",
    "github_unreadable": "GitHub does not answer Mergestorm's reads",
    "land_gate_failed": "the land gate did not pass",
    "land_pr_unavailable": "there is no land PR to queue",
    "layer_without_pr": "a layer has no pull request yet",
    "members_remaining": "not every layer is in the review unit yet",
    "mergeability_unknown": "GitHub has no verdict on whether this head can be merged",
    "missing_head": "the head of this pull request is not known",
    "must_consolidate": "layers must be promoted into the review unit first",
    "parked_base": "the pull request still stands on a frozen base",
    "pr_draft": "the pull request is a draft",
    "pr_not_open": "the pull request is not open",
    "readiness_check_failed": "Mergestorm's readiness check failed",
    "stack_dirty": "the stack has layers that must be restacked",
    "stack_without_unit": "the stack has no review unit",
    "trunk_in_land_target_without_land_pr": "the unit is already in its target, but no land PR says so",
}


def wait_layer(stack: Stack, layers: OpenLayers) -> Layer | None:
    """The layer that Auto land's wait is about.

    A wait that names no pull request is about the candidate, else the land PR, else the highest layer, whatever their
    state and head. One that names a pull request is about that one only, if it is open and still at the wait's head.
    """
    wait = stack.auto_land_wait
    if wait is None:
        return None
    if wait.pr_number is None:
        if layers.candidate is not None:
            return layers.candidate
        land_pr = stack.unit.land_pr if stack.unit is not None else None
        listed = next(
            (layer for layer in stack.layers if stack.unit is not None and stack.unit.is_land_pr(layer)), None
        )
        return listed or land_pr or (stack.layers[-1] if stack.layers else None)
    layer = next((item for item in layers.layers if item.pr_number == wait.pr_number), None)
    if layer is None or (wait.head_sha is not None and not layer.at_head(wait.head_sha)):
        return None
    return layer


def wait_finding(stack: Stack, layer: Layer, now: float) -> Finding | None:
    """What is to be said about Auto land's wait for a layer; None while it is only a wait.

    Args:
        stack: an armed stack says something, any other nothing.
        layer: what `wait_layer` found.
        now: seconds since the epoch.
    """
    wait = stack.auto_land_wait
    if stack.archived or stack.auto_land is not True or wait is None:
        return None
    since = moment(wait.since)
    if since is None or wait.reason is None:
        return None
    named = _named(wait, layer, max(0.0, now - since))
    if named is None:
        return None
    label, reason = named
    return Finding(label, reason, from_auto_land=True)


def _named(wait: AutoLandWait, layer: Layer, age: float) -> tuple[str, str] | None:
    minutes, detail = int(age // 60), one_line(wait.detail or "")
    match wait.reason:
        case "ci_failure":
            return "CI failed — Auto land reads a failing check on GitHub at this head", "ci_failed"
        case "ci_pending" if age >= CI_PENDING_SECONDS:
            return f"CI pending for {minutes}m — a check of this head never finished", "auto_land_ci_pending"
        case "members_remaining":
            why = detail or "layers outside the review unit remain"
            return f"The land PR cannot be queued: {why}", "auto_land_members_remaining"
        case "vortex_not_green" if age >= REVIEW_SECONDS and not retry_scheduled(layer):
            label = f"No green Vortex review for {minutes}m — Auto land will not go on without one"
            return label, "auto_land_vortex_wait"
        case "promote_merge_failed" if (wait.attempts or 0) >= PROMOTE_ATTEMPTS:
            tail = f": {detail}" if detail else ""
            label = f"Promote failed {wait.attempts} times (merge_failed) — the layer does not merge into its unit{tail}"
            return label, "auto_land_promote_failed"
        case "ci_pending" | "vortex_not_green" | "promote_merge_failed":
            return None
        case reason if reason in _UNREADABLE:
            if not _REFUSED.search(wait.detail or "") and age < UNREADABLE_SECONDS:
                return None
            shown = f" ({detail})" if detail else ""
            label = (
                f"Mergestorm cannot read {_UNREADABLE[reason]} on this head{shown} — Auto land cannot go on"
            )
            return label, "auto_land_ci_unreadable"
        case reason if age >= CI_PENDING_SECONDS:
            words = _WORDS.get(reason or "") or one_line((reason or "").replace("_", " "))
            return f"Auto land has waited {minutes}m: {words}", "auto_land_waited"
    return None

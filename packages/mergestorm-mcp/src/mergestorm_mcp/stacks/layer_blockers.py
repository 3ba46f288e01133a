"""Why a layer cannot move (contract 3.15, table A). One rule is one function; the first that answers wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mergestorm_mcp.stacks.agents import Busy
from mergestorm_mcp.stacks.bounces import bounce_label, draft_bounce, standing_bounce
from mergestorm_mcp.stacks.candidate import bound_dirty
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.land_gate import is_pending
from mergestorm_mcp.stacks.model import Layer, QueueEntry, RestackError, Stack
from mergestorm_mcp.stacks.seam_gate import seam_gate
from mergestorm_mcp.stacks.verdicts import Finding
from mergestorm_mcp.text import one_line

__all__ = ["LayerView", "findings_handoff", "layer_finding", "retry_scheduled"]

_SKIPS: Final = {
    "auto_review_off": "Vortex auto-review is off, so this head was not reviewed",
    "billing_blocked": "Vortex skipped this head: it could not confirm billing",
    "billing_unavailable": "Vortex skipped this head: it could not confirm billing",
    "ignored_author": "Vortex skipped this head: the PR author is on the ignored authors list",
    "repo_disabled": "Vortex skipped this head: reviews are turned off for this repository",
}
_INCOMPLETE: Final = "Vortex reviewed only part of this PR"
_RETRY_REASONS: Final = frozenset({"retry_scheduled", "post_delayed"})
_MAX_PUSH_ATTEMPTS: Final = 3

# A push that failed for a reason of the network or of GitHub's: the service tries it again. The first two say that the
# branch has other commits, which no repetition cures.
_MOVED: Final = re.compile(r"\(origin/.{0,300}? moved to |stale info|fetch first", re.IGNORECASE)
_TRANSIENT_PUSH: Final = re.compile(
    r"commit_refs|remote rejected.{0,300}\(failure\)|\bHTTP 5\d\d\b|error: 5\d\d\b|RPC failed"
    r"|could(?: not|n't) resolve host|(?:failed|unable|could not|couldn't) (?:to )?connect|connection (?:reset|refused|timed out|closed)"
    r"|timed out|timeout|early EOF|unexpected EOF|unexpected disconnect|hung up unexpectedly|\bSSL\b|gnutls",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer and what the rules need to know around it.

    Attributes:
        stack: its stack.
        layer: the layer.
        busy: who is at work on it.
        entries: the stack's queue entries.
        cursor: what was reported before.
        is_candidate: whether it is the one to be merged next; only then the queue's bounces concern it.
        is_lowest: whether no open layer is below it.
    """

    stack: Stack
    layer: Layer
    busy: Busy
    entries: tuple[QueueEntry, ...]
    cursor: Cursor | None
    is_candidate: bool
    is_lowest: bool


def layer_finding(view: LayerView) -> Finding | None:
    """The first rule's answer; None where nothing is wrong. An archived stack has nothing wrong."""
    if view.stack.archived:
        return None
    return next((finding for rule in _RULES if (finding := rule(view)) is not None), None)


def retry_scheduled(layer: Layer) -> bool:
    """Whether Vortex will try this head again by itself."""
    review = layer.review
    return review is not None and review.skip_reason in _RETRY_REASONS and layer.at_head(review.head_sha)


def findings_handoff(stack: Stack, layer: Layer) -> str | None:
    """Why Cyclone will not patch this head's findings; None if it may."""
    handoff = layer.handoff
    if handoff is not None and layer.at_head(handoff.head_sha):
        return handoff.reason or "handed_off"
    return stack.patch_off or ("auto_patch_off" if stack.auto_patch is False else None)


def _restack_conflict(view: LayerView) -> Finding | None:
    error = _restack_error(view.layer)
    return (
        Finding("Conflict", "restack_conflict")
        if error is not None and error.kind == "rebase_conflict"
        else None
    )


def _restack_failed(view: LayerView) -> Finding | None:
    error = _restack_error(view.layer)
    if error is None or _push_is_retried(view.layer, error):
        return None
    return Finding("Restack failed", "restack_failed")


def _conflict_state(view: LayerView) -> Finding | None:
    return Finding("Conflict", "restack_conflict") if view.layer.state == "conflict" else None


def _draft(view: LayerView) -> Finding | None:
    if not view.layer.draft:
        return None
    bounce = draft_bounce(view.layer, view.entries, view.cursor) if view.is_candidate else None
    return Finding("Draft PR", "draft_pr", "pr_draft", bounce)


def _merge_conflict(view: LayerView) -> Finding | None:
    if not bound_dirty(view.layer):
        return None
    parent = view.layer.parent_branch
    return Finding(
        f"Merge conflicts vs {one_line(parent)}" if parent else "Merge conflicts", "merge_conflict"
    )


def _red_ci(view: LayerView) -> Finding | None:
    checks = view.layer.checks
    if view.layer.ci_status != "failure" and (checks is None or checks.failure <= 0):
        return None
    name = one_line(checks.failing_name or "") if checks is not None else ""
    return Finding(f"CI failed — {name}" if name else "CI failed", "ci_failed")


def _unfinished_ci(view: LayerView) -> Finding | None:
    handoff = view.layer.ci_handoff
    if view.layer.ci_status != "pending" or handoff is None or not view.layer.at_head(handoff.head_sha):
        return None
    return Finding("CI did not finish", "ci_failed")


def _failed_review(view: LayerView) -> Finding | None:
    layer = view.layer
    if layer.vortex_status != "failed" or retry_scheduled(layer):
        return None
    reviewed = layer.review.head_sha if layer.review is not None else None
    return Finding("Review failed", "vortex_failed") if reviewed is None or layer.at_head(reviewed) else None


def _out_of_quota(view: LayerView) -> Finding | None:
    if _skip_reason(view.layer) != "quota_exceeded":
        return None
    return Finding("Review skipped, out of review quota", "vortex_out_of_quota")


def _skipped_review(view: LayerView) -> Finding | None:
    if view.busy.vortex:
        return None
    label = _SKIPS.get(_skip_reason(view.layer) or "")
    review = view.layer.review
    if label is None and view.layer.vortex_status == "incomplete":
        label = _INCOMPLETE if review is not None and view.layer.at_head(review.head_sha) else None
    return Finding(label, "vortex_skipped") if label is not None else None


def _seam(view: LayerView) -> Finding | None:
    return seam_gate(view.stack, view.layer, view.busy)


def _abandoned_unit(view: LayerView) -> Finding | None:
    unit = view.stack.unit
    if unit is None or unit.state != "abandoned" or not view.is_lowest:
        return None
    base = view.layer.parent_branch or view.stack.trunk_branch or "?"
    return Finding(f"Review unit abandoned: based on {one_line(base)}", "unit_abandoned")


def _land_gate(view: LayerView) -> Finding | None:
    unit = view.stack.unit
    if unit is None or not unit.is_land_pr(view.layer):
        return None
    reason = unit.landing_block_reason
    return None if reason is None or is_pending(reason) else Finding(one_line(reason), "land_gate")


def _findings_for_a_person(view: LayerView) -> Finding | None:
    layer, review = view.layer, view.layer.review
    if layer.vortex_status != "findings" or layer.review_status != "changes_requested" or view.busy.cyclone:
        return None
    if review is not None and not (review.status == "done" and layer.at_head(review.head_sha)):
        return None
    if findings_handoff(view.stack, layer) is None:
        return None
    return Finding("Vortex findings need a person", "vortex_findings_need_person")


def _bounced(view: LayerView) -> Finding | None:
    entry = standing_bounce(view.layer, view.entries, view.cursor) if view.is_candidate else None
    if entry is None or entry.bounce is None:
        return None
    return Finding(bounce_label(entry), "bounce", entry.bounce.kind, entry)


_RULES: Final[tuple[Callable[[LayerView], Finding | None], ...]] = (
    _restack_conflict,
    _restack_failed,
    _conflict_state,
    _draft,
    _merge_conflict,
    _red_ci,
    _unfinished_ci,
    _failed_review,
    _out_of_quota,
    _skipped_review,
    _seam,
    _abandoned_unit,
    _land_gate,
    _findings_for_a_person,
    _bounced,
)


def skip_reason(layer: Layer) -> str | None:
    """Why this head was not reviewed, or only in part; None where it was."""
    return _skip_reason(layer) or ("incomplete" if layer.vortex_status == "incomplete" else None)


def _skip_reason(layer: Layer) -> str | None:
    review = layer.review
    if review is None or review.status != "skipped" or not layer.at_head(review.head_sha):
        return None
    return review.skip_reason


def _restack_error(layer: Layer) -> RestackError | None:
    return layer.restack_error if layer.state != "restacking" else None


def _push_is_retried(layer: Layer, error: RestackError) -> bool:
    if error.kind != "push_failed" or error.attempts >= _MAX_PUSH_ATTEMPTS or error.detail is None:
        return False
    if layer.state not in {"needs_restack", "restacking"} or not layer.at_head(error.head_sha):
        return False
    return _MOVED.search(error.detail) is None and _TRANSIENT_PUSH.search(error.detail) is not None

"""The seam gate: the integration review of a layer whose neighbours are in the unit already (contract 3.15, table B)."""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.stacks.agents import Busy
from mergestorm_mcp.stacks.model import Layer, Stack
from mergestorm_mcp.stacks.verdicts import Finding

__all__ = ["STUCK_SEAM_REASONS", "seam_gate"]

STUCK_SEAM_REASONS: Final = frozenset({
    "seam_review_stuck",
    "seam_rereview_not_running",
    "seam_verdict_stale",
})
"""Seam reviews that only a person can set going again."""

_STALE: Final = Finding("Seam verdict is for an older head, no review running", "seam_verdict_stale")
_IDLE: Final = {
    "pending": Finding("Seam review pending, no review running", "seam_not_running"),
    "reviewing": Finding("Seam review stuck in reviewing, no review running", "seam_review_stuck"),
    "pending_rereview": Finding("Seam re-review pending, no review running", "seam_rereview_not_running"),
}


def seam_gate(stack: Stack, layer: Layer, busy: Busy) -> Finding | None:
    """What the seam gate has against a layer.

    It opens with the first promotion, and asks nothing of promoted members and of the land PR. While Vortex reviews,
    only verdicts that stand by themselves count: a failure, and findings of this very head.
    """
    unit = stack.unit
    member = unit.member(layer) if unit is not None else None
    if unit is None or member is None or member.promoted or unit.is_land_pr(layer):
        return None
    if not any(other.promoted for other in unit.members):
        return None
    state, reviewed_here = member.seam_state, layer.at_head(member.seam_reviewed_sha)
    if state == "failed":
        return Finding("Seam review failed", "seam_failed")
    if state == "findings" and reviewed_here:
        return Finding("Seam findings", "seam_findings")
    if busy.vortex:
        return None
    if state in _IDLE:
        return _IDLE[state]
    if layer.head_sha is None or reviewed_here:
        return None
    if state == "findings":
        return _STALE
    # Approval of an older head is good enough once the head has been reviewed on its own.
    return _STALE if state == "approved" and not _core_review_done(layer) else None


def _core_review_done(layer: Layer) -> bool:
    review = layer.review
    return review is not None and review.status == "done" and layer.at_head(review.head_sha)

"""The words of a blocker: what is wrong, by label for people and by reason for the rules (contract 3.15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.stacks.model import QueueEntry

__all__ = ["NO_RUN_CLEARS", "Finding", "Issue"]

NO_RUN_CLEARS: Final = frozenset({
    "draft_pr",
    "merge_conflict",
    "restack_conflict",
    "restack_failed",
    "seam_not_running",
    "seam_rereview_not_running",
    "seam_review_stuck",
    "seam_verdict_stale",
    "unit_abandoned",
    "vortex_out_of_quota",
    "vortex_skipped",
})
"""Reasons that are named even while an agent works, because no agent's run can change them (3.15 E)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a layer cannot move.

    Attributes:
        label: for people.
        reason: for the rules; one of the reason keys of contract 3.15.
        bounce_kind: kind of the bounce behind it, or what such a bounce would be called.
        bounce: the bounce to stamp once this is reported.
        from_auto_land: whether Auto land's own wait said so.
    """

    label: str
    reason: str
    bounce_kind: str | None = None
    bounce: QueueEntry | None = None
    from_auto_land: bool = False


@dataclass(frozen=True, slots=True)
class Issue:
    """A finding with its place, as results show it."""

    pr_number: int | None
    head_sha: str | None
    blocker: str
    bounce_kind: str | None = None

    def wire(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "prNumber": self.pr_number,
            "headSha": self.head_sha,
            "blocker": self.blocker,
            "bounceKind": self.bounce_kind,
        }

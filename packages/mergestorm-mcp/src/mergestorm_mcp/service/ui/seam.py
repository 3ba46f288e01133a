"""Seam reviews that do not go on by themselves, and the Continue that sets one going again."""

from __future__ import annotations

from mergestorm_mcp.service.agents import vortex
from mergestorm_mcp.service.agents.auto_land import needs_seam
from mergestorm_mcp.service.pr_reviews.passes import UNDER_WAY
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["continue_seam", "seam_is_stuck"]


def seam_is_stuck(site: Site, stack: LiveStack, layer: LiveLayer) -> bool:
    """Whether a member needs a verdict on its seam, has none on its head, and no review is under way.

    Findings on this very head are no such case: they want a new commit or a dismissal.
    """
    member = layer.member
    if member is None or not layer.open or not needs_seam(site, stack, layer):
        return False
    if layer.seam is not None and layer.seam["status"] in UNDER_WAY:
        return False
    here = member["seam_reviewed_sha"] == layer.head
    return member["seam_state"] == "failed" or not (here and member["seam_state"] in {"approved", "findings"})


def continue_seam(site: Site, stack: LiveStack, layer: LiveLayer) -> None:
    """Queue the seam review of a member again, at the head its branch has now.

    Raises:
        Refusal: 409 `seam_not_stuck`.
    """
    if layer.head is None or not seam_is_stuck(site, stack, layer):
        raise Refusal(409, "seam_not_stuck", f"The seam review of #{layer.pull.number} needs no push.")
    vortex.request_seam(site, layer.pull, layer.head)
    record(
        site.world,
        site.connection,
        "vortex",
        f"#{layer.pull.number}: a person asked for the seam review again",
        stack_id=stack.row["id"],
    )

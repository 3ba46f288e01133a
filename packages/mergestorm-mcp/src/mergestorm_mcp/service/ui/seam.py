"""Seam reviews that do not go on by themselves: those that the Continue of a person sets going again."""

from __future__ import annotations

from mergestorm_mcp.service.agents.auto_land import needs_seam
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["seam_is_stuck", "seam_rests"]


def seam_rests(site: Site, stack: LiveStack, layer: LiveLayer) -> bool:
    """Whether a member needs its seam approved, has no approval of its head, and no review is under way."""
    if not layer.open or not needs_seam(site, stack, layer):
        return False
    if layer.seam_running:
        return False
    return not layer.seam_approved


def seam_is_stuck(site: Site, stack: LiveStack, layer: LiveLayer) -> bool:
    """Whether a seam rests without a result on this head: no findings to mend, no failure, and nobody at work."""
    member = layer.member
    if member is None or not seam_rests(site, stack, layer):
        return False
    if member["seam_state"] == "findings":
        return bool(member["seam_reviewed_sha"] != layer.head)
    return bool(member["seam_state"] != "failed")

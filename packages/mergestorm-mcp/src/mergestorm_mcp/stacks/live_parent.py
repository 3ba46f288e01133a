"""Which branch a conflicting layer has to be merged with (contract 3.15 F).

Never a frozen base, never a branch that is merged, closed or promoted: those do not move any more, and a merge with one
repairs nothing.
"""

from __future__ import annotations

from mergestorm_mcp.stacks.candidate import is_land_pr, is_promoted
from mergestorm_mcp.stacks.model import Layer, Stack, is_park_branch

__all__ = ["live_parent"]


def live_parent(stack: Stack, layer: Layer) -> str | None:
    """The branch to merge from; None where there is none, and a person has to decide."""
    if stack.unit is not None and is_land_pr(stack, layer):
        base = stack.unit.land_target or layer.parent_branch
        return None if is_park_branch(base) else base
    below = [
        item for item in stack.layers if item.open and item.position < layer.position and item is not layer
    ]
    for sibling in reversed(below):
        if sibling.branch is not None and not is_promoted(stack, sibling) and not is_land_pr(stack, sibling):
            return sibling.branch
    settled = {item.branch for item in stack.layers if item.terminal or is_promoted(stack, item)}
    settled |= (
        {member.branch for member in stack.unit.members if member.promoted}
        if stack.unit is not None
        else set()
    )
    choices = (
        layer.restack_error.from_branch if layer.restack_error is not None else None,
        layer.parent_branch,
        stack.unit.branch if stack.unit is not None else None,
        stack.trunk_branch,
    )
    usable = (branch for branch in choices if branch and not is_park_branch(branch))
    return next((branch for branch in usable if branch not in settled and branch != layer.branch), None)

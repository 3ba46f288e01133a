"""Which layer is next, and which conflicting layer stands on it (contract 3.15, helpers)."""

from __future__ import annotations

from dataclasses import dataclass

from mergestorm_mcp.stacks.model import Layer, Stack, is_park_branch, same_head

__all__ = ["OpenLayers", "bound_dirty", "is_land_pr", "is_promoted", "open_layers"]


@dataclass(frozen=True, slots=True)
class OpenLayers:
    """The layers that still have to be merged.

    Attributes:
        layers: in position order; a land PR that is no layer comes last if it is the candidate.
        candidate: the one to be merged next; None if there is none.
        candidate_place: where it is in the list.
        child: the lowest conflicting layer that stands on the candidate.
    """

    layers: tuple[Layer, ...]
    candidate: Layer | None
    candidate_place: int | None
    child: Layer | None

    def is_candidate(self, layer: Layer) -> bool:
        """Whether a layer is the candidate."""
        return layer is self.candidate

    def reaches(self, place: int) -> bool:
        """Whether the layer at a place of the list is the candidate or above it; without a candidate every one is."""
        return self.candidate_place is None or place >= self.candidate_place


def open_layers(stack: Stack) -> OpenLayers:
    """Find the open layers, the candidate and its conflicting child.

    The candidate is the lowest open layer that is neither promoted nor the land PR; else the open land PR.
    """
    layers = [layer for layer in stack.layers if layer.open]
    unit = stack.unit
    place = next((at for at, layer in enumerate(layers) if _is_unmerged_member(stack, layer)), None)
    if place is None and unit is not None:
        place = next((at for at, layer in enumerate(layers) if unit.is_land_pr(layer)), None)
        if place is None and unit.land_pr is not None and unit.land_pr.open:
            place = len(layers)
            layers.append(unit.land_pr)
    if place is None:
        return OpenLayers(tuple(layers), None, None, None)
    return OpenLayers(tuple(layers), layers[place], place, _child(layers[place], layers[place + 1 :]))


def is_land_pr(stack: Stack, layer: Layer) -> bool:
    """Whether a layer is the land PR of the stack's unit."""
    return stack.unit is not None and stack.unit.is_land_pr(layer)


def is_promoted(stack: Stack, layer: Layer) -> bool:
    """Whether a layer was merged into the stack's unit already."""
    member = stack.unit.member(layer) if stack.unit is not None else None
    return member is not None and member.promoted


def bound_dirty(layer: Layer) -> bool:
    """Whether GitHub says, of this very head, that the layer cannot be merged into its base.

    A verdict on a frozen base says nothing about the live parent, and one without a verdict nothing at all.
    """
    if is_park_branch(layer.parent_branch) or layer.mergeable is None:
        return False
    if layer.head_sha is not None and not same_head(layer.mergeable_head_sha, layer.head_sha):
        return False
    return not layer.mergeable or layer.mergeable_state == "dirty"


def _is_unmerged_member(stack: Stack, layer: Layer) -> bool:
    return not is_land_pr(stack, layer) and not is_promoted(stack, layer)


def _child(candidate: Layer, above: list[Layer]) -> Layer | None:
    if candidate.branch is None:
        return None
    return next(
        (layer for layer in above if layer.parent_branch == candidate.branch and _conflicts(layer)), None
    )


def _conflicts(layer: Layer) -> bool:
    error = layer.restack_error
    rebase = error is not None and error.kind == "rebase_conflict" and layer.state != "restacking"
    return rebase or layer.state == "conflict" or bound_dirty(layer)

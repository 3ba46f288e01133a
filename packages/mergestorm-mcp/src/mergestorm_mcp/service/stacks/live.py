"""A layer as it is at this moment: its row, its pull request, and what git, CI and the reviewers say of its head."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.github.hub import Check, Pull
from mergestorm_mcp.service.pr_reviews.passes import latest_pass, passes_at, verdict_of_passes
from mergestorm_mcp.service.pr_reviews.verdict import UNDER_WAY, HeadVerdict
from mergestorm_mcp.service.stacks.records import layers_of, members_of, unit_of
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["LiveLayer", "LiveStack", "ci_status", "live_pull", "live_stack"]


@dataclass(frozen=True, slots=True)
class LiveLayer:
    """One pull request of a stack, or the land PR.

    Attributes:
        row: the layer's row; None for the land PR.
        pull: its pull request.
        head: the commit of its branch; after the merge, the one that was merged.
        base_head: the commit its base stands at, or stood at before the merge.
        checks: of the head.
        core: the newest Core pass over the head; the newest of the pull request where the head has none.
        seam: the newest seam pass over the head.
        verdict: on the head.
        merge: what merging it into its base gives; None where that cannot be said.
        state: the layer's state in the words of the service.
        member: its membership in the unit.
    """

    row: sqlite3.Row | None
    pull: Pull
    head: str | None
    base_head: str | None
    checks: Sequence[Check]
    core: sqlite3.Row | None
    seam: sqlite3.Row | None
    verdict: HeadVerdict
    merge: MergeResult | None
    state: str
    member: sqlite3.Row | None

    @property
    def open(self) -> bool:
        """The pull request is open."""
        return self.pull.open

    @property
    def promoted(self) -> bool:
        """It was merged into the unit."""
        return self.member is not None and self.member["promoted_head"] is not None

    @property
    def waiting(self) -> bool:
        """It is still to be merged: into its unit, or onto the trunk."""
        return self.open and not self.promoted

    @property
    def seam_running(self) -> bool:
        """An integration review of the head is queued or under way."""
        return self.seam is not None and self.seam["status"] in UNDER_WAY

    @property
    def seam_approved(self) -> bool:
        """The integration review of this very head approved it."""
        return (
            self.member is not None
            and self.member["seam_state"] == "approved"
            and self.member["seam_reviewed_sha"] == self.head
        )

    @property
    def ci(self) -> str:
        """What the checks of the head come to."""
        return ci_status(self.checks)

    @property
    def failing_check(self) -> str | None:
        """The first check of the head that fails."""
        return next((check.name for check in self.checks if check.status == "failure"), None)


@dataclass(frozen=True, slots=True)
class LiveStack:
    """A stack with its layers, bottom first, and its unit.

    Attributes:
        candidate: the layer to be merged next: the lowest open one that was not promoted, else the open land PR.
    """

    row: sqlite3.Row
    layers: Sequence[LiveLayer]
    unit: sqlite3.Row | None
    members: Mapping[int, sqlite3.Row]
    land: LiveLayer | None

    @property
    def pulls(self) -> Sequence[LiveLayer]:
        """The layers, and the land PR after them."""
        return self.layers if self.land is None else [*self.layers, self.land]

    @property
    def waiting(self) -> Sequence[LiveLayer]:
        """The layers that are still to be merged."""
        return [layer for layer in self.layers if layer.waiting]

    @property
    def candidate(self) -> LiveLayer | None:
        """What is to be merged next."""
        lowest = next(iter(self.waiting), None)
        if lowest is not None:
            return lowest
        return self.land if self.land is not None and self.land.open else None

    @property
    def promoting(self) -> bool:
        """Whether some member was promoted, so that the seam gate stands."""
        return any(member["promoted_head"] is not None for member in self.members.values())


def ci_status(checks: Sequence[Check]) -> str:
    """success, failure, pending, neutral, or none without any check."""
    statuses = {check.status for check in checks}
    for status in ("failure", "pending", "success", "neutral"):
        if status in statuses:
            return status
    return "none"


def live_stack(site: Site, row: sqlite3.Row) -> LiveStack:
    """Look at a stack."""
    unit = unit_of(site.connection, row["id"])
    members = members_of(site.connection, unit["id"]) if unit is not None else {}
    layers: list[LiveLayer] = []
    parent: LiveLayer | None = None
    for layer in layers_of(site.connection, row["id"]):
        pull = site.hub.pull(site.connection, site.repo_id, layer["pull_number"])
        if pull is None:
            continue
        live = live_pull(site, pull, layer, members.get(pull.number), parent)
        layers.append(live)
        if live.waiting:
            parent = live
    land = None
    if unit is not None and unit["land_pull"] is not None:
        pull = site.hub.pull(site.connection, site.repo_id, unit["land_pull"])
        land = live_pull(site, pull) if pull is not None else None
    return LiveStack(row, layers, unit, members, land)


def live_pull(
    site: Site,
    pull: Pull,
    row: sqlite3.Row | None = None,
    member: sqlite3.Row | None = None,
    parent: LiveLayer | None = None,
) -> LiveLayer:
    """Look at a pull request.

    Args:
        site: where it is.
        pull: its row.
        row: the layer's row; None for a pull request outside a stack, and for a land PR.
        member: its membership in a unit.
        parent: the nearest layer below that is still to be merged.
    """
    connection = site.connection
    head = site.git.head(pull.head_branch) if pull.open else pull.last_head
    base_head = site.git.head(pull.base_branch) if pull.open else pull.last_base
    merge = None
    if pull.open and head is not None and base_head is not None:
        merge = site.merge(base_head, head)
    here = passes_at(connection, site.repo_id, pull.number, head) if head is not None else []
    seams = passes_at(connection, site.repo_id, pull.number, head, "seam") if head is not None else []
    return LiveLayer(
        row=row,
        pull=pull,
        head=head,
        base_head=base_head,
        checks=site.hub.checks(connection, site.repo_id, head) if head is not None else [],
        core=here[-1] if here else latest_pass(connection, site.repo_id, pull.number),
        seam=seams[-1] if seams else None,
        verdict=verdict_of_passes(connection, here),
        merge=merge,
        state=_state(site, pull, row, head, parent),
        member=member,
    )


def _state(
    site: Site, pull: Pull, row: sqlite3.Row | None, head: str | None, parent: LiveLayer | None
) -> str:
    if not pull.open:
        return pull.state
    if row is None or head is None:
        return "clean"
    if row["restack_kind"] == "rebase_conflict" and row["restack_head"] == head:
        return "conflict"
    if parent is not None and parent.head is not None and not site.contains(head, parent.head):
        return "needs_restack"
    return "clean"

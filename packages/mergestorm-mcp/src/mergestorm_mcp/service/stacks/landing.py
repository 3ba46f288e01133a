"""Moving a stack on by hand: the next layer into its unit, or the last pull request onto the trunk, without the queue."""

from __future__ import annotations

import sqlite3
from typing import Any

from mergestorm_mcp.service.agents.auto_land import needs_seam
from mergestorm_mcp.service.agents.reactions import advance, on_head_changed
from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack, live_stack
from mergestorm_mcp.service.stacks.queue import land_now
from mergestorm_mcp.service.stacks.records import live_entry
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.stacks.units import promote

__all__ = ["land_next"]


def land_next(site: Site, row: sqlite3.Row, number: int | None) -> dict[str, Any]:
    """Merge the next pull request of a stack where it goes: into the unit, or from the unit (or alone) onto the trunk.

    Args:
        site: the repository.
        row: the stack.
        number: the pull request that is meant; None for whichever is next.

    Raises:
        Refusal: 409 `nothing_to_land`, `not_next`, `busy`, `draft`, `ci_failed`, `review_findings_open`,
            `seam_findings` or `conflict_unchanged`.
    """
    stack = live_stack(site, row)
    layer = stack.candidate
    if layer is None or layer.head is None:
        raise Refusal(409, "nothing_to_land", "The stack has no open pull request.")
    if number is not None and number != layer.pull.number:
        raise Refusal(409, "not_next", f"#{layer.pull.number} comes before #{number}.")
    if live_entry(site.connection, row["id"]) is not None:
        raise Refusal(409, "busy", "The stack is in the merge queue; take it out first.")
    _check(site, stack, layer)
    merged = {"mergedPrNumber": layer.pull.number, "mergedBranch": layer.pull.head_branch}
    if stack.unit is None or layer is stack.land:
        land_now(site, stack, layer)
        trunk = layer.pull.base_branch
        on_head_changed(site.world, site.connection, site.repo_id, trunk, site.git.head(trunk))
        return merged
    if isinstance(promote(site, stack, layer), MergeResult):
        raise Refusal(
            409, "conflict_unchanged", f"#{layer.pull.number} conflicts with {stack.unit['branch']}."
        )
    advance(site, row["id"])
    return {**merged, "uNumber": stack.unit["number"]}


def _check(site: Site, stack: LiveStack, layer: LiveLayer) -> None:
    number = layer.pull.number
    if layer.pull.draft:
        raise Refusal(409, "draft", f"#{number} is a draft.")
    if layer.ci == "failure":
        raise Refusal(409, "ci_failed", f"A check fails at the head of #{number}.")
    if layer.verdict.verdict == "request_changes":
        raise Refusal(409, "review_findings_open", f"The review of #{number} has open error findings.")
    seam = layer.member["seam_state"] if layer.member is not None else None
    if needs_seam(site, stack, layer) and seam in {"findings", "failed"}:
        raise Refusal(409, "seam_findings", f"The integration review of #{number} has open findings.")
    if layer.merge is None or not layer.merge.clean:
        raise Refusal(409, "conflict_unchanged", f"#{number} does not merge into {layer.pull.base_branch}.")

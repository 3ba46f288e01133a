"""Who is at work on a layer (contract 3.15, "agents busy").

The service's `agentsBusy` is the last word where it is there. Otherwise it is worked out: only a run that is known to be
of this head counts for Vortex, a queued run only while it is young, and a bare "seam_pending" or "queued" status never.
Cyclone's patching counts for any head, because it is about to make a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.stacks.model import AgentRun, Layer

__all__ = ["ENQUEUE_GRACE_SECONDS", "QUEUED_RUN_SECONDS", "Busy", "agents_busy", "agents_view"]

QUEUED_RUN_SECONDS: Final = 15 * 60.0
"""How long a queued run holds."""

ENQUEUE_GRACE_SECONDS: Final = 120.0
"""How long an announced conflict or CI repair holds before its run shows [D]."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Which agents are at work."""

    vortex: bool
    cyclone: bool

    @property
    def names(self) -> list[str]:
        """The busy ones, Cyclone first."""
        return [name for name, busy in (("cyclone", self.cyclone), ("vortex", self.vortex)) if busy]


def agents_busy(layer: Layer, now: float) -> Busy:
    """Who is at work on a layer.

    Args:
        layer: the layer.
        now: seconds since the epoch.
    """
    if layer.busy is not None:
        return Busy(layer.busy.vortex, layer.busy.cyclone)
    return Busy(_vortex(layer, now), _cyclone(layer, now))


def agents_view(layer: Layer, busy: Busy) -> dict[str, Any]:
    """The `agents` member of results."""
    review = layer.review
    return {
        "prNumber": layer.pr_number,
        "headSha": layer.head_sha,
        "vortexStatus": layer.vortex_status,
        "cycloneStatus": layer.cyclone_status,
        "vortexReview": (
            {"status": review.status, "headSha": review.head_sha, "pass": review.number}
            if review is not None
            else None
        ),
        "busy": {"vortex": busy.vortex, "cyclone": busy.cyclone},
    }


def _vortex(layer: Layer, now: float) -> bool:
    review = layer.review
    if review is not None and review.status == "reviewing" and layer.at_head(review.head_sha):
        return True
    for run in _unfinished(layer, "vortex"):
        if layer.at_head(run.sha) and (run.status == "reviewing" or _freshly_queued(run, now)):
            return True
    return layer.runs is None and review is None and layer.vortex_status == "reviewing"


def _cyclone(layer: Layer, now: float) -> bool:
    if layer.cyclone_status == "patching":
        return True
    for run in _unfinished(layer, "cyclone"):
        if run.status == "patching" or (layer.at_head(run.sha) and _freshly_queued(run, now)):
            return True
    announced = (layer.conflict_pending_since, layer.ci_pending_since)
    return any(since is not None and now - since <= ENQUEUE_GRACE_SECONDS for since in announced)


def _unfinished(layer: Layer, agent: str) -> list[AgentRun]:
    return [run for run in layer.runs or () if run.agent == agent and not run.finished]


def _freshly_queued(run: AgentRun, now: float) -> bool:
    return (
        run.status == "queued" and run.started_at is not None and now - run.started_at <= QUEUED_RUN_SECONDS
    )

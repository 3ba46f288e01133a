"""What a wait returns: the watch envelope, schema `mergestorm.stack_watch/v1` (contract 3.14)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.model import Layer, Stack
from mergestorm_mcp.stacks.obligation import done_watch, open_watch, terminal_reason

__all__ = ["SCHEMA", "WatchEnvelope"]

SCHEMA: Final = "mergestorm.stack_watch/v1"

_NOTHING: Final[dict[str, Any]] = {
    "blocker": None,
    "bounceKind": None,
    "prNumber": None,
    "headSha": None,
    "issues": [],
    "currentCandidate": None,
    "busy": [],
    "actAfter": None,
    "waitingOn": [],
    "agents": None,
    "repair": None,
    "landGatePending": None,
    "queueWait": None,
}


@dataclass(frozen=True, slots=True)
class WatchEnvelope:
    """What is known of a stack at one moment of a wait.

    Attributes:
        cursor: where the watch has got to.
        status: attention, waiting, in_progress, rate_limited or failed.
        known: the live fields, as results show them.
        available: whether the last read of stack and queue succeeded.
        ended: how the stack ended; None while it goes on.
        vanished_with: pull requests that were seen of a stack before it vanished.
    """

    cursor: Cursor
    status: str = "failed"
    known: dict[str, Any] | None = None
    available: bool = False
    ended: str | None = None
    vanished_with: frozenset[int] = frozenset()

    @classmethod
    def assessed(cls, stack: Stack, assessment: Assessment, cursor: Cursor) -> Self:
        """The envelope of a stack and a queue that were read. A bounce that is reported moves the cursor."""
        attention, held, busy = assessment.attention, assessment.held, assessment.busy
        shown = attention or (held.issue if held is not None else None)
        place: tuple[int | None, str | None] = (None, None)
        if shown is not None:
            place = (shown.pr_number, shown.head_sha)
        elif busy:
            place = (busy[0].pr_number, busy[0].head_sha)
        elif assessment.candidate is not None:
            place = (assessment.candidate.pr_number, assessment.candidate.head_sha)
        if attention is not None:
            status = "attention"
        elif busy or assessment.land_gate is not None or assessment.queue_live:
            status = "in_progress"
        else:
            status = "waiting"
        known = {
            "blocker": shown.blocker if shown is not None else None,
            "bounceKind": shown.bounce_kind if shown is not None else None,
            "prNumber": place[0],
            "headSha": place[1],
            "issues": [issue.wire() for issue in assessment.issues],
            "currentCandidate": assessment.candidate_wire(),
            "busy": [item.wire() for item in busy],
            "actAfter": "agents_idle" if held is not None else None,
            "waitingOn": list(held.waiting_on) if held is not None else [],
            "agents": assessment.agents,
            "repair": assessment.repair,
            "landGatePending": assessment.land_gate,
            "queueWait": assessment.queue_wire(),
        }
        stamp = assessment.bounce if attention is not None else None
        return cls(
            cursor=cursor if stamp is None else cursor.stamped(stamp),
            status=status,
            known=known,
            available=True,
            ended=terminal_reason(stack),
        )

    def seen(self, candidate: Layer | None) -> Self:
        """This envelope once the stack is read for the first time and its queue is not yet."""
        if candidate is None:
            return self
        place = {"prNumber": candidate.pr_number, "headSha": candidate.head_sha}
        return replace(self, known={**_NOTHING, **place, "currentCandidate": place})

    def unread(self, status: str | None = None) -> Self:
        """This envelope after a read failed: what is known stays, but is no longer vouched for."""
        return replace(self, status=status or self.status, available=False)

    def vanished(self, pull_requests: frozenset[int]) -> Self:
        """This envelope after the service stopped listing the stack: nothing live is left of it.

        Args:
            pull_requests: those that were seen before.
        """
        return replace(
            self,
            status="failed",
            known=None,
            available=False,
            ended="not_found",
            vanished_with=pull_requests | self.pull_requests,
        )

    @property
    def pull_requests(self) -> frozenset[int]:
        """The pull requests this envelope is about."""
        known = self.known or {}
        places = (known, known.get("currentCandidate") or {})
        return self.vanished_with | {number for place in places if (number := place.get("prNumber"))}

    @property
    def done(self) -> bool:
        """Whether the watch is over."""
        return self.ended is not None

    def watch(self, retry_after: float | None = None) -> dict[str, Any]:
        """The `watch` member."""
        if self.ended is not None:
            return done_watch(self.ended)
        reason = self.status if self.status in {"rate_limited", "failed", "attention"} else "open"
        known = self.known or _NOTHING
        return open_watch(
            self.cursor.stack_id,
            reason=reason,
            selectors=self.cursor.selectors(),
            pr_number=known["prNumber"],
            blocker=known["blocker"],
            retry_after=retry_after,
        )

    def wire(self, retry_after: float | None = None) -> dict[str, Any]:
        """The JSON form, `watch` included."""
        return {
            "schema": SCHEMA,
            "status": self.status,
            "stackId": self.cursor.stack_id,
            "assessment": "available" if self.available else "unavailable",
            "cursor": self.cursor.wire(),
            **(self.known or _NOTHING),
            "watch": self.watch(retry_after),
        }

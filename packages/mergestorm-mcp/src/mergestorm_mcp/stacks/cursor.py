"""What a wait remembers between two calls (contract 3.14): the enrolled head and the last bounce that was reported.

The enrolled head never changes. The bounce only moves forward in time, so that a call never reports again what an
earlier one reported. A member that was never given is left out of the wire form, which is not the same as null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Literal, Self

from mergestorm_mcp.stacks.model import QueueEntry, moment

__all__ = ["UNSET", "Cursor", "Unset"]


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""A member of a cursor that nobody gave."""

_Given = str | None | Literal[Unset.UNSET]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a watch of one stack has got to.

    Attributes:
        stack_id: the stack's id, trimmed and in lower case.
        enrolled_head_sha: head of the candidate when the watch began.
        after_finished_at: when the last reported bounce finished.
        bounce_id: the last reported bounce.
    """

    stack_id: str
    enrolled_head_sha: str | None = None
    after_finished_at: _Given = UNSET
    bounce_id: _Given = UNSET

    @classmethod
    def from_selectors(cls, stack_id: str, selectors: Mapping[str, str | None]) -> Self | None:
        """The cursor of a call's selectors, values unchanged; None without any, for then the watch enrols itself.

        Args:
            stack_id: the stack's id, trimmed and in lower case.
            selectors: those that were given of `enrolled_head_sha`, `after_finished_at` and `bounce_id`.
        """
        if not selectors:
            return None
        return cls(
            stack_id=stack_id,
            enrolled_head_sha=selectors.get("enrolled_head_sha"),
            after_finished_at=selectors.get("after_finished_at", UNSET),
            bounce_id=selectors.get("bounce_id", UNSET),
        )

    def reported(self, entry: QueueEntry) -> bool:
        """Whether a bounce was reported by an earlier call: the same one, or one that did not finish later.

        A bounce whose time is unknown counts as new: telling twice is better than never.
        """
        if isinstance(self.bounce_id, str) and entry.id is not None and self.bounce_id.strip() == entry.id:
            return True
        known, finished = self._time(), moment(entry.finished_at)
        return known is not None and finished is not None and finished <= known

    def stamped(self, entry: QueueEntry) -> Self:
        """This cursor after a bounce was reported; itself if that bounce is older than the last one."""
        known, finished = self._time(), moment(entry.finished_at)
        if known is not None and finished is not None and finished < known:
            return self
        time = self.after_finished_at
        if entry.finish_known and (known is None or finished is not None):
            time = entry.finished_at
        return replace(self, bounce_id=entry.id, after_finished_at=time)

    def selectors(self) -> dict[str, str | None]:
        """The arguments that hand this cursor to the next call."""
        return {"enrolled_head_sha": self.enrolled_head_sha} | self._given("after_finished_at", "bounce_id")

    def wire(self) -> dict[str, Any]:
        """The cursor as results show it."""
        given = self._given("afterFinishedAt", "bounceId")
        return {"stackId": self.stack_id, "enrolledHeadSha": self.enrolled_head_sha, **given}

    def _given(self, time_name: str, bounce_name: str) -> dict[str, str | None]:
        members = ((time_name, self.after_finished_at), (bounce_name, self.bounce_id))
        return {name: value for name, value in members if not isinstance(value, Unset)}

    def _time(self) -> float | None:
        return None if isinstance(self.after_finished_at, Unset) else moment(self.after_finished_at)

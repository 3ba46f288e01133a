"""The service's stacks as Python values (contract 1.4).

Readers are tolerant: unknown fields are ignored, and a field of the wrong type reads as not there. Words with a fixed
vocabulary (states, statuses, reasons) lose surrounding blanks and upper case; names and ids only lose blanks. A head is
a commit id, full or abbreviated; `same_head` compares two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Self

__all__ = [
    "CLOSED_STATES",
    "LIVE_STATES",
    "AgentRun",
    "AutoLandOff",
    "AutoLandWait",
    "Bounce",
    "Checks",
    "Handoff",
    "Layer",
    "Member",
    "QueueAhead",
    "QueueEntry",
    "RestackError",
    "Settle",
    "Stack",
    "Unit",
    "VortexReview",
    "is_park_branch",
    "moment",
    "read_entries",
    "same_head",
    "same_id",
]

CLOSED_STATES: Final = frozenset({"merged", "closed"})
"""Layer states nothing follows."""

LIVE_STATES: Final = frozenset({"queued", "running", "waiting"})
"""States of a queue entry that is still on its way."""

_PARK_PREFIX: Final = "mg-park-"
_MAX_TEXT: Final = 4000
_MAX_NUMBER: Final = 2**53
_MAX_ITEMS: Final = 500  # no stack has so many of anything; keeps the work on a broken answer small

Json = Mapping[str, Any]


def same_head(one: str | None, other: str | None) -> bool:
    """Whether two commit ids name the same commit: equal but for case, or one an abbreviation of the other."""
    left, right = (one or "").strip().lower(), (other or "").strip().lower()
    return bool(left and right) and (left.startswith(right) or right.startswith(left))


def same_id(one: str | None, other: str | None) -> bool:
    """Whether two ids are the same but for case and surrounding blanks."""
    return (one or "").strip().lower() == (other or "").strip().lower()


def is_park_branch(branch: str | None) -> bool:
    """Whether a branch is one of the service's frozen bases, which nobody merges from."""
    return (branch or "").strip().lower().startswith(_PARK_PREFIX)


def moment(value: Any) -> float | None:
    """Seconds since the epoch of an ISO 8601 time; None if it is none. Without a zone it is UTC."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        read = datetime.fromisoformat(value.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _text(raw: Json, name: str) -> str | None:
    value = raw.get(name)
    return value.strip()[:_MAX_TEXT] or None if isinstance(value, str) else None


def _word(raw: Json, name: str) -> str | None:
    value = _text(raw, name)
    return value.lower() if value is not None else None


def _number(raw: Json, name: str) -> int | None:
    return _integral(raw.get(name))


def _integral(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _MAX_NUMBER:
        return None
    return int(value)


def _flag(raw: Json, name: str) -> bool | None:
    value = raw.get(name)
    return value if isinstance(value, bool) else None


def _object(raw: Json, name: str) -> Json | None:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else None


def _objects(raw: Json, name: str) -> list[Json]:
    value = raw.get(name)
    items = value[:_MAX_ITEMS] if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def _texts(raw: Json, name: str) -> tuple[str, ...]:
    value = raw.get(name)
    items = value[:_MAX_ITEMS] if isinstance(value, list) else []
    return tuple(item.strip()[:_MAX_TEXT] for item in items if isinstance(item, str) and item.strip())


def _numbers(raw: Json, name: str) -> tuple[int, ...]:
    value = raw.get(name)
    items = value[:_MAX_ITEMS] if isinstance(value, list) else []
    return tuple(number for number in map(_integral, items) if number is not None)


@dataclass(frozen=True, slots=True)
class Checks:
    """Counts of a head's checks."""

    total: int
    success: int
    pending: int
    failure: int
    failing_name: str | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `checks`; None where there are none."""
        if raw is None:
            return None
        return cls(
            total=_number(raw, "total") or 0,
            success=_number(raw, "success") or 0,
            pending=_number(raw, "pending") or 0,
            failure=_number(raw, "failure") or 0,
            failing_name=_text(raw, "failingName"),
        )


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of an agent."""

    agent: str | None
    status: str | None
    sha: str | None
    started_at: float | None
    finished: bool

    @classmethod
    def read(cls, raw: Json) -> Self:
        """Read an item of `agentRuns`."""
        return cls(
            agent=_word(raw, "agent"),
            status=_word(raw, "status"),
            sha=_text(raw, "sha"),
            started_at=moment(raw.get("startedAt")),
            finished=raw.get("finishedAt") is not None,
        )


@dataclass(frozen=True, slots=True)
class VortexReview:
    """The review view of a layer. `number` is the pass."""

    status: str | None
    skip_reason: str | None
    number: int | None
    head_sha: str | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `vortexReview`; None where there is none."""
        if raw is None:
            return None
        return cls(
            _word(raw, "status"), _word(raw, "skip_reason"), _number(raw, "pass"), _text(raw, "head_sha")
        )


@dataclass(frozen=True, slots=True)
class Handoff:
    """Cyclone gave a head to a person, and why."""

    head_sha: str | None
    reason: str | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read one of the `cyclone…Handoff` members; None where there is none."""
        return None if raw is None else cls(_text(raw, "headSha"), _word(raw, "reason"))


@dataclass(frozen=True, slots=True)
class RestackError:
    """Why the service could not restack a layer."""

    kind: str | None
    detail: str | None
    head_sha: str | None
    attempts: int
    from_branch: str | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `restackError`; None where there is none."""
        if raw is None:
            return None
        source = _object(raw, "from")
        return cls(
            kind=_word(raw, "kind"),
            detail=_text(raw, "detail"),
            head_sha=_text(raw, "headSha"),
            attempts=_number(raw, "attempts") or 0,
            from_branch=_text(source, "branch") if source is not None else None,
        )


@dataclass(frozen=True, slots=True)
class AgentsBusy:
    """The service's own word on who is at work."""

    vortex: bool
    cyclone: bool

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `agentsBusy`; None where there is none."""
        return None if raw is None else cls(raw.get("vortex") is True, raw.get("cyclone") is True)


@dataclass(frozen=True, slots=True)
class Layer:
    """One pull request of a stack. `pr_number` 0 means that there is no pull request yet.

    `runs` is None where the service does not list runs at all, which is not the same as an empty list.
    """

    branch: str | None
    parent_branch: str | None
    pr_number: int
    position: int
    state: str | None
    ci_status: str | None
    review_status: str | None
    checks: Checks | None
    vortex_status: str | None
    cyclone_status: str | None
    runs: tuple[AgentRun, ...] | None
    review: VortexReview | None
    busy: AgentsBusy | None
    handoff: Handoff | None
    conflict_handoff: Handoff | None
    ci_handoff: Handoff | None
    conflict_pending_since: float | None
    ci_pending_since: float | None
    conflict_detail: str | None
    restack_error: RestackError | None
    mergeable: bool | None
    mergeable_state: str | None
    head_sha: str | None
    mergeable_head_sha: str | None
    draft: bool

    @classmethod
    def read(cls, raw: Json, index: int = 0) -> Self:
        """Read a layer.

        Args:
            raw: the service's object.
            index: its place in the list, for a layer that does not name its position.
        """
        runs = raw.get("agentRuns")
        position = _number(raw, "position")
        return cls(
            branch=_text(raw, "branch"),
            parent_branch=_text(raw, "parentBranch"),
            pr_number=_number(raw, "prNumber") or 0,
            position=index if position is None else position,
            state=_word(raw, "state"),
            ci_status=_word(raw, "ciStatus"),
            review_status=_word(raw, "reviewStatus"),
            checks=Checks.read(_object(raw, "checks")),
            vortex_status=_word(raw, "vortexStatus"),
            cyclone_status=_word(raw, "cycloneStatus"),
            runs=tuple(AgentRun.read(run) for run in _objects(raw, "agentRuns"))
            if isinstance(runs, list)
            else None,
            review=VortexReview.read(_object(raw, "vortexReview")),
            busy=AgentsBusy.read(_object(raw, "agentsBusy")),
            handoff=Handoff.read(_object(raw, "cycloneHandoff")),
            conflict_handoff=Handoff.read(_object(raw, "cycloneConflictHandoff")),
            ci_handoff=Handoff.read(_object(raw, "cycloneCiHandoff")),
            conflict_pending_since=moment(raw.get("cycloneConflictPendingSince")),
            ci_pending_since=moment(raw.get("cycloneCiPendingSince")),
            conflict_detail=_text(raw, "conflictDetail"),
            restack_error=RestackError.read(_object(raw, "restackError")),
            mergeable=_flag(raw, "mergeable"),
            mergeable_state=_word(raw, "mergeableState"),
            head_sha=_text(raw, "headSha"),
            mergeable_head_sha=_text(raw, "mergeableHeadSha"),
            draft=raw.get("draft") is True,
        )

    @property
    def open(self) -> bool:
        """Whether there is a pull request and it is open."""
        return self.pr_number > 0 and self.state not in CLOSED_STATES

    @property
    def terminal(self) -> bool:
        """Whether the layer is merged or closed."""
        return self.state in CLOSED_STATES

    def at_head(self, sha: str | None) -> bool:
        """Whether a commit id is this layer's head; False while either is unknown."""
        return same_head(sha, self.head_sha)


@dataclass(frozen=True, slots=True)
class Member:
    """A layer's place in the review unit."""

    pr_number: int
    branch: str | None
    seam_state: str | None
    seam_reviewed_sha: str | None
    promoted_head_sha: str | None

    @classmethod
    def read(cls, raw: Json) -> Self:
        """Read an item of `members`."""
        return cls(
            pr_number=_number(raw, "prNumber") or 0,
            branch=_text(raw, "branch"),
            seam_state=_word(raw, "seamState"),
            seam_reviewed_sha=_text(raw, "seamReviewedSha"),
            promoted_head_sha=_text(raw, "promotedHeadSha"),
        )

    @property
    def promoted(self) -> bool:
        """Whether the layer was merged into the unit."""
        return self.promoted_head_sha is not None


@dataclass(frozen=True, slots=True)
class Unit:
    """The review unit that collects the layers before they land together."""

    state: str | None
    branch: str | None
    land_target: str | None
    members: tuple[Member, ...]
    land_pr_number: int | None
    landing_block_reason: str | None
    land_pr: Layer | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `unit`; None where there is none."""
        if raw is None:
            return None
        land_pr = _object(raw, "landPr")
        return cls(
            state=_word(raw, "state"),
            branch=_text(raw, "branch"),
            land_target=_text(raw, "landTarget"),
            members=tuple(Member.read(item) for item in _objects(raw, "members")),
            land_pr_number=_number(raw, "landPrNumber") or None,
            landing_block_reason=_text(raw, "landingBlockReason"),
            land_pr=Layer.read(land_pr) if land_pr is not None else None,
        )

    @property
    def over(self) -> bool:
        """Whether the unit landed or was given up."""
        return self.state in {"landed", "abandoned"}

    def is_land_pr(self, layer: Layer) -> bool:
        """Whether a layer is the pull request from the unit to the real trunk."""
        if layer.pr_number <= 0:
            return False
        numbers = {self.land_pr_number, self.land_pr.pr_number if self.land_pr is not None else None}
        return layer.pr_number in numbers

    def member(self, layer: Layer) -> Member | None:
        """A layer's membership."""
        return next((item for item in self.members if item.pr_number == layer.pr_number), None)


@dataclass(frozen=True, slots=True)
class AutoLandOff:
    """Who or what switched Auto land off."""

    reason: str | None
    entry_id: str | None


@dataclass(frozen=True, slots=True)
class AutoLandWait:
    """What Auto land is waiting for. `since` is as the service wrote it."""

    reason: str | None
    pr_number: int | None
    head_sha: str | None
    since: str | None
    attempts: int | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Settle:
    """A step that Auto land lets settle before it acts."""

    action: str | None
    pr_number: int
    head_sha: str | None


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack.

    Attributes:
        layers: in position order.
        layers_known: whether the service listed layers at all.
        off_record_known: whether the service says why Auto land is off; older ones do not.
    """

    id: str
    owner: str | None
    repo: str | None
    trunk_branch: str | None
    archived: bool
    auto_land: bool | None
    off_record_known: bool
    auto_land_off: AutoLandOff | None
    auto_land_wait: AutoLandWait | None
    settle: Settle | None
    auto_review: bool | None
    auto_patch: bool | None
    owner_match: str | None
    patch_off: str | None
    conflict_off: str | None
    ci_off: str | None
    layers_known: bool
    layers: tuple[Layer, ...]
    unit: Unit | None

    @classmethod
    def read(cls, raw: Json) -> Self:
        """Read a stack."""
        off, wait, settle = (
            _object(raw, name) for name in ("autoLandOff", "autoLandWait", "autoEnqueueSettle")
        )
        layers = [Layer.read(item, index) for index, item in enumerate(_objects(raw, "layers"))]
        return cls(
            id=_text(raw, "id") or "",
            owner=_text(raw, "owner"),
            repo=_text(raw, "repo"),
            trunk_branch=_text(raw, "trunkBranch"),
            archived=bool(raw.get("archivedAt")),
            auto_land=_flag(raw, "autoEnqueueWhenReady"),
            off_record_known="autoLandOff" in raw,
            auto_land_off=AutoLandOff(_word(off, "reason"), _text(off, "entryId"))
            if off is not None
            else None,
            auto_land_wait=_read_wait(wait) if wait is not None else None,
            settle=(
                Settle(_word(settle, "action"), _number(settle, "prNumber") or 0, _text(settle, "headSha"))
                if settle is not None
                else None
            ),
            auto_review=_flag(raw, "autoReviewOverride"),
            auto_patch=_flag(raw, "autoPatchOverride"),
            owner_match=_word(raw, "cycloneOwnerMatch"),
            patch_off=_word(raw, "cyclonePatchOff"),
            conflict_off=_word(raw, "cycloneConflictOff"),
            ci_off=_word(raw, "cycloneCiOff"),
            layers_known=isinstance(raw.get("layers"), list),
            layers=tuple(sorted(layers, key=lambda layer: layer.position)),
            unit=Unit.read(_object(raw, "unit")),
        )

    @property
    def repository(self) -> str:
        """Owner and name, for display."""
        return f"{self.owner or '?'}/{self.repo or '?'}"


def _read_wait(raw: Json) -> AutoLandWait:
    return AutoLandWait(
        reason=_word(raw, "reason"),
        pr_number=_number(raw, "prNumber"),
        head_sha=_text(raw, "headSha"),
        since=_text(raw, "since"),
        attempts=_number(raw, "attempts"),
        detail=_text(raw, "detail"),
    )


@dataclass(frozen=True, slots=True)
class Bounce:
    """Why the queue threw an entry back (`bounceDetail`)."""

    kind: str
    pr_number: int | None
    head_sha: str | None
    failing_check: str | None
    conflict_branch: str | None
    conflict_paths: tuple[str, ...]
    message: str | None
    in_batch: bool
    batch_with: tuple[int, ...]

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `bounceDetail`; None where there is none or it has no kind."""
        kind = _word(raw, "kind") if raw is not None else None
        if raw is None or kind is None:
            return None
        batch = _object(raw, "batch")
        return cls(
            kind=kind,
            pr_number=_number(raw, "prNumber"),
            head_sha=_text(raw, "headSha"),
            failing_check=_text(raw, "failingCheck"),
            conflict_branch=_text(raw, "conflictBranch"),
            conflict_paths=_texts(raw, "conflictPaths"),
            message=_text(raw, "message"),
            in_batch=batch is not None,
            batch_with=_numbers(batch, "withPrNumbers") if batch is not None else (),
        )


@dataclass(frozen=True, slots=True)
class QueueAhead:
    """The entry of the same repository that goes first."""

    stack_id: str | None
    state: str | None
    claimed_at: str | None
    wait_reason: str | None

    @classmethod
    def read(cls, raw: Json | None) -> Self | None:
        """Read `aheadInRepo`; None where nothing is ahead."""
        if raw is None:
            return None
        return cls(
            _text(raw, "stackId"), _word(raw, "state"), _text(raw, "claimedAt"), _text(raw, "waitReason")
        )


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One entry of the merge queue. Times are as the service wrote them.

    Attributes:
        finish_known: whether `finishedAt` was there at all, null included.
    """

    id: str | None
    stack_id: str | None
    owner: str | None
    repo: str | None
    state: str | None
    wait_reason: str | None
    bounce_reason: str | None
    bounce: Bounce | None
    enqueued_at: str | None
    claimed_at: str | None
    finished_at: str | None
    finish_known: bool
    verify_head_sha: str | None
    landed_pr_numbers: tuple[int, ...]
    ahead: QueueAhead | None

    @classmethod
    def read(cls, raw: Json) -> Self:
        """Read an entry."""
        return cls(
            id=_text(raw, "id"),
            stack_id=_text(raw, "stackId"),
            owner=_text(raw, "owner"),
            repo=_text(raw, "repo"),
            state=_word(raw, "state"),
            wait_reason=_text(raw, "waitReason"),
            bounce_reason=_text(raw, "bounceReason"),
            bounce=Bounce.read(_object(raw, "bounceDetail")),
            enqueued_at=_text(raw, "enqueuedAt"),
            claimed_at=_text(raw, "claimedAt"),
            finished_at=_text(raw, "finishedAt"),
            finish_known="finishedAt" in raw,
            verify_head_sha=_text(raw, "verifyHeadSha"),
            landed_pr_numbers=_numbers(raw, "landedPrNumbers"),
            ahead=QueueAhead.read(_object(raw, "aheadInRepo")),
        )

    @property
    def live(self) -> bool:
        """Whether the entry is still on its way."""
        return self.state in LIVE_STATES

    @property
    def bounce_head(self) -> str | None:
        """The head that bounced: the bounce's own, else the one that was verified."""
        own = self.bounce.head_sha if self.bounce is not None else None
        return own or self.verify_head_sha


def read_entries(raw: list[Any], stack_id: str | None = None) -> tuple[QueueEntry, ...]:
    """Read queue entries, of one stack only if an id is given; what is no object is left out."""
    mine = (
        item
        for item in raw
        if isinstance(item, Mapping) and (stack_id is None or same_id(_text(item, "stackId"), stack_id))
    )
    return tuple(QueueEntry.read(item) for item in islice(mine, _MAX_ITEMS))

"""Table B of the decision table: the integration review of a member that is not promoted yet."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment

Blocker = Callable[..., tuple[str, str | None] | None]
Assess = Callable[..., Assessment]

PENDING = "Seam review pending, no review running"
STUCK = "Seam review stuck in reviewing, no review running"
REREVIEW = "Seam re-review pending, no review running"
STALE = "Seam verdict is for an older head, no review running"


def seamed(make: SimpleNamespace, state: str, reviewed: str | None, **fields: Any) -> dict[str, Any]:
    """A promoted layer 10 below layer 11, whose seam review is in a state."""
    members = [make.member(10, "approved", promoted=True), make.member(11, state, seamReviewedSha=reviewed)]
    merged = make.layer(10, state="merged")
    return make.stack(merged, make.layer(11, **fields), unit=make.unit(*members))  # type: ignore[no-any-return]


HERE = "0000000b" * 5
OLDER = "f" * 40


@pytest.mark.parametrize(
    ("state", "reviewed", "expected"),
    [
        ("failed", HERE, ("Seam review failed", None)),
        ("failed", OLDER, ("Seam review failed", None)),
        ("failed", None, ("Seam review failed", None)),
        ("findings", HERE, ("Seam findings", None)),
        ("findings", HERE[:8], ("Seam findings", None)),
        ("pending", None, (PENDING, None)),
        ("reviewing", None, (STUCK, "seam_review_stuck")),
        ("pending_rereview", OLDER, (REREVIEW, "seam_review_stuck")),
        ("findings", OLDER, (STALE, "seam_review_stuck")),
        ("findings", None, (STALE, "seam_review_stuck")),
        ("approved", OLDER, (STALE, "seam_review_stuck")),
        ("approved", HERE, None),
        ("none", HERE, None),
        ("none", None, None),
    ],
)
def test_an_idle_seam_review_is_named_by_its_state(
    make: SimpleNamespace, blocker: Blocker, state: str, reviewed: str | None, expected: Any
) -> None:
    assert blocker(seamed(make, state, reviewed)) == expected


@pytest.mark.parametrize(
    ("state", "reviewed"),
    [
        ("pending", None),
        ("reviewing", None),
        ("pending_rereview", None),
        ("findings", OLDER),
        ("approved", OLDER),
    ],
)
def test_a_review_of_this_head_may_settle_it(
    make: SimpleNamespace, assess: Assess, state: str, reviewed: str | None
) -> None:
    found = assess(seamed(make, state, reviewed, vortexReview=make.review("reviewing")))
    assert (found.attention, found.held, found.busy) == (None, None, ())


@pytest.mark.parametrize(("state", "reviewed"), [("failed", None), ("findings", HERE)])
def test_a_verdict_that_stands_is_kept_silent_while_agents_work(
    make: SimpleNamespace, assess: Assess, state: str, reviewed: str | None
) -> None:
    found = assess(seamed(make, state, reviewed, cycloneStatus="patching"))
    assert (found.attention, found.held, found.repair) == (None, None, None)
    assert [item.agent for item in found.busy] == ["cyclone"]


@pytest.mark.parametrize(
    ("state", "reviewed", "label"),
    [
        ("pending", None, PENDING),
        ("reviewing", None, STUCK),
        ("pending_rereview", None, REREVIEW),
        ("findings", OLDER, STALE),
    ],
)
def test_a_seam_review_that_cyclone_cannot_move_is_held_while_it_works(
    make: SimpleNamespace, assess: Assess, state: str, reviewed: str | None, label: str
) -> None:
    found = assess(seamed(make, state, reviewed, cycloneStatus="patching"))
    assert found.held is not None
    assert (found.held.issue.blocker, found.held.waiting_on) == (label, ("cyclone",))
    assert found.issues[0] == found.held.issue


def test_an_approval_of_an_older_head_is_enough_after_a_core_review_of_this_one(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    assert blocker(seamed(make, "approved", OLDER, vortexReview=make.review("done"))) is None
    assert blocker(seamed(make, "findings", OLDER, vortexReview=make.review("done"))) == (
        STALE,
        "seam_review_stuck",
    )


def test_a_stale_verdict_needs_a_known_head(make: SimpleNamespace, blocker: Blocker) -> None:
    assert blocker(seamed(make, "findings", OLDER, headSha=None, mergeableHeadSha=None)) is None


def test_the_gate_opens_with_the_first_promotion(make: SimpleNamespace, blocker: Blocker) -> None:
    members = [make.member(11, "failed"), make.member(12, "failed")]
    assert blocker(make.stack(make.layer(11), make.layer(12), unit=make.unit(*members))) is None


def test_promoted_members_and_strangers_pass_the_gate(make: SimpleNamespace, assess: Assess) -> None:
    members = [make.member(11, "failed", promoted=True)]
    found = assess(make.stack(make.layer(11), make.layer(12), unit=make.unit(*members)))
    assert (found.attention, found.issues) == (None, ())


def test_the_land_pr_passes_the_gate(make: SimpleNamespace, blocker: Blocker) -> None:
    members = [make.member(11, promoted=True), make.member(20, "failed")]
    assert blocker(make.stack(make.layer(20), unit=make.unit(*members, landPrNumber=20))) is None


def test_a_seam_failure_above_the_candidate_is_an_issue(make: SimpleNamespace, assess: Assess) -> None:
    members = [make.member(10, promoted=True), make.member(11), make.member(12, "failed")]
    found = assess(make.stack(make.layer(11), make.layer(12), unit=make.unit(*members)))
    assert found.attention is None
    assert [(issue.pr_number, issue.blocker) for issue in found.issues] == [(12, "Seam review failed")]


def test_seam_findings_outrank_the_bounce_they_caused(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(seamed(make, " Findings ", HERE), [make.entry("bounced", "seam_findings")])
    assert found.attention is not None
    assert (found.attention.blocker, found.bounce) == ("Seam findings", None)

"""Part C and D of the decision table: what Auto land and the merge queue add, with every threshold."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.cursor import Cursor

Blocker = Callable[..., tuple[str, str | None] | None]
Assess = Callable[..., Assessment]
OLDER = "f" * 40


# C.1: Auto land was disarmed by a bounce
@pytest.mark.parametrize("kind", ["merge_failed", "gh_error", "ci_timeout"])
def test_a_bounce_of_an_older_head_that_disarmed_auto_land_is_the_attention(
    make: SimpleNamespace, assess: Assess, kind: str
) -> None:
    bounce = make.entry(bounceDetail={"kind": kind, "headSha": OLDER, "message": "no"})
    found = assess(make.stack(make.layer(), autoEnqueueWhenReady=False), [bounce])
    assert found.attention is not None
    assert found.repair is not None
    assert found.attention.blocker == f"Auto land off after {kind} bounce"
    assert (found.attention.bounce_kind, found.repair["kind"], found.repair["bounceKind"]) == (
        kind,
        "auto_land_off",
        kind,
    )
    assert [(issue.head_sha, issue.bounce_kind) for issue in found.issues] == [(OLDER, kind)]
    assert found.bounce is not None


@pytest.mark.parametrize("kind", ["ci_failure", "restack_conflict", "seam_findings"])
def test_other_bounces_disarm_nothing(make: SimpleNamespace, blocker: Blocker, kind: str) -> None:
    bounce = make.entry(bounceDetail={"kind": kind, "headSha": OLDER})
    assert blocker(make.stack(make.layer(), autoEnqueueWhenReady=False), [bounce]) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"autoEnqueueWhenReady": True},
        {"autoEnqueueWhenReady": None},
        {"autoEnqueueWhenReady": False, "autoLandOff": None},
        *(
            {"autoEnqueueWhenReady": False, "autoLandOff": {"reason": reason, "entryId": "e1"}}
            for reason in ("user", "archive", "watcher", "cancelled", "landed")
        ),
        {"autoEnqueueWhenReady": False, "autoLandOff": {"reason": "bounced", "entryId": "unknown"}},
        {"autoEnqueueWhenReady": False, "autoLandOff": {"reason": "bounced", "entryId": None}},
    ],
)
def test_auto_land_that_is_off_for_another_reason_is_nobody_s_business(
    make: SimpleNamespace, blocker: Blocker, fields: dict[str, Any]
) -> None:
    bounce = make.entry(bounceDetail={"kind": "gh_error", "headSha": OLDER})
    assert blocker(make.stack(make.layer(), **fields), [bounce]) is None


def test_the_recorded_bounce_speaks_even_if_it_is_not_the_newest(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    first = make.entry(bounceDetail={"kind": "gh_error", "headSha": OLDER}, finishedAt=make.ago(60))
    second = make.entry(
        id="e2", bounceDetail={"kind": "ci_timeout", "headSha": OLDER}, enqueuedAt=make.ago(3)
    )
    record = {"autoLandOff": {"reason": "bounced", "entryId": "e1", "at": make.ago(60)}}
    raw = make.stack(make.layer(), autoEnqueueWhenReady=False, **record)
    assert blocker(raw, [first, second]) == ("Auto land off after gh_error bounce", "auto_land_off")


def test_without_a_record_the_newest_entry_must_be_the_bounce(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    bounce = make.entry(bounceDetail={"kind": "gh_error", "headSha": OLDER}, enqueuedAt=make.ago(60))
    raw = make.stack(make.layer(), autoEnqueueWhenReady=False)
    assert blocker(raw, [bounce, make.entry("cancelled", id="e2", enqueuedAt=make.ago(5))]) is None
    assert blocker(raw, [bounce, make.entry("cancelled", id="e2", enqueuedAt=make.ago(90))]) is not None


def test_a_bounce_of_this_head_comes_first_and_the_disarm_after_it_was_reported(
    make: SimpleNamespace, assess: Assess
) -> None:
    raw, bounce = make.stack(make.layer(), autoEnqueueWhenReady=False), make.entry("bounced", "gh_error")
    fresh, again = assess(raw, [bounce]), assess(raw, [bounce], Cursor(make.id, bounce_id="e1"))
    assert fresh.attention is not None
    assert again.attention is not None
    assert (fresh.attention.blocker, fresh.issues) == ("GitHub error", ())
    assert again.attention.blocker == "Auto land off after gh_error bounce"


# C.2: Auto land waits
@pytest.mark.parametrize(
    ("reason", "minutes", "fields", "starts", "repair"),
    [
        (
            "ci_failure",
            0,
            {},
            "CI failed — Auto land reads a failing check on GitHub at this head",
            "ci_failure",
        ),
        ("ci_pending", 45, {}, "CI pending for 45m — ", "ci_pending"),
        (
            "members_remaining",
            0,
            {"detail": "b12 is out"},
            "The land PR cannot be queued: b12 is out",
            "members_remaining",
        ),
        ("vortex_not_green", 30, {}, "No green Vortex review for 30m — ", "vortex_not_green"),
        (
            "promote_merge_failed",
            0,
            {"attempts": 3},
            "Promote failed 3 times (merge_failed) — ",
            "promote_failed",
        ),
        (
            "check_runs_unreadable",
            0,
            {"detail": "HTTP 403"},
            "Mergestorm cannot read the check runs on this head (HTTP 403) — ",
            "ci_unreadable",
        ),
        (
            "commit_statuses_unreadable",
            0,
            {"detail": "got http 404 there"},
            "Mergestorm cannot read the commit statuses on this head (got http 404 there) — ",
            "ci_unreadable",
        ),
        (
            "ci_unreadable",
            10,
            {"detail": "HTTP 500"},
            "Mergestorm cannot read CI on this head (HTTP 500) — ",
            "ci_unreadable",
        ),
        ("stack_dirty", 45, {}, "Auto land has waited 45m: ", "auto_land_waiting"),
        ("moon_phase_wrong", 61, {}, "Auto land has waited 61m: moon phase wrong", "auto_land_waiting"),
    ],
)
def test_a_wait_that_became_somebody_s_business_is_named(
    make: SimpleNamespace,
    blocker: Blocker,
    reason: str,
    minutes: float,
    fields: dict[str, Any],
    starts: str,
    repair: str,
) -> None:
    named = blocker(make.stack(make.layer(), **make.wait(reason, minutes, **fields)))
    assert named is not None
    assert named[0].startswith(starts)
    assert named[1] == repair


@pytest.mark.parametrize(
    ("reason", "minutes", "fields"),
    [
        ("ci_pending", 44.9, {}),
        ("vortex_not_green", 29.9, {}),
        ("promote_merge_failed", 600, {"attempts": 2}),
        ("promote_merge_failed", 600, {}),
        ("check_runs_unreadable", 9.9, {"detail": "HTTP 502"}),
        ("ci_unreadable", 5, {"detail": "HTTP 4030"}),
        ("stack_dirty", 44.9, {}),
        ("stack_dirty", -30, {}),
        ("ci_failure", 5, {"since": "yesterday"}),
        ("ci_failure", 5, {"since": None}),
        ("ci_failure", 5, {"headSha": OLDER}),
        ("ci_failure", 5, {"prNumber": 99}),
    ],
)
def test_a_wait_that_is_young_or_about_something_else_is_quiet(
    make: SimpleNamespace, blocker: Blocker, reason: str, minutes: float, fields: dict[str, Any]
) -> None:
    assert blocker(make.stack(make.layer(), **make.wait(reason, minutes, **fields))) is None


@pytest.mark.parametrize("armed", [False, None])
def test_a_stack_that_is_not_armed_waits_for_nothing(
    make: SimpleNamespace, blocker: Blocker, armed: bool | None
) -> None:
    raw = {**make.stack(make.layer(), **make.wait("ci_failure")), "autoEnqueueWhenReady": armed}
    assert blocker(raw) is None


def test_a_booked_review_retry_is_waited_for(make: SimpleNamespace, assess: Assess) -> None:
    booked = make.layer(vortexReview=make.review("skipped", 11, "retry_scheduled"))
    found = assess(make.stack(booked, **make.wait("vortex_not_green", 90)))
    assert found.attention is None
    assert len(found.issues) == 1


def test_a_specific_blocker_wins_over_the_wait(make: SimpleNamespace, blocker: Blocker) -> None:
    assert blocker(make.stack(make.layer(draft=True), **make.wait("ci_failure"))) == ("Draft PR", None)


def test_a_wait_without_a_pull_request_is_about_the_candidate_whatever_its_head(
    make: SimpleNamespace, assess: Assess
) -> None:
    found = assess(
        make.stack(make.layer(), make.layer(12), **make.wait("ci_failure", 0, None, headSha=OLDER))
    )
    assert found.attention is not None
    assert found.attention.pr_number == 11


def test_a_wait_without_a_candidate_is_about_the_land_pr_or_the_highest_layer(
    make: SimpleNamespace, assess: Assess
) -> None:
    merged = make.layer(11, state="merged"), make.layer(12, state="merged")
    closed = make.unit(landPr=make.layer(20, state="closed"))
    armed = make.wait("trunk_in_land_target_without_land_pr", 50, None)
    for raw, number in (
        (make.stack(*merged, unit=closed, **armed), 20),
        (make.stack(*merged, unit=make.unit(), **armed), 12),
    ):
        found = assess(raw)
        assert found.attention is not None
        assert found.attention.pr_number == number


def test_a_wait_about_a_layer_that_has_an_issue_of_its_own_adds_nothing(
    make: SimpleNamespace, assess: Assess
) -> None:
    promoted = make.unit(make.member(11, promoted=True))
    red = make.layer(11, ciStatus="failure")
    found = assess(make.stack(red, unit=promoted, **make.wait("stack_dirty", 50, None)))
    assert found.attention is None
    assert [issue.blocker for issue in found.issues] == ["CI failed"]


def test_a_wait_about_a_closed_land_pr_is_attention_beside_open_layers(
    make: SimpleNamespace, assess: Assess
) -> None:
    unit = make.unit(make.member(11, promoted=True), landPr=make.layer(20, state="closed"))
    found = assess(make.stack(make.layer(11), unit=unit, **make.wait("stack_dirty", 50, None)))
    assert found.attention is not None
    assert found.attention.pr_number == 20


def test_a_merged_layer_that_is_named_outright_is_not_taken(make: SimpleNamespace, blocker: Blocker) -> None:
    raw = make.stack(make.layer(11, state="merged"), unit=make.unit(), **make.wait("stack_dirty", 50, 11))
    assert blocker(raw) is None


def test_a_wait_far_above_is_attention_unless_the_candidate_is_blocked(
    make: SimpleNamespace, assess: Assess
) -> None:
    armed = make.wait("stack_dirty", 50, 13)
    found = assess(make.stack(make.layer(11), make.layer(12), make.layer(13), **armed))
    assert found.attention is not None
    assert found.attention.pr_number == 13
    red = assess(make.stack(make.layer(11, ciStatus="failure"), make.layer(13), **armed))
    assert red.attention is not None
    assert red.attention.pr_number == 11
    assert [issue.pr_number for issue in red.issues] == [13]


# C.3 and D: the queue
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"enqueuedAt": 10}, "Queued 10m in the merge queue, not picked up yet"),
        (
            {"enqueuedAt": 3, "waitReason": " hm "},
            "Queued 3m in the merge queue, not picked up yet (last note: hm)",
        ),
        ({"state": "running", "claimedAt": 13, "waitReason": "x"}, "Merge queue running for 13m: x"),
        ({"state": "waiting", "claimedAt": 44}, "Merge queue waiting for 44m: no reason recorded"),
        (
            {"state": "running", "claimedAt": None},
            "Merge queue running for an unknown duration: no reason recorded",
        ),
    ],
)
def test_the_queue_s_wait_is_told(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], text: str
) -> None:
    times = {name: make.ago(value) for name, value in fields.items() if isinstance(value, int)}
    live = {**make.entry("queued"), **fields, **times}
    found = assess(make.stack(make.layer()), [live])
    told = found.queue_wire()
    assert told is not None
    assert told["text"] == text
    assert (found.attention, found.queue_live) == (None, True)


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        ({"stackId": "s2", "state": "waiting", "claimedAt": 21, "waitReason": "checks"}, "stack s2, which has been waiting in the merge queue for 21m: checks"),
        ({"stackId": None, "state": "running", "claimedAt": None}, "another user's stack, which has been running in the merge queue for an unknown duration"),
    ],
)  # fmt: skip
def test_the_stack_ahead_is_told(
    make: SimpleNamespace, assess: Assess, ahead: dict[str, Any], text: str
) -> None:
    claimed = make.ago(ahead["claimedAt"]) if ahead["claimedAt"] is not None else None
    live = make.entry("queued", enqueuedAt=make.ago(95), aheadInRepo={**ahead, "claimedAt": claimed})
    told = assess(make.stack(make.layer()), [live]).queue_wire()
    assert told is not None
    assert told["text"] == f"Queued 95m behind {text}"
    assert told["since"] == claimed


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "queued", "enqueuedAt": 45},
        {"state": "running", "claimedAt": 45},
        {"state": "waiting", "claimedAt": 60},
        {
            "state": "queued",
            "enqueuedAt": 99,
            "aheadInRepo": {"stackId": "s2", "state": "running", "claimedAt": 45},
        },
    ],
)
def test_a_queue_that_has_not_moved_for_45_minutes_is_stuck(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    live = {**make.entry("queued"), **fields}
    for name in ("enqueuedAt", "claimedAt"):
        live[name] = make.ago(live[name]) if isinstance(live[name], int) else live[name]
    if "aheadInRepo" in live:
        live["aheadInRepo"] = {**live["aheadInRepo"], "claimedAt": make.ago(45)}
    found = assess(make.stack(make.layer()), [live])
    assert found.attention is not None
    assert found.repair is not None
    assert found.attention.blocker.startswith("Merge queue stuck: ")
    assert found.repair["kind"] == "queue_stalled"
    assert found.queue_wire() is None


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "queued", "enqueuedAt": 3},
        {"state": "running", "claimedAt": 3},
        {"state": "queued", "enqueuedAt": 9, "aheadInRepo": {"state": "running"}},
    ],
)
def test_the_service_s_note_is_told_beside_the_text(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    noted = {**fields, "waitReason": " settling "}
    if "aheadInRepo" in fields:
        noted["aheadInRepo"] = {**fields["aheadInRepo"], "claimedAt": make.ago(3), "waitReason": " settling "}
    times = {name: make.ago(value) for name, value in fields.items() if isinstance(value, int)}
    told = assess(make.stack(make.layer()), [{**make.entry("queued"), **noted, **times}]).queue_wire()
    assert told is not None
    assert told["waitReason"] == "settling"


def test_a_stack_that_the_queue_does_not_pick_up_is_repaired_otherwise_than_one_it_works_on(
    make: SimpleNamespace, assess: Assess
) -> None:
    ahead = {"stackId": "s2", "state": "running", "claimedAt": make.ago(50)}
    live = [
        make.entry("queued", enqueuedAt=make.ago(50)),
        make.entry("running", claimedAt=make.ago(50)),
        make.entry("queued", enqueuedAt=make.ago(60), aheadInRepo=ahead),
    ]
    steps = []
    for entry in live:
        repair = assess(make.stack(make.layer()), [entry]).repair
        assert repair is not None
        assert (repair["kind"], repair["since"]) == ("queue_stalled", make.ago(50))
        steps.append(repair["steps"])
    assert "do not push" in steps[0]
    assert steps[0] != steps[1] == steps[2]


def test_a_claim_of_unknown_age_is_never_stuck(make: SimpleNamespace, blocker: Blocker) -> None:
    assert blocker(make.stack(make.layer()), [make.entry("running", enqueuedAt=make.ago(999))]) is None


def test_the_first_live_entry_listed_speaks(make: SimpleNamespace, assess: Assess) -> None:
    listed = [
        make.entry("bounced", id="e0"),
        make.entry("queued", enqueuedAt=make.ago(2)),
        make.entry("running", claimedAt=make.ago(90)),
    ]
    told = assess(make.stack(make.layer()), listed).queue_wire()
    assert told is not None
    assert told["text"].startswith("Queued 2m")


def test_a_queue_s_wait_needs_a_candidate(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(make.layer(11, state="merged"), unit=make.unit())
    found = assess(raw, [make.entry("running", claimedAt=make.ago(3))])
    assert (found.queue_wire(), found.queue_live) == (None, True)


# C.4 and C.5: what is not wrong yet
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["Merge state unknown vs main"]),
        ({"parentBranch": None}, ["Merge state unknown"]),
        ({"parentBranch": "mg-park-5-g1"}, []),
        ({"mergeableHeadSha": OLDER}, []),
        ({"mergeableHeadSha": None}, []),
        ({"mergeable": True}, []),
        ({"mergeableState": "clean"}, []),
    ],
)
def test_a_merge_that_github_has_not_judged_is_an_issue(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], expected: list[str]
) -> None:
    found = assess(make.stack(make.layer(**{"mergeable": None, "mergeableState": "pending", **fields})))
    assert found.attention is None
    assert [issue.blocker for issue in found.issues] == expected


SETTLE = "; Auto land is waiting for a mergeability verdict"


@pytest.mark.parametrize(
    ("layer", "settle", "expected"),
    [
        ({}, {}, ["Merge state unknown vs main" + SETTLE]),
        ({}, {"action": "promote"}, []),
        ({}, {"action": "ready"}, []),
        ({}, {"headSha": OLDER}, []),
        ({}, {"prNumber": 99}, ["Merge state unknown" + SETTLE]),
        ({"parentBranch": "mg-park-5-g1"}, {}, ["Merge state unknown" + SETTLE]),
        ({"mergeable": None, "mergeableState": "pending"}, {}, ["Merge state unknown vs main"]),
        ({"ciStatus": "failure"}, {}, []),
        ({"state": "merged"}, {}, []),
    ],
)
def test_auto_land_that_waits_for_a_merge_verdict_is_an_issue(
    make: SimpleNamespace, assess: Assess, layer: dict[str, Any], settle: dict[str, Any], expected: list[str]
) -> None:
    made = {"action": "mergeability", "prNumber": 11, "headSha": make.head(11), **settle}
    found = assess(make.stack(make.layer(**layer), autoEnqueueSettle=made))
    assert [issue.blocker for issue in found.issues] == expected


# C.6: no land PR
def unlandable(make: SimpleNamespace, **fields: Any) -> dict[str, Any]:
    reason = "landing blocked: land_pr_unavailable: head is gone"
    unit = make.unit(**{
        "landPrNumber": 20,
        "landPr": make.layer(20, state="closed"),
        "landingBlockReason": reason,
        **fields,
    })
    return make.stack(make.layer(11, state="merged"), unit=unit)  # type: ignore[no-any-return]


def test_merged_layers_without_a_land_pr_are_the_attention(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(unlandable(make))
    assert found.attention is not None
    assert found.repair is not None
    assert found.attention.blocker.startswith("No open land PR for mg-stack-5 — ")
    assert (found.attention.pr_number, found.attention.head_sha, found.agents) == (20, make.head(20), None)
    assert found.repair["kind"] == "land_pr_unavailable"
    assert (found.repair["branch"], found.repair["detail"]) == ("mg-stack-5", "head is gone")


@pytest.mark.parametrize(
    ("fields", "number", "head"),
    [({"landPrNumber": None}, 20, True), ({"landPrNumber": None, "landPr": None}, 11, False)],
)
def test_the_missing_land_pr_is_placed_where_it_can_be(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], number: int, head: bool
) -> None:
    found = assess(unlandable(make, **fields))
    assert found.attention is not None
    assert found.attention.pr_number == number
    assert (found.attention.head_sha is not None) is head


@pytest.mark.parametrize(
    "fields",
    [
        {"landingBlockReason": None},
        {"landingBlockReason": "ci_pending on it"},
        {"state": "landed"},
        {"state": "abandoned"},
        {"landPr": {"prNumber": 20, "state": "merged"}},
        {"landPr": {"prNumber": 20, "state": "clean"}},
    ],
)
def test_a_land_pr_that_is_there_or_coming_is_not_missing(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    found = assess(unlandable(make, **fields))
    assert found.attention is None or not found.attention.blocker.startswith("No open land PR")

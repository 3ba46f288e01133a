"""Table A of the decision table, row by row: why a layer cannot move, and which repair goes with it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.cursor import Cursor

Blocker = Callable[..., tuple[str, str | None] | None]
Assess = Callable[..., Assessment]


def test_a_clean_green_reviewed_layer_needs_nothing(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(make.stack(make.layer()))
    assert (found.attention, found.held, found.repair) == (None, None, None)
    assert (found.issues, found.busy) == ((), ())
    assert found.candidate_wire() == {"prNumber": 11, "headSha": make.head(11)}


# Row 1
def test_a_rebase_conflict_is_a_conflict(make: SimpleNamespace, blocker: Blocker) -> None:
    error = make.restack_error("rebase_conflict")
    assert blocker(make.stack(make.layer(restackError=error))) == ("Conflict", "restack_conflict")


def test_a_restack_that_runs_is_not_judged_by_its_last_error(make: SimpleNamespace, blocker: Blocker) -> None:
    error = make.restack_error("rebase_conflict")
    assert blocker(make.stack(make.layer(state="restacking", restackError=error))) is None


# Row 2
@pytest.mark.parametrize("kind", ["checkout_failed", "head_unresolved", "push_failed", "retarget_failed"])
def test_every_other_restack_error_is_a_failed_restack(
    make: SimpleNamespace, blocker: Blocker, kind: str
) -> None:
    error = make.restack_error(kind, "no idea")
    raw = make.stack(make.layer(state="needs_restack", restackError=error))
    assert blocker(raw) == ("Restack failed", "restack_failed")


@pytest.mark.parametrize(
    "detail",
    [
        "remote: fatal error in commit_refs",
        "! [remote rejected] b11 -> b11 (failure)",
        "error: RPC failed; HTTP 500",
        "HTTP 503 from upstream",
        "Could not resolve host: github.com",
        "Failed to connect to github.com port 443",
        "connection timed out",
        "fatal: early EOF",
        "OpenSSL SSL_connect: SSL error",
    ],
)
def test_a_push_that_failed_in_passing_is_waited_for(
    make: SimpleNamespace, blocker: Blocker, detail: str
) -> None:
    error = make.restack_error("push_failed", detail)
    assert blocker(make.stack(make.layer(state="needs_restack", restackError=error))) is None


@pytest.mark.parametrize(
    ("layer", "error"),
    [
        ({}, {"attempts": 3}),
        ({"state": "clean"}, {}),
        ({}, {"headSha": "f" * 40}),
        ({}, {"detail": ""}),
        ({}, {"detail": "protected branch hook declined"}),
        ({}, {"detail": "stale info, HTTP 503"}),
        ({}, {"detail": "fetch first, HTTP 503"}),
        ({}, {"detail": "(origin/b11 moved to 123) HTTP 503"}),
        ({}, {"detail": "HTTP 403"}),
    ],
)
def test_a_push_that_will_not_be_tried_again_is_named(
    make: SimpleNamespace, blocker: Blocker, layer: dict[str, Any], error: dict[str, Any]
) -> None:
    failed = {**make.restack_error("push_failed", "HTTP 503"), **error}
    raw = make.stack(make.layer(**{"state": "needs_restack", "restackError": failed, **layer}))
    assert blocker(raw) == ("Restack failed", "restack_failed")


# Row 3
def test_the_conflict_state_is_a_conflict(make: SimpleNamespace, blocker: Blocker) -> None:
    assert blocker(make.stack(make.layer(state="conflict"))) == ("Conflict", "restack_conflict")


# Row 4
def test_a_draft_is_named_without_a_repair(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(make.stack(make.layer(draft=True)))
    assert found.attention is not None
    assert (found.attention.blocker, found.attention.bounce_kind, found.repair) == (
        "Draft PR",
        "pr_draft",
        None,
    )
    assert found.bounce is None


def test_a_draft_takes_its_bounce_along_once(make: SimpleNamespace, assess: Assess) -> None:
    raw, bounce = make.stack(make.layer(draft=True)), make.entry("bounced", "pr_draft")
    first = assess(raw, [bounce])
    assert first.bounce is not None
    assert first.bounce.id == "e1"
    again = assess(raw, [bounce], Cursor(make.id, bounce_id="e1"))
    assert again.attention is not None
    assert again.bounce is None


# Row 5
@pytest.mark.parametrize(
    ("parent", "label"), [("main", "Merge conflicts vs main"), (None, "Merge conflicts")]
)
@pytest.mark.parametrize("verdict", [{"mergeable": False}, {"mergeableState": "dirty"}])
def test_an_unmergeable_head_names_its_base(
    make: SimpleNamespace, blocker: Blocker, parent: str | None, label: str, verdict: dict[str, Any]
) -> None:
    assert blocker(make.stack(make.layer(parentBranch=parent, **verdict))) == (label, "merge_conflict")


@pytest.mark.parametrize(
    "fields",
    [
        {"parentBranch": "mg-park-5-g1"},
        {"mergeable": None},
        {"mergeableHeadSha": "f" * 40},
        {"mergeableHeadSha": None},
        {"mergeable": True, "mergeableState": "blocked"},
    ],
)
def test_a_verdict_that_says_nothing_of_this_head_and_base_is_ignored(
    make: SimpleNamespace, blocker: Blocker, fields: dict[str, Any]
) -> None:
    assert (
        blocker(make.stack(make.layer(**{"mergeable": False, "mergeableState": "dirty", **fields}))) is None
    )


# Row 6
@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"ciStatus": "failure"}, "CI failed"),
        ({"ciStatus": "failure", "checks": {"failure": 1, "failingName": " lint "}}, "CI failed — lint"),
        ({"ciStatus": "success", "checks": {"failure": 2, "failingName": None}}, "CI failed"),
    ],
)
def test_red_ci_names_the_failing_check(
    make: SimpleNamespace, blocker: Blocker, fields: dict[str, Any], label: str
) -> None:
    assert blocker(make.stack(make.layer(**fields))) == (label, "ci_failure")


@pytest.mark.parametrize("status", ["pending", "neutral", "none", "unknown", None])
def test_ci_that_is_not_red_is_no_blocker(
    make: SimpleNamespace, blocker: Blocker, status: str | None
) -> None:
    assert blocker(make.stack(make.layer(ciStatus=status))) is None


# Row 6b
def test_pending_ci_that_was_handed_over_at_this_head_is_for_a_person(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    handoff = {"headSha": make.head(11), "reason": "ci_rerun_exhausted", "at": None}
    named = blocker(make.stack(make.layer(ciStatus="pending", cycloneCiHandoff=handoff)))
    assert named is not None
    assert named[1] == "ci_failure"
    older = {**handoff, "headSha": "f" * 40}
    assert blocker(make.stack(make.layer(ciStatus="pending", cycloneCiHandoff=older))) is None


# Row 7
@pytest.mark.parametrize("view", [None, {"status": "failed", "head_sha": None}, {"status": "failed"}])
def test_a_failed_review_of_this_head_is_named(
    make: SimpleNamespace, blocker: Blocker, view: dict[str, Any] | None
) -> None:
    seen = None if view is None else {**make.review("failed"), **view}
    assert blocker(make.stack(make.layer(vortexStatus="failed", vortexReview=seen))) == (
        "Review failed",
        "vortex_failed",
    )


def test_a_failed_review_of_an_older_head_is_not_named(make: SimpleNamespace, blocker: Blocker) -> None:
    older = make.review("failed", head_sha="f" * 40)
    assert blocker(make.stack(make.layer(vortexStatus="failed", vortexReview=older))) is None


@pytest.mark.parametrize("reason", ["retry_scheduled", "post_delayed"])
def test_a_failed_review_that_will_be_tried_again_is_only_an_issue(
    make: SimpleNamespace, assess: Assess, reason: str
) -> None:
    found = assess(
        make.stack(make.layer(vortexStatus="failed", vortexReview=make.review("skipped", 11, reason)))
    )
    assert found.attention is None
    assert [issue.pr_number for issue in found.issues] == [11]


# Row 8
def test_a_head_beyond_the_review_quota_is_named_without_a_repair(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    skipped = make.review("skipped", 11, "quota_exceeded")
    assert blocker(make.stack(make.layer(vortexReview=skipped))) == (
        "Review skipped, out of review quota",
        None,
    )
    older = make.review("skipped", 11, "quota_exceeded", head_sha="f" * 40)
    assert blocker(make.stack(make.layer(vortexReview=older))) is None


# Row 9
@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("auto_review_off", "Vortex auto-review is off, so this head was not reviewed"),
        ("billing_blocked", "Vortex skipped this head: it could not confirm billing"),
        ("billing_unavailable", "Vortex skipped this head: it could not confirm billing"),
        ("ignored_author", "Vortex skipped this head: the PR author is on the ignored authors list"),
        ("repo_disabled", "Vortex skipped this head: reviews are turned off for this repository"),
    ],
)
def test_a_skipped_review_says_why(make: SimpleNamespace, assess: Assess, reason: str, label: str) -> None:
    found = assess(make.stack(make.layer(vortexReview=make.review("skipped", 11, reason))))
    assert found.attention is not None
    assert found.repair is not None
    assert (found.attention.blocker, found.repair["kind"]) == (label, "vortex_skipped")
    assert found.repair["skipReason"] == reason


def test_a_skip_for_another_reason_is_no_blocker(make: SimpleNamespace, blocker: Blocker) -> None:
    assert blocker(make.stack(make.layer(vortexReview=make.review("skipped", 11, "draft")))) is None


def test_a_partial_review_of_this_head_is_named(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(make.stack(make.layer(vortexStatus="incomplete", vortexReview=make.review("done"))))
    assert found.attention is not None
    assert found.repair is not None
    assert found.attention.blocker == "Vortex reviewed only part of this PR"
    assert found.repair["skipReason"] == "incomplete"
    older = make.review("done", head_sha="f" * 40)
    assert assess(make.stack(make.layer(vortexStatus="incomplete", vortexReview=older))).attention is None


def test_a_skip_is_not_named_while_vortex_reviews(make: SimpleNamespace, assess: Assess) -> None:
    skipped = make.review("skipped", 11, "ignored_author")
    found = assess(make.stack(make.layer(vortexReview=skipped, agentRuns=[make.run("vortex", "reviewing")])))
    assert (found.attention, found.busy) == (None, ())


# Row 11
def test_an_abandoned_unit_blames_the_lowest_open_layer(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(
        make.layer(11, parentBranch="mg-stack-5"), make.layer(12), unit=make.unit(state="abandoned")
    )
    found = assess(raw)
    assert found.attention is not None
    assert found.repair is not None
    assert (found.attention.pr_number, found.repair["kind"]) == (11, "unit_abandoned")
    assert found.attention.blocker == "Review unit abandoned: based on mg-stack-5"
    assert found.issues == ()


def test_an_abandoned_unit_under_a_layer_without_a_base_names_the_trunk(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    raw = make.stack(make.layer(parentBranch=None), trunkBranch="next", unit=make.unit(state="abandoned"))
    assert blocker(raw) == ("Review unit abandoned: based on next", "unit_abandoned")


# Row 12
@pytest.mark.parametrize("reason", ["approvals_missing", "landing blocked: ci_failure on the land PR"])
def test_the_land_gate_s_reason_is_the_blocker_of_the_land_pr(
    make: SimpleNamespace, blocker: Blocker, reason: str
) -> None:
    raw = make.stack(make.layer(20), unit=make.unit(landPrNumber=20, landingBlockReason=f"  {reason} "))
    assert blocker(raw) == (reason, None)


@pytest.mark.parametrize(
    "reason", ["ci_pending", "landing blocked: vortex_running since noon", "CI_PENDING: settling"]
)
def test_a_land_gate_that_only_waits_is_no_blocker(
    make: SimpleNamespace, assess: Assess, reason: str
) -> None:
    found = assess(make.stack(make.layer(20), unit=make.unit(landPrNumber=20, landingBlockReason=reason)))
    assert found.attention is None
    assert found.land_gate == {"prNumber": 20, "headSha": make.head(20), "reason": reason}


def test_the_land_gate_says_nothing_of_other_layers(make: SimpleNamespace, blocker: Blocker) -> None:
    raw = make.stack(make.layer(11), unit=make.unit(landPrNumber=20, landingBlockReason="approvals_missing"))
    assert blocker(raw) is None


# Row 13
@pytest.mark.parametrize(
    ("layer", "stack", "handoff"),
    [
        ({"cycloneHandoff": {"headSha": None, "reason": "no_changes"}}, {}, "no_changes"),
        ({}, {"cyclonePatchOff": "account_auto_patch_off"}, "account_auto_patch_off"),
        ({}, {"autoPatchOverride": False}, "auto_patch_off"),
    ],
)
def test_findings_that_cyclone_will_not_patch_need_a_person(
    make: SimpleNamespace, assess: Assess, layer: dict[str, Any], stack: dict[str, Any], handoff: str
) -> None:
    if "cycloneHandoff" in layer:
        layer = {"cycloneHandoff": {**layer["cycloneHandoff"], "headSha": make.head(11)}}
    seen = {
        "vortexStatus": "findings",
        "reviewStatus": "changes_requested",
        "vortexReview": make.review("done"),
    }
    found = assess(make.stack(make.layer(**seen, **layer), **stack))
    assert found.attention is not None
    assert found.repair is not None
    assert (found.attention.blocker, found.repair["kind"]) == (
        "Vortex findings need a person",
        "vortex_findings",
    )
    assert found.repair["handoff"] == handoff
    assert found.repair["findings"] == "gh api repos/ada/engine/pulls/11/reviews"


@pytest.mark.parametrize(
    "fields",
    [
        {"vortexStatus": "all_clear"},
        {"reviewStatus": "approved"},
        {"cycloneStatus": "patching"},
        {"vortexReview": {"status": "reviewing"}},
        {"vortexReview": {"status": "done", "head_sha": "f" * 40}},
    ],
)
def test_findings_that_may_still_go_away_need_nobody(
    make: SimpleNamespace, blocker: Blocker, fields: dict[str, Any]
) -> None:
    seen = {"vortexStatus": "findings", "reviewStatus": "changes_requested"}
    assert blocker(make.stack(make.layer(**{**seen, **fields}), autoPatchOverride=False)) is None


def test_findings_that_cyclone_may_patch_need_nobody_yet(make: SimpleNamespace, blocker: Blocker) -> None:
    seen = {"vortexStatus": "findings", "reviewStatus": "changes_requested"}
    older = {"headSha": "f" * 40, "reason": "no_changes"}
    assert blocker(make.stack(make.layer(**seen, cycloneHandoff=older))) is None


# Row 14
@pytest.mark.parametrize(
    ("detail", "label", "repair"),
    [
        ({"kind": "ci_failure", "failingCheck": "e2e"}, "CI failed — e2e", "ci_failure"),
        ({"kind": "ci_timeout"}, "CI timed out", None),
        ({"kind": "seam_findings"}, "seam review findings", None),
        ({"kind": "restack_conflict", "conflictBranch": "b12"}, "restack conflict — b12", "restack_conflict"),
        (
            {"kind": "restack_conflict", "conflictPaths": ["a", " ", "b"]},
            "restack conflict — a, b",
            "restack_conflict",
        ),
        ({"kind": "merge_failed", "message": "405"}, "merge failed — 405", None),
        ({"kind": "gh_error", "prNumber": 11}, "GitHub error — PR #11", None),
        (
            {"kind": "ci_failure", "failingCheck": "e2e", "batch": {"id": "b", "withPrNumbers": [21, 22]}},
            "CI failed — e2e in a red batch with #21, #22",
            "ci_failure",
        ),
    ],
)
def test_a_bounce_of_this_head_is_named_by_what_happened(
    make: SimpleNamespace, blocker: Blocker, detail: dict[str, Any], label: str, repair: str | None
) -> None:
    bounce = make.entry(bounceDetail={"headSha": make.head(11), **detail})
    assert blocker(make.stack(make.layer()), [bounce]) == (label, repair)


def test_a_bounce_of_an_unknown_kind_shows_the_service_s_words(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    assert blocker(
        make.stack(make.layer()), [make.entry("bounced", "flood", bounceReason=" high water ")]
    ) == (
        "high water",
        None,
    )
    assert blocker(make.stack(make.layer()), [make.entry("bounced", "tempest_findings")]) == ("bounced", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"bounceDetail": {"kind": "gh_error", "headSha": "f" * 40}},
        {"bounceDetail": {"kind": "gh_error"}},
        {"bounceDetail": {"kind": "gh_error", "headSha": "0000000b" * 5, "prNumber": 12}},
        {"bounceDetail": {"kind": "head_moved", "headSha": "0000000b" * 5}},
        {"bounceDetail": {"kind": "must_consolidate", "headSha": "0000000b" * 5}},
        {"bounceDetail": {"headSha": "0000000b" * 5}},
        {"bounceDetail": None, "bounceReason": "something"},
        {"stackId": "another"},
        {"state": "landed"},
    ],
)
def test_a_bounce_that_is_not_of_this_head_and_pull_request_is_quiet(
    make: SimpleNamespace, blocker: Blocker, fields: dict[str, Any]
) -> None:
    assert blocker(make.stack(make.layer()), [{**make.entry("bounced", "gh_error"), **fields}]) is None


def test_the_verified_head_stands_in_for_a_bounce_without_one(
    make: SimpleNamespace, blocker: Blocker
) -> None:
    bounce = make.entry(bounceDetail={"kind": "gh_error"}, verifyHeadSha=make.head(11)[:9].upper())
    assert blocker(make.stack(make.layer()), [bounce]) == ("GitHub error", None)


@pytest.mark.parametrize("state", ["queued", "running", "waiting"])
def test_a_live_entry_keeps_an_old_bounce_quiet(make: SimpleNamespace, blocker: Blocker, state: str) -> None:
    live = make.entry(state, id="e2", claimedAt=make.ago(1))
    assert blocker(make.stack(make.layer()), [make.entry("bounced", "gh_error"), live]) is None


def test_only_the_newest_bounce_speaks(make: SimpleNamespace, blocker: Blocker) -> None:
    older = make.entry("bounced", "gh_error", id="e0", finishedAt=make.ago(60))
    newer = make.entry("bounced", "head_moved", finishedAt=make.ago(1))
    assert blocker(make.stack(make.layer()), [older, newer]) is None
    assert blocker(make.stack(make.layer()), [newer, {**older, "finishedAt": make.ago(0)}]) == (
        "GitHub error",
        None,
    )


@pytest.mark.parametrize(
    ("checks", "quiet"),
    [
        ({"total": 2, "success": 2, "pending": 0, "failure": 0}, True),
        ({"total": 2, "success": 1, "pending": 1, "failure": 0}, False),
        ({"total": 0, "success": 0, "pending": 0, "failure": 0}, False),
        ({"total": 2, "success": 0, "pending": 0, "failure": 0}, False),
        (None, False),
    ],
)
def test_a_red_ci_bounce_is_over_once_every_check_is_green(
    make: SimpleNamespace, blocker: Blocker, checks: dict[str, Any] | None, quiet: bool
) -> None:
    raw = make.stack(make.layer(checks=checks))
    assert (blocker(raw, [make.entry("bounced", "ci_failure")]) is None) is quiet
    batch = {"kind": "ci_failure", "headSha": make.head(11), "batch": {"id": "b", "withPrNumbers": []}}
    assert blocker(raw, [make.entry(bounceDetail=batch)]) is not None


def test_a_bounce_is_reported_once(make: SimpleNamespace, assess: Assess) -> None:
    raw, bounce = make.stack(make.layer()), make.entry("bounced", "gh_error")
    assert assess(raw, [bounce], Cursor(make.id, bounce_id="e1")).attention is None
    assert assess(raw, [bounce], Cursor(make.id, after_finished_at=make.ago(2))).attention is None
    assert (
        assess(raw, [bounce], Cursor(make.id, after_finished_at=make.ago(3), bounce_id="e0")).attention
        is not None
    )
    unknown_time = {**bounce, "finishedAt": None}
    assert assess(raw, [unknown_time], Cursor(make.id, after_finished_at=make.ago(0))).attention is not None


def test_only_the_candidate_is_asked_about_its_bounces(make: SimpleNamespace, assess: Assess) -> None:
    bounce = make.entry(bounceDetail={"kind": "gh_error", "headSha": make.head(12)})
    found = assess(make.stack(make.layer(11), make.layer(12)), [bounce])
    assert (found.attention, found.issues) == (None, ())


ORDER: list[tuple[str, dict[str, Any]]] = [
    ("Conflict", {"restackError": {"kind": "rebase_conflict"}}),
    ("Restack failed", {"restackError": {"kind": "checkout_failed"}}),
    ("Conflict", {"state": "conflict"}),
    ("Draft PR", {"draft": True}),
    ("Merge conflicts vs main", {"mergeable": False}),
    ("CI failed", {"ciStatus": "failure"}),
    ("Review failed", {"vortexStatus": "failed"}),
]


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_the_first_row_that_matches_wins(make: SimpleNamespace, blocker: Blocker, place: int) -> None:
    fields: dict[str, Any] = {}
    for _, more in reversed(ORDER[place:]):
        fields.update(more)
    named = blocker(make.stack(make.layer(**fields)), [make.entry("bounced", "gh_error")])
    assert named is not None
    assert named[0] == ORDER[place][0]


def test_an_archived_stack_has_nothing_wrong(make: SimpleNamespace, assess: Assess) -> None:
    broken = make.layer(ciStatus="failure", state="conflict", mergeable=None, mergeableState="pending")
    found = assess(
        make.stack(broken, archivedAt=make.ago(1), **make.wait("ci_failure")),
        [make.entry("bounced", "gh_error")],
    )
    assert (found.attention, found.held, found.issues, found.busy) == (None, None, (), ())

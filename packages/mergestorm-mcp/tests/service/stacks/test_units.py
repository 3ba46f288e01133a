"""Stacks of several pull requests: collected in a unit, reviewed at the seams, landed together."""

from __future__ import annotations

from typing import Any

from .conftest import BASE, Bench


def _two(bench: Bench, **policy: bool | None) -> str:
    bench.push("lower", {"lower.txt": "lower\n"})
    bench.push("upper", {"upper.txt": "upper\n"}, onto="lower")
    bench.open_pull("lower")
    return bench.adopt(bench.open_pull("upper", "lower"), autoEnqueueWhenReady=True, **policy)


def _three(bench: Bench, **policy: bool | None) -> str:
    for branch, below in (("one", "main"), ("two", "one"), ("three", "two")):
        bench.push(branch, {f"{branch}.txt": f"{branch}\n"}, onto=below)
        bench.open_pull(branch, below)
    return bench.adopt(2, **{"autoEnqueueWhenReady": True, **policy})


def _member(bench: Bench, stack: str, number: int) -> dict[str, Any]:
    members = bench.listed(stack)["unit"]["members"]
    found: dict[str, Any] = next(member for member in members if member["prNumber"] == number)
    return found


def test_two_pull_requests_are_promoted_in_turn_and_land_together(bench: Bench) -> None:
    stack = _two(bench)
    begun = bench.listed(stack)
    assert [(layer["branch"], layer["parentBranch"]) for layer in begun["layers"]] == [
        ("lower", "mg-stack-1"),
        ("upper", "lower"),
    ]
    assert (begun["unit"]["branch"], begun["unit"]["state"]) == ("mg-stack-1", "open")
    assert bench.head("mg-stack-1") == bench.head("main")
    assert _member(bench, stack, 1)["seamState"] == "none"

    bench.until(lambda: bench.listed(stack)["autoEnqueueSettle"])
    settle = bench.listed(stack)["autoEnqueueSettle"]
    assert (settle["action"], settle["prNumber"]) == ("promote", 1)

    bench.until(lambda: bench.layer(stack)["state"] == "merged")
    promoted = bench.listed(stack)
    assert bench.text("mg-stack-1", "lower.txt") == "lower\n"
    assert bench.text("main", "lower.txt") is None
    assert promoted["unit"]["state"] == "growing"
    assert promoted["layers"][1]["parentBranch"] == "mg-stack-1"
    assert _member(bench, stack, 1)["promotedHeadSha"] == promoted["layers"][0]["headSha"]
    assert _member(bench, stack, 2)["seamState"] == "pending"
    assert promoted["layers"][1]["agentsBusy"]["vortex"] is True
    assert bench.blocker(stack) is None

    bench.until(lambda: bench.listed(stack)["unit"]["landPrNumber"])
    landing = bench.listed(stack)["unit"]
    assert (landing["state"], landing["landPrNumber"], landing["landPr"]["branch"]) == (
        "landing",
        3,
        "mg-stack-1",
    )
    assert landing["landingBlockReason"] == "landing blocked: ci_pending"
    assert _member(bench, stack, 2)["seamState"] == "approved"
    gate = bench.assess(stack).land_gate
    assert gate is not None
    assert gate["prNumber"] == 3

    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"
    assert bench.listed(stack)["unit"]["state"] == "landed"
    assert bench.text("main", "lower.txt") == "lower\n"
    assert bench.text("main", "upper.txt") == "upper\n"
    landed = bench.get("/stacks/queue", stackId=stack, landed=1)["landed"]
    assert landed["landedPrNumbers"] == [1, 2, 3]


def test_three_pull_requests_stand_on_unit_parent_and_frozen_branch(bench: Bench) -> None:
    stack = _three(bench)
    bases = [layer["parentBranch"] for layer in bench.listed(stack)["layers"]]
    assert bases == ["mg-stack-1", "one", "mg-park-1-2"]
    assert bench.head("mg-park-1-2") == bench.head("two")
    bench.until(lambda: bench.layer(stack)["state"] == "merged")
    bases = [layer["parentBranch"] for layer in bench.listed(stack)["layers"][1:]]
    assert bases == ["mg-stack-1", "two"]
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"
    for branch in ("one", "two", "three"):
        assert bench.text("main", f"{branch}.txt") == f"{branch}\n"


def test_seam_findings_hold_a_member_until_a_push_that_is_reviewed_again(bench: Bench) -> None:
    rule = {"path": "upper.txt", "text": "upper", "title": "Does not fit the lower layer", "kind": "seam"}
    bench.script(reviewer={"findings": [rule]})
    stack = _two(bench)
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "Seam findings"
    head = bench.layer(stack, 1)["headSha"]
    member = _member(bench, stack, 2)
    assert (member["seamState"], member["seamReviewedSha"]) == ("findings", head)
    bench.pass_time(3600)
    assert bench.listed(stack)["autoLandWait"]["reason"] == "seam_not_green"
    assert bench.layer(stack, 1)["state"] == "clean"

    bench.push("upper", {"upper.txt": "fits\n"})
    assert _member(bench, stack, 2)["seamState"] == "pending_rereview"
    assert bench.blocker(stack) is None
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "upper.txt") == "fits\n"


def test_without_the_seam_specialist_members_are_promoted_on_their_own_review(bench: Bench) -> None:
    bench.client().patch("/settings", json={"vortex_seam_specialist_enabled": False})
    stack = _two(bench)
    bench.until(lambda: bench.ended(stack))
    assert _member(bench, stack, 2)["seamReviewId"] is None


def test_land_pull_requests_are_reviewed_where_the_account_wants_it(bench: Bench) -> None:
    bench.client().patch("/settings", json={"review_unit_land_prs_enabled": True})
    stack = _two(bench)
    bench.until(lambda: bench.ended(stack))
    assert bench.listed(stack)["unit"]["landPr"]["reviewStatus"] == "approved"


def test_a_conflict_of_the_unit_with_the_trunk_is_the_land_pull_requests(bench: Bench) -> None:
    bench.push("lower", {"app.txt": BASE.replace("three", "3")})
    bench.push("upper", {"upper.txt": "upper\n"}, onto="lower")
    bench.open_pull("lower")
    stack = bench.adopt(bench.open_pull("upper", "lower"), autoEnqueueWhenReady=True)
    bench.push("main", {"app.txt": BASE.replace("three", "III")})
    bench.until(lambda: bench.blocker(stack))
    assessment = bench.assess(stack)
    assert assessment.attention is not None
    assert (assessment.attention.pr_number, assessment.attention.blocker) == (3, "Merge conflicts vs main")
    assert assessment.repair is not None
    assert assessment.repair["liveParent"] == "main"
    bench.merge("mg-stack-1", "main", {"app.txt": BASE.replace("three", "3 and III")})
    bench.until(lambda: bench.ended(stack))


def test_a_layer_that_conflicts_with_the_unit_is_named_with_its_live_parent(bench: Bench) -> None:
    bench.push("lower", {"app.txt": BASE.replace("three", "3")})
    bench.push("upper", {"app.txt": BASE.replace("three", "33")}, onto="main")
    bench.open_pull("lower")
    bench.open_pull("upper", "lower")
    stack = bench.adopt(2, autoEnqueueWhenReady=True)
    bench.pass_time(60)
    assert bench.layer(stack, 1)["mergeable"] is False
    bench.until(lambda: bench.blocker(stack))
    repair = bench.assess(stack).repair
    assert repair is not None
    assert (repair["kind"], repair["files"]) == ("merge_conflict", ["app.txt"])


def test_queueing_a_stack_whose_layers_are_not_in_yet_bounces_and_goes_on(bench: Bench) -> None:
    stack = _two(bench)
    bench.pass_time(30)
    bench.post(f"/stacks/{stack}/enqueue")
    bench.until(lambda: bench.entries(stack) and bench.entries(stack)[0]["state"] == "bounced")
    assert bench.entries(stack)[0]["bounceDetail"]["kind"] == "must_consolidate"
    assert bench.blocker(stack) is None
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"


def test_restacking_puts_upper_layers_on_their_parents_new_head(bench: Bench) -> None:
    stack = _three(bench, autoEnqueueWhenReady=False)
    bench.push("one", {"one.txt": "one, better\n"})
    assert [layer["state"] for layer in bench.listed(stack)["layers"]] == ["clean", "needs_restack", "clean"]
    answer = bench.post(f"/stacks/{stack}/restack").json()
    assert answer == {"fromBranch": "one"}
    assert [layer["state"] for layer in bench.listed(stack)["layers"]] == ["clean", "clean", "clean"]
    assert bench.text("three", "one.txt") == "one, better\n"
    assert bench.text("three", "three.txt") == "three\n"
    assert bench.layer(stack, 1)["lastRestackedSha"] == bench.head("two")
    assert bench.post(f"/stacks/{stack}/restack").json() == {}


def test_a_restack_that_conflicts_is_an_error_until_the_layer_moves(bench: Bench) -> None:
    bench.push("lower", {"app.txt": BASE.replace("three", "3")})
    bench.push("upper", {"app.txt": BASE.replace("three", "33")}, onto="lower")
    bench.open_pull("lower")
    stack = bench.adopt(bench.open_pull("upper", "lower"))
    before = bench.head("upper")
    bench.push("lower", {"app.txt": BASE.replace("three", "III")})
    bench.post(f"/stacks/{stack}/restack")
    layer = bench.layer(stack, 1)
    assert (layer["state"], layer["restackError"]["kind"]) == ("conflict", "rebase_conflict")
    assert layer["restackError"]["detail"] == "conflict in app.txt"
    assert bench.head("upper") == before
    bench.merge("upper", "lower", {"app.txt": BASE.replace("three", "33 and III")})
    assert (bench.layer(stack, 1)["state"], bench.layer(stack, 1)["restackError"]) == ("clean", None)


def test_moving_on_by_hand_promotes_layer_by_layer_and_lands_the_unit(bench: Bench) -> None:
    stack = _two(bench)
    bench.set(stack, autoEnqueueWhenReady=False)
    bench.pass_time(600)
    path = f"/stacks/{stack}/land-next"
    wrong = bench.post(path, {"prNumber": 2})
    assert (wrong.status_code, wrong.json()["error"]) == (409, "not_next")
    assert bench.post(path).json() == {"mergedPrNumber": 1, "mergedBranch": "lower", "uNumber": 1}
    bench.pass_time(600)
    assert bench.post(path, {"prNumber": 2}).json()["mergedPrNumber"] == 2
    bench.pass_time(600)
    assert bench.post(path).json() == {"mergedPrNumber": 3, "mergedBranch": "mg-stack-1"}
    assert bench.ended(stack) == "landed"
    assert bench.text("main", "upper.txt") == "upper\n"
    assert bench.post(path).json()["error"] == "nothing_to_land"


def test_the_frozen_branch_for_the_next_layer_is_made_once(bench: Bench) -> None:
    stack = _two(bench)
    first = bench.post(f"/stacks/{stack}/ensure-upper-park").json()
    assert first == {"freezeBranch": "mg-park-1-2", "created": True}
    assert bench.head("mg-park-1-2") == bench.head("upper")
    assert bench.post(f"/stacks/{stack}/ensure-upper-park").json() == {**first, "created": False}


def test_a_pull_request_on_top_of_a_stack_joins_it_when_adopted(bench: Bench) -> None:
    bench.push("lower", {"lower.txt": "lower\n"})
    stack = bench.adopt(bench.open_pull("lower"))
    assert "unit" not in bench.listed(stack)
    bench.push("upper", {"upper.txt": "upper\n"}, onto="lower")
    assert bench.adopt(bench.open_pull("upper", "lower"), autoEnqueueWhenReady=True) == stack
    assert [layer["prNumber"] for layer in bench.listed(stack)["layers"]] == [1, 2]
    assert bench.listed(stack)["autoEnqueueWhenReady"] is True
    bench.until(lambda: bench.ended(stack))


def test_a_unit_whose_pull_requests_are_all_closed_is_given_up(bench: Bench) -> None:
    stack = _two(bench)
    bench.close(1)
    bench.close(2)
    assert bench.listed(stack)["unit"]["state"] == "abandoned"
    assert bench.ended(stack) == "closed"


def test_a_land_pull_request_that_was_closed_is_missed(bench: Bench) -> None:
    stack = _two(bench)
    bench.until(lambda: bench.listed(stack)["unit"]["landPrNumber"])
    bench.close(3)
    assert (bench.blocker(stack) or "").startswith("No open land PR for mg-stack-1")
    bench.pass_time(3600)
    assert bench.text("main", "lower.txt") is None


def test_a_promotion_that_git_has_but_no_row_tells_of_is_only_written_down(bench: Bench) -> None:
    stack = _two(bench)
    bench.until(lambda: bench.listed(stack)["autoEnqueueSettle"])
    merged = bench.merge_by_git_alone("mg-stack-1", "lower")
    bench.until(lambda: bench.layer(stack)["state"] == "merged")
    assert bench.head("mg-stack-1") == merged

"""The merge queue: whose turn it is, what comes back, what is taken out, and reads that are held."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from .conftest import Bench


def _green(bench: Bench, branch: str = "feature", who: str = "rivka") -> str:
    """A stack of one pull request that is ready."""
    bench.push(branch, {f"{branch}.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull(branch), who, autoEnqueueWhenReady=False)
    bench.until(lambda: bench.listed(stack, who)["layers"][0]["reviewStatus"] == "approved")
    bench.until(lambda: bench.listed(stack, who)["layers"][0]["ciStatus"] == "success")
    return stack


def _enqueue(bench: Bench, stack: str, who: str = "rivka") -> str:
    answer = bench.post(f"/stacks/{stack}/enqueue", who=who)
    assert answer.json()["duplicate"] is False
    return stack


def _queued(bench: Bench) -> str:
    """A stack of one green pull request in the queue, not yet taken up."""
    return _enqueue(bench, _green(bench))


@pytest.mark.parametrize("kind", ["merge_failed", "gh_error", "ci_timeout"])
def test_a_bounce_that_would_repeat_itself_disarms_and_arming_lands_it(bench: Bench, kind: str) -> None:
    bench.script(queue={"outcomes": [{"bounce": kind, "message": "GitHub said no"}]})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.blocker(stack))
    bench.pass_time(3600)

    listed = bench.listed(stack)
    entry = bench.entries(stack)[0]
    assert listed["autoEnqueueWhenReady"] is False
    assert listed["autoLandOff"] == {"reason": "bounced", "entryId": entry["id"], "at": entry["finishedAt"]}
    assert (entry["position"], entry["attempts"]) == (0, 1)
    assert len(bench.entries(stack)) == 1

    assert bench.set(stack, autoEnqueueWhenReady=True).json()["autoEnqueueWhenReady"] is True
    assert bench.listed(stack)["autoLandOff"] is None
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "new.txt") == "hello\n"


def test_a_check_that_fails_in_the_queue_is_red_at_the_head_until_it_is_run_again(bench: Bench) -> None:
    bench.script(queue={"outcomes": [{"bounce": "ci_failure", "check": "merged tests"}]})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "CI failed — merged tests"
    assert bench.listed(stack)["autoEnqueueWhenReady"] is True
    bench.pass_time(3600)
    assert len(bench.entries(stack)) == 1

    bench.rerun_checks("feature")
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"


def test_a_conflict_that_bounced_is_not_tried_again_before_something_moves(bench: Bench) -> None:
    bench.script(queue={"outcomes": [{"bounce": "restack_conflict"}]})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.entries(stack) and bench.entries(stack)[0]["state"] == "bounced")
    bench.pass_time(3600)
    assert len(bench.entries(stack)) == 1
    assert bench.listed(stack)["autoLandWait"]["reason"] == "conflict_unchanged"
    assert bench.post(f"/stacks/{stack}/enqueue").status_code == 409
    assert bench.post(f"/stacks/{stack}/enqueue").json()["error"] == "conflict_unchanged"
    bench.push("main", {"other.txt": "moved\n"})
    bench.until(lambda: bench.ended(stack))


def test_a_conflict_that_arises_in_the_queue_names_its_paths(bench: Bench) -> None:
    stack = _queued(bench)
    bench.until(lambda: bench.entries(stack)[0]["state"] == "running")
    bench.push("main", {"feature.txt": "something else\n"})
    bench.until(lambda: bench.entries(stack)[0]["state"] == "bounced")
    detail = bench.entries(stack)[0]["bounceDetail"]
    assert (detail["kind"], detail["conflictPaths"], detail["baseBranch"]) == (
        "restack_conflict",
        ["feature.txt"],
        "main",
    )
    assert detail["baseSha"] == bench.head("main")


def test_one_is_worked_on_at_a_time_and_the_others_see_what_is_ahead(bench: Bench) -> None:
    first, second, third = _green(bench, "one"), _green(bench, "two"), _green(bench, "three", "sam")
    for stack, who in ((first, "rivka"), (second, "rivka"), (third, "sam")):
        _enqueue(bench, stack, who)
    bench.until(lambda: any(entry["state"] == "running" for entry in bench.entries(first)))
    waiting = bench.entries(second)[0]
    assert (waiting["state"], waiting["position"]) == ("queued", 2)
    assert waiting["aheadInRepo"]["stackId"] == first
    assert waiting["aheadInRepo"]["claimedAt"] == bench.entries(first)[0]["claimedAt"]
    sams = bench.get("/stacks/queue", "sam", stackId=third)["entries"][0]
    assert sams["position"] == 3
    assert sams["aheadInRepo"]["stackId"] is None
    assert sams["aheadInRepo"]["state"] == "running"

    bench.until(lambda: bench.ended(second))
    bench.until(lambda: not bench.get("/stacks/queue", "sam", stackId=third)["entries"])
    for branch in ("one", "two", "three"):
        assert bench.text("main", f"{branch}.txt") == "hello\n"


def test_queueing_what_is_queued_finds_the_same_entry(bench: Bench) -> None:
    stack = _queued(bench)
    entry = bench.entries(stack)[0]
    again = bench.post(f"/stacks/{stack}/enqueue").json()
    assert (again["duplicate"], again["entry"]["id"]) == (True, entry["id"])
    assert len(bench.entries(stack)) == 1


def test_an_entry_is_taken_out_at_once_while_it_waits_and_auto_land_goes_off(bench: Bench) -> None:
    stack = _queued(bench)
    bench.set(stack, autoEnqueueWhenReady=True)
    entry = bench.entries(stack)[0]
    answer = bench.post(f"/stacks/queue/{entry['id']}/cancel").json()
    assert answer["cancelRequested"] is True
    assert answer["entry"]["state"] == "cancelled"
    assert bench.listed(stack)["autoLandOff"]["reason"] == "cancelled"
    assert bench.post(f"/stacks/queue/{entry['id']}/cancel").json()["entry"] == answer["entry"]
    bench.pass_time(3600)
    assert bench.entries(stack) == []
    assert bench.text("main", "feature.txt") is None


def test_an_entry_that_is_being_worked_on_leaves_when_the_queue_looks_up(bench: Bench) -> None:
    stack, behind = _green(bench), _green(bench, "behind")
    _enqueue(bench, stack)
    _enqueue(bench, behind)
    bench.until(lambda: bench.entries(stack)[0]["state"] == "running")
    entry = bench.entries(stack)[0]
    answer = bench.post(f"/stacks/queue/{entry['id']}/cancel").json()["entry"]
    assert answer["state"] == "running"
    assert answer["cancelRequestedAt"] is not None
    bench.until(lambda: bench.entries(stack) == [])
    assert bench.text("main", "feature.txt") is None
    bench.until(lambda: bench.ended(behind))


def test_an_entry_that_has_landed_cannot_be_taken_out(bench: Bench) -> None:
    stack = _queued(bench)
    entry = bench.entries(stack)[0]
    bench.until(lambda: bench.ended(stack))
    answer = bench.post(f"/stacks/queue/{entry['id']}/cancel")
    assert (answer.status_code, answer.json()["error"]) == (404, "entry_not_found")


def test_another_account_sees_no_entry_and_takes_none_out(bench: Bench) -> None:
    stack = _queued(bench)
    entry = bench.entries(stack)[0]
    for query in ({}, {"stackId": stack}, {"stackId": stack, "landed": 1}):
        answer = bench.get("/stacks/queue", "sam", **query)
        assert answer["entries"] == []
        assert answer.get("landed") is None
    answer = bench.post(f"/stacks/queue/{entry['id']}/cancel", who="sam")
    assert (answer.status_code, answer.json()["error"]) == (404, "entry_not_found")
    assert bench.entries(stack)[0]["cancelRequestedAt"] is None


def test_ids_are_read_without_regard_to_case(bench: Bench) -> None:
    stack = _queued(bench)
    assert len(bench.get("/stacks/queue", stackId=stack.upper())["entries"]) == 1
    assert bench.stack(stack.upper()) is not None


def test_a_list_of_all_stacks_shows_ten_bounces_and_a_list_of_one_shows_them_all(bench: Bench) -> None:
    bench.script(queue={"outcomes": [{"bounce": "merge_failed"}] * 12, "seconds": 1})
    stack = _queued(bench)
    for count in range(1, 13):
        bench.until(lambda: bench.entries(stack)[0]["state"] == "bounced")
        assert len(bench.entries(stack)) == count
        bench.post(f"/stacks/{stack}/enqueue")
    bounced = [entry for entry in bench.get("/stacks/queue")["entries"] if entry["state"] == "bounced"]
    assert len(bounced) == 10
    assert len(bench.entries(stack)) == 13


# Held reads


def test_a_read_is_answered_at_once_where_nothing_was_seen_or_something_else(bench: Bench) -> None:
    stack = _queued(bench)
    for query in ({"wait": 45}, {"wait": 45, "seen": "something else"}, {"seen": "something else"}):
        assert bench.get("/stacks/queue", stackId=stack, **query)["entries"]


def test_a_held_read_ends_unchanged_when_its_time_is_up(bench: Bench) -> None:
    stack = _queued(bench)
    seen = bench.get("/stacks/queue", stackId=stack)
    held = bench.get("/stacks/queue", stackId=stack, wait=1, seen=seen["fingerprint"])
    assert held == seen


@pytest.mark.parametrize("change", ["queue", "stack"])
def test_a_held_read_ends_as_soon_as_the_queue_or_the_stack_differs(bench: Bench, change: str) -> None:
    stack = _queued(bench)
    seen = bench.get("/stacks/queue", stackId=stack)
    answers: list[dict[str, Any]] = []

    def read() -> None:
        answers.append(bench.get("/stacks/queue", stackId=stack, wait=45, seen=seen["fingerprint"]))

    bench.client()
    reader = threading.Thread(target=read)
    reader.start()
    if change == "queue":
        bench.pass_time(6)
    else:
        bench.set(stack, autoReviewOverride=False)
    reader.join(timeout=30)
    assert answers
    assert answers[0]["fingerprint"] != seen["fingerprint"]


def test_a_query_that_makes_no_sense_is_refused(bench: Bench) -> None:
    wrong = [{"wait": "-1"}, {"wait": "soon"}, {"landed": "2"}, {"unknown": "1"}]
    answers = [bench.client().get("/stacks/queue", params=query) for query in wrong]
    assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [
        (400, "invalid_input")
    ] * len(wrong)

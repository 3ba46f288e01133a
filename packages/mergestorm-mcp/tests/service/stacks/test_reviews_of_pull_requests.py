"""Passes of Vortex: which one is read, when none is made, and what happens to those that fail."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

WHERE: dict[str, Any] = {"owner": "acme", "repo": "shop", "pr_number": 1}


def _pull(bench: Bench, text: str = "x = 1\n") -> str:
    bench.push("feature", {"tool.py": text})
    return bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)


def test_a_pass_is_in_progress_and_then_completed(bench: Bench) -> None:
    _pull(bench, "value = eval(text)\n")
    begun = bench.get("/stacks/pr-review", **WHERE)
    assert (begun["status"], begun["raw_status"], begun["verdict"], begun["findings"]) == (
        "in_progress",
        "in_progress",
        None,
        None,
    )
    bench.pass_time(4)
    assert bench.get("/stacks/pr-review", **WHERE)["phase"] == "fanout"
    bench.pass_time(60)
    done = bench.get("/stacks/pr-review", **WHERE)
    assert (done["schema"], done["status"], done["verdict"]) == (
        "mergestorm.pr_review/v1",
        "completed",
        "request_changes",
    )
    assert (done["pass"], done["finding_count"], done["head_sha"]) == (1, 1, bench.head("feature"))
    finding = done["findings"]["inline"][0]
    assert (finding["path"], finding["line"], finding["severity"]) == ("tool.py", 1, "error")
    assert done["patch_policy"] == {"mode": "hold"}


def test_a_newer_pass_is_found_by_head_by_number_and_by_what_was_seen(bench: Bench) -> None:
    _pull(bench)
    first = bench.head("feature")
    bench.pass_time(60)
    second = bench.push("feature", {"tool.py": "x = 2\n"})
    assert bench.get("/stacks/pr-review", **WHERE)["pass"] == 2
    old = bench.get("/stacks/pr-review", **WHERE, after_sha=first[:10])
    assert (old["pass"], old["newer_pass_pending"]) == (1, True)
    assert bench.get("/stacks/pr-review", **WHERE, after_sha=second.upper())["pass"] == 2
    assert bench.get("/stacks/pr-review", **WHERE, after_sha="a" * 40)["pass"] == 2
    assert bench.get("/stacks/pr-review", **{**WHERE, "pass": 1})["head_sha"] == first
    assert bench.get("/stacks/pr-review", **WHERE, after_pass=1)["pass"] == 2
    for query in ({"pass": 3}, {"after_pass": 2}):
        answer = bench.client().get("/stacks/pr-review", params={**WHERE, **query})
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_a_push_ends_the_review_of_the_older_head(bench: Bench) -> None:
    stack = _pull(bench)
    bench.pass_time(10)
    bench.push("feature", {"tool.py": "x = 2\n"})
    runs = [run for run in bench.layer(stack)["agentRuns"] if run["agent"] == "vortex"]
    assert [run["status"] for run in runs] == ["queued", "stopped"]
    bench.until(lambda: bench.ended(stack))


def test_what_is_not_there_is_not_found(bench: Bench) -> None:
    _pull(bench)
    for change in ({"pr_number": 9}, {"repo": "nowhere"}, {"owner": "nobody"}):
        answer = bench.client().get("/stacks/pr-review", params={**WHERE, **change})
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_a_private_repository_is_not_there_for_who_may_not_read_it(bench: Bench) -> None:
    _pull(bench)
    with bench.world.store.write() as connection:
        connection.execute("UPDATE repositories SET private = 1")
        connection.execute("DELETE FROM collaborators WHERE login = 'noor'")
    answer = bench.client("noor").get("/stacks/pr-review", params=WHERE)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_a_failed_review_is_tried_again_and_then_counts(bench: Bench) -> None:
    bench.script(reviewer={"failures": 1})
    stack = _pull(bench)
    bench.pass_time(40)
    layer = bench.layer(stack)
    assert (layer["vortexStatus"], layer["vortexReview"]["skip_reason"]) == ("failed", "retry_scheduled")
    assert bench.blocker(stack) is None
    assert [issue.pr_number for issue in bench.assess(stack).issues] == [1]
    bench.until(lambda: bench.ended(stack))


def test_a_review_that_keeps_failing_is_named(bench: Bench) -> None:
    bench.script(reviewer={"failures": 10})
    stack = _pull(bench)
    bench.pass_time(3600)
    assert bench.blocker(stack) == "Review failed"
    assert bench.layer(stack)["reviewStatus"] == "failed"
    assert bench.get("/stacks/pr-review", **WHERE)["status"] == "failed"
    assert bench.get("/me")["usage"]["standard"]["used"] == 0


def test_a_review_costs_a_credit_and_is_skipped_when_none_is_left(bench: Bench) -> None:
    with bench.world.store.write() as connection:
        connection.execute("UPDATE accounts SET credits_limit = 1 WHERE login = 'rivka'")
    stack = _pull(bench)
    bench.pass_time(50)
    assert bench.get("/me")["usage"]["standard"]["remaining"] == 0
    bench.push("feature", {"tool.py": "x = 2\n"})
    bench.pass_time(3600)
    assert bench.layer(stack)["vortexReview"]["skip_reason"] == "quota_exceeded"
    assert bench.blocker(stack) == "Review skipped, out of review quota"
    with bench.world.store.write() as connection:
        connection.execute("UPDATE accounts SET credits_limit = 5 WHERE login = 'rivka'")
    bench.set(stack, autoReviewOverride=True)
    bench.until(lambda: bench.ended(stack))


@pytest.mark.parametrize(
    ("settings", "path", "reason"),
    [
        ({"auto_review_enabled": False}, "/settings", "auto_review_off"),
        ({"ignored_bot_logins": ["Rivka"]}, "/settings", "ignored_author"),
        ({"owner": "acme", "repo": "shop", "auto_review_enabled": False}, "/repo-settings", "repo_disabled"),
    ],
)
def test_a_head_is_skipped_where_reviews_are_off(
    bench: Bench, settings: dict[str, Any], path: str, reason: str
) -> None:
    assert bench.client().patch(path, json=settings).status_code == 200
    stack = _pull(bench)
    bench.pass_time(600)
    assert bench.get("/stacks/pr-review", **WHERE)["skip_reason"] == reason
    assert bench.assess(stack).repair is not None
    assert bench.blocker(stack) is not None


def test_a_pull_request_outside_any_stack_is_reviewed_too(bench: Bench) -> None:
    bench.push("feature", {"tool.py": "value = eval(text)\n"})
    bench.open_pull("feature", author="somebody")
    bench.pass_time(60)
    assert bench.get("/stacks/pr-review", **WHERE)["verdict"] == "request_changes"

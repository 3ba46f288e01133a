"""Cyclone: pushes fixes where it may, hands over where it cannot, and keeps out where it is off."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import BASE, Bench

EVAL = "value = eval(text)\n"
FIX: dict[str, Any] = {"fixes": [{"path": "*.py", "text": "eval(", "with": "int("}]}


def _finding(bench: Bench, **policy: bool | None) -> str:
    bench.push("feature", {"tool.py": EVAL})
    return bench.adopt(bench.open_pull("feature"), **{"autoEnqueueWhenReady": True, **policy})


def test_a_finding_is_fixed_by_a_pushed_commit_and_the_stack_lands(bench: Bench) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench, autoPatchOverride=True)
    first = bench.head("feature")
    bench.until(lambda: bench.layer(stack)["cycloneStatus"] == "patching")
    assert bench.layer(stack)["agentsBusy"]["cyclone"] is True
    assert bench.blocker(stack) is None
    bench.until(lambda: bench.head("feature") != first)
    assert bench.text("feature", "tool.py") == "value = int(text)\n"
    assert bench.layer(stack)["vortexReview"]["pass"] == 2
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "tool.py") == "value = int(text)\n"


def test_a_finding_without_a_fix_is_handed_to_a_person(bench: Bench) -> None:
    stack = _finding(bench, autoPatchOverride=True)
    bench.until(lambda: bench.blocker(stack))
    layer = bench.layer(stack)
    assert bench.blocker(stack) == "Vortex findings need a person"
    assert (layer["cycloneHandoff"]["headSha"], layer["cycloneHandoff"]["reason"]) == (
        layer["headSha"],
        "no_changes",
    )
    assert layer["cycloneStatus"] == "awaiting_fix"
    bench.pass_time(3600)
    assert bench.layer(stack)["headSha"] == layer["headSha"]
    assert len([run for run in bench.layer(stack)["agentRuns"] if run["agent"] == "cyclone"]) == 1


@pytest.mark.parametrize(
    ("policy", "reason"),
    [({"autoPatchOverride": False}, "stack_auto_patch_off"), ({}, "account_auto_patch_off")],
)
def test_it_leaves_findings_alone_where_it_is_off(bench: Bench, policy: dict[str, bool], reason: str) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench, **policy)
    bench.pass_time(3600)
    assert bench.listed(stack)["cyclonePatchOff"] == reason
    assert bench.text("feature", "tool.py") == EVAL


def test_the_account_and_the_repository_can_switch_it_on(bench: Bench) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench)
    bench.pass_time(120)
    assert bench.client().patch("/settings", json={"auto_patch_enabled": True}).status_code == 200
    assert "cyclonePatchOff" not in bench.listed(stack)
    bench.client().patch(
        "/repo-settings", json={"owner": "acme", "repo": "shop", "auto_patch_enabled": False}
    )
    assert bench.listed(stack)["cyclonePatchOff"] == "account_auto_patch_off"


def test_switching_it_on_over_standing_findings_starts_it(bench: Bench) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench)
    bench.pass_time(3600)
    assert bench.set(stack, autoPatchOverride=True).status_code == 200
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "tool.py") == "value = int(text)\n"


def test_a_head_that_moves_under_a_patch_is_not_overwritten(bench: Bench) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench, autoPatchOverride=True)
    bench.until(lambda: bench.layer(stack)["cycloneStatus"] == "patching")
    own = bench.push("feature", {"tool.py": "value = 1\n"})
    bench.pass_time(40)
    assert bench.head("feature") == own
    assert bench.layer(stack)["cycloneStatus"] is None
    bench.until(lambda: bench.ended(stack))


def test_a_red_check_is_fixed_where_that_is_on(bench: Bench) -> None:
    bench.script(
        ci={"checks": [{"name": "unit", "fails_when": {"path": "*.txt", "text": "BROKEN"}}]},
        patcher={"fixes": [{"text": "BROKEN", "with": "whole"}]},
    )
    bench.push("feature", {"new.txt": "BROKEN\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True, autoFixCiOverride=True)
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "new.txt") == "whole\n"


def test_a_red_check_without_a_fix_is_handed_over(bench: Bench) -> None:
    bench.script(ci={"checks": [{"name": "unit", "fails_when": {"path": "new.txt"}}]})
    bench.push("feature", {"new.txt": "text\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True, autoFixCiOverride=True)
    bench.pass_time(3600)
    assert bench.layer(stack)["cycloneCiHandoff"]["reason"] == "ci_unresolved"
    assert bench.blocker(stack) == "CI failed — unit"


@pytest.mark.parametrize(("side", "kept"), [("ours", "3"), ("theirs", "III")])
def test_a_conflict_is_resolved_by_a_merge_where_that_is_on(bench: Bench, side: str, kept: str) -> None:
    bench.script(patcher={"conflicts": side})
    bench.push("feature", {"app.txt": BASE.replace("three", "3"), "mine.txt": "mine\n"})
    stack = bench.adopt(
        bench.open_pull("feature"), autoEnqueueWhenReady=True, autoResolveConflictsOverride=True
    )
    bench.push("main", {"app.txt": BASE.replace("three", "III"), "theirs.txt": "theirs\n"})
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "app.txt") == BASE.replace("three", kept)
    assert (bench.text("main", "mine.txt"), bench.text("main", "theirs.txt")) == ("mine\n", "theirs\n")


def test_a_conflict_that_it_does_not_resolve_is_handed_over(bench: Bench) -> None:
    bench.push("feature", {"app.txt": BASE.replace("three", "3")})
    stack = bench.adopt(
        bench.open_pull("feature"), autoEnqueueWhenReady=True, autoResolveConflictsOverride=True
    )
    bench.push("main", {"app.txt": BASE.replace("three", "III")})
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "Merge conflicts vs main"
    assert bench.layer(stack)["cycloneConflictHandoff"]["reason"] == "conflict_needs_person"
    repair = bench.assess(stack).repair
    assert repair is not None
    assert repair["files"] == ["app.txt"]


def test_a_patch_that_git_has_but_no_row_tells_of_is_recognised(bench: Bench) -> None:
    bench.script(patcher=FIX)
    stack = _finding(bench, autoPatchOverride=True)
    bench.until(lambda: bench.layer(stack)["cycloneStatus"] == "patching")
    before = bench.head("feature")
    bench.until(lambda: bench.head("feature") != before)
    pushed = bench.head("feature")
    with (
        bench.world.store.write() as connection
    ):  # as if the rows of that event had been lost with the process
        connection.execute(
            "UPDATE cyclone_runs SET status = 'patching', finished_at = NULL, pushed_sha = NULL"
        )
        connection.execute("UPDATE timeline SET done_at = NULL WHERE kind = 'cyclone.finish'")
    bench.pass_time(1)
    assert bench.head("feature") == pushed
    with bench.world.store.read() as connection:
        run = connection.execute("SELECT * FROM cyclone_runs").fetchone()
    assert (run["status"], run["pushed_sha"]) == ("done", pushed)

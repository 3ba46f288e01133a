"""Adopting chains, what is refused and writes nothing, policy, and what one account sees of another's stacks."""

from __future__ import annotations

from typing import Any

import httpx

from .conftest import Bench

PLACE = {"owner": "acme", "repo": "shop"}


def _adopt(bench: Bench, number: int, who: str = "rivka", /, **more: Any) -> httpx.Response:
    return bench.post("/stacks/adopt", {**PLACE, "prNumber": number, **more}, who)


def _pull(bench: Bench, branch: str = "feature", base: str = "main", **options: Any) -> int:
    bench.push(branch, {f"{branch}.txt": "hello\n"}, onto=base)
    return bench.open_pull(branch, base, **options)


def _nothing_written(bench: Bench) -> bool:
    with bench.world.store.read() as connection:
        rows = connection.execute(
            "SELECT (SELECT count(*) FROM stacks) + (SELECT count(*) FROM units) AS n"
        ).fetchone()
    return rows["n"] == 0 and "mg-stack-1" not in bench.world.hub.git(bench.repository).branches()


def _error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_chain_is_adopted_from_any_of_its_pull_requests(bench: Bench) -> None:
    _pull(bench, "one")
    middle = _pull(bench, "two", "one")
    _pull(bench, "three", "two")
    answer = _adopt(bench, middle).json()
    assert [item["prNumber"] for item in answer["chain"]] == [1, 2, 3]
    assert answer["stack"]["trunkBranch"] == "main"
    assert (
        bench.post("/stacks/adopt", {**PLACE, "prNumber": 3}).json()["stack"]["id"] == answer["stack"]["id"]
    )
    assert len(bench.get("/stacks")["stacks"]) == 1


def test_a_policy_that_is_given_is_stored_and_one_that_is_not_is_left_open(bench: Bench) -> None:
    stack = bench.adopt(
        _pull(bench), autoEnqueueWhenReady=True, autoPatchOverride=True, autoReviewOverride=None
    )
    listed = bench.listed(stack)
    assert listed["autoEnqueueWhenReady"] is True
    assert (listed["autoPatchOverride"], listed["autoReviewOverride"], listed["autoFixCiOverride"]) == (
        True,
        None,
        None,
    )


def test_auto_land_of_a_new_stack_follows_the_repository_and_the_account(bench: Bench) -> None:
    assert bench.listed(bench.adopt(_pull(bench, "one")))["autoEnqueueWhenReady"] is False
    bench.client().patch("/settings", json={"auto_land_default": True})
    assert bench.listed(bench.adopt(_pull(bench, "two")))["autoEnqueueWhenReady"] is True
    bench.client().patch("/repo-settings", json={**PLACE, "auto_land_default": False})
    assert bench.listed(bench.adopt(_pull(bench, "three")))["autoEnqueueWhenReady"] is False


def test_adopting_again_sets_only_what_is_given(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoEnqueueWhenReady=True, autoPatchOverride=False)
    assert bench.adopt(1, autoPatchOverride=None) == stack
    assert (bench.listed(stack)["autoEnqueueWhenReady"], bench.listed(stack)["autoPatchOverride"]) == (
        True,
        None,
    )


def test_what_is_not_open_cannot_be_adopted(bench: Bench) -> None:
    bench.close(_pull(bench, "closed"))
    assert _error(_adopt(bench, 1)) == (400, "pr_closed")
    draft = _pull(bench, "draft", draft=True)
    assert _error(_adopt(bench, draft)) == (400, "draft")
    bench.push("mg-stack-9", {"x.txt": "x\n"})
    assert _error(_adopt(bench, bench.open_pull("mg-stack-9"))) == (400, "reserved_branch")
    bench.push("orphan", {"y.txt": "y\n"}, onto="closed")
    assert _error(_adopt(bench, bench.open_pull("orphan", "closed"))) == (400, "not_stacked")
    assert _error(_adopt(bench, 99)) == (404, "not_found")
    assert _error(_adopt(bench, 1, repo="nowhere")) == (404, "not_found")
    assert _nothing_written(bench)


def test_a_merged_pull_request_cannot_be_adopted(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.ended(stack))
    assert _error(_adopt(bench, 1)) == (400, "pr_merged")


def test_adopting_takes_write_access_and_the_surge_app(bench: Bench) -> None:
    number = _pull(bench)
    assert _error(_adopt(bench, number, "noor")) == (403, "forbidden")
    with bench.world.store.write() as connection:
        bench.world.hub.uninstall_app(connection, bench.repository.id, "surge")
    missing = _adopt(bench, number)
    assert _error(missing) == (400, "cyclone_not_installed")
    assert missing.json()["reason"] == "surge_not_installed"
    assert missing.json()["installUrl"].startswith("https://github.com/apps/")
    assert _nothing_written(bench)


def test_what_needs_cyclone_is_refused_without_it_and_writes_nothing(bench: Bench) -> None:
    lower = _pull(bench)
    _pull(bench, "upper", "feature")
    with bench.world.store.write() as connection:
        bench.world.hub.uninstall_app(connection, bench.repository.id, "cyclone")
    for name in ("autoPatchOverride", "autoResolveConflictsOverride", "autoFixCiOverride"):
        assert _error(_adopt(bench, lower, **{name: True})) == (400, "cyclone_not_connected")
    assert _nothing_written(bench)
    stack = bench.adopt(lower, autoPatchOverride=False)
    assert _error(bench.set(stack, autoPatchOverride=True, autoEnqueueWhenReady=True)) == (
        400,
        "cyclone_not_connected",
    )
    assert bench.listed(stack)["autoEnqueueWhenReady"] is False
    assert bench.listed(stack)["cycloneOwnerMatch"] == "none"


def test_a_pull_request_in_a_stack_of_another_account_is_busy(bench: Bench) -> None:
    bench.adopt(_pull(bench), "sam")
    assert _error(_adopt(bench, 1)) == (409, "busy")
    upper = _pull(bench, "upper", "feature")
    assert _error(_adopt(bench, upper)) == (409, "busy")
    assert bench.get("/stacks")["stacks"] == []


def test_another_accounts_stack_is_not_there(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench))
    assert bench.stack(stack, "sam") is None
    assert bench.get("/stacks", "sam")["stacks"] == []
    answers = [
        bench.set(stack, "sam", autoEnqueueWhenReady=True),
        *(
            bench.post(f"/stacks/{stack}/{verb}", who="sam")
            for verb in ("restack", "land-next", "enqueue", "ensure-upper-park")
        ),
    ]
    assert {_error(answer) for answer in answers} == {(404, "stack_not_found")}
    assert bench.listed(stack)["autoEnqueueWhenReady"] is False


def test_an_owner_who_lost_write_access_changes_nothing_any_more(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench))
    with bench.world.store.write() as connection:
        bench.world.hub.set_permission(connection, bench.repository.id, "rivka", "read")
    assert _error(bench.set(stack, autoEnqueueWhenReady=True)) == (403, "forbidden")
    assert bench.listed(stack)["autoEnqueueWhenReady"] is False


def test_policy_is_set_in_part_and_echoed_whole(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoPatchOverride=False)
    echoed = bench.set(stack, autoFixCiOverride=True).json()
    assert echoed == {
        "id": stack,
        "autoEnqueueWhenReady": False,
        "autoReviewOverride": None,
        "autoPatchOverride": False,
        "autoResolveConflictsOverride": None,
        "autoFixCiOverride": True,
    }
    assert bench.set(stack, autoPatchOverride=None).json()["autoPatchOverride"] is None


def test_switching_auto_land_off_says_that_a_person_did(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoEnqueueWhenReady=True)
    bench.set(stack, autoEnqueueWhenReady=False)
    assert bench.listed(stack)["autoLandOff"]["reason"] == "user"
    assert bench.blocker(stack) is None


def test_requests_that_make_no_sense_are_refused(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench))
    before = bench.listed(stack)
    bodies: list[dict[str, Any]] = [
        {},
        {"autoEnqueueWhenReady": None},
        {"autoPatchOverride": "yes"},
        {"autoPatchOverride": 1},
        {"unknown": True},
    ]
    answers = [bench.client().patch(f"/stacks/{stack}", json=body) for body in bodies]
    answers += [_adopt(bench, number) for number in (0, -1, 1.5, "1", None)]  # type: ignore[arg-type]
    assert {_error(answer) for answer in answers} == {(400, "invalid_input")}
    assert bench.listed(stack) == before


def test_the_policy_of_a_stack_that_is_over_does_not_change(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.ended(stack))
    assert _error(bench.set(stack, autoEnqueueWhenReady=True)) == (409, "stack_over")


def test_switching_reviews_on_has_a_skipped_head_reviewed(bench: Bench) -> None:
    stack = bench.adopt(_pull(bench), autoReviewOverride=False, autoEnqueueWhenReady=True)
    newer = bench.push("feature", {"feature.txt": "again\n"})
    bench.pass_time(3600)
    layer = bench.layer(stack)
    assert (layer["vortexStatus"], layer["vortexReview"]["skip_reason"]) == ("skipped", "auto_review_off")
    assert bench.blocker(stack) == "Vortex auto-review is off, so this head was not reviewed"
    bench.set(stack, autoReviewOverride=True)
    bench.until(lambda: bench.ended(stack))
    assert bench.get("/stacks/queue", stackId=stack, landed=1)["landed"]["verifyHeadSha"] == newer

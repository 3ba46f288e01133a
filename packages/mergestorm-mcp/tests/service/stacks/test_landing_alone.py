"""A stack of one pull request on its way to the trunk, and what holds it up."""

from __future__ import annotations

from mergestorm_mcp.service.stacks import queue
from mergestorm_mcp.service.stacks.site import Site

from .conftest import BASE, Bench

EVAL = "value = eval(text)\n"
SAFE = "value = int(text)\n"


def test_a_green_pull_request_lands_by_itself(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    begun = bench.layer(stack)
    assert (begun["ciStatus"], begun["vortexStatus"], begun["reviewStatus"]) == ("pending", "queued", "none")
    assert bench.blocker(stack) is None

    bench.until(lambda: bench.listed(stack)["autoEnqueueSettle"])
    ready = bench.listed(stack)
    assert (ready["layers"][0]["ciStatus"], ready["layers"][0]["reviewStatus"]) == ("success", "approved")
    assert ready["autoEnqueueSettle"]["action"] == "ready"
    assert ready["autoLandWait"] is None

    bench.until(lambda: bench.entries(stack))
    entry = bench.entries(stack)[0]
    assert (entry["state"], entry["position"], entry["enqueuedBy"]) == ("queued", 1, "agent")

    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"
    assert bench.text("main", "new.txt") == "hello\n"
    landed = bench.get("/stacks/queue", stackId=stack, landed=1)
    assert landed["entries"] == []
    assert landed["landed"]["landedPrNumbers"] == [1]
    over = bench.listed(stack)
    assert over["autoEnqueueWhenReady"] is False
    assert over["autoLandOff"]["reason"] == "landed"
    assert over["layers"][0]["state"] == "merged"


def test_auto_land_that_is_off_leaves_a_green_pull_request_alone(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"))
    bench.pass_time(3600)
    assert bench.layer(stack)["reviewStatus"] == "approved"
    assert bench.entries(stack) == []
    assert bench.text("main", "new.txt") is None


def test_an_error_finding_holds_it_until_a_fix_is_pushed(bench: Bench) -> None:
    bench.push("feature", {"tool.py": EVAL})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True, autoPatchOverride=False)
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "Vortex findings need a person"
    bench.pass_time(3600)
    assert bench.entries(stack) == []
    assert bench.listed(stack)["autoLandWait"]["reason"] == "vortex_not_green"

    fixed = bench.push("feature", {"tool.py": SAFE})
    assert bench.blocker(stack) is None
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"
    assert bench.text("main", "tool.py") == SAFE
    assert bench.get("/stacks/queue", stackId=stack, landed=1)["landed"]["verifyHeadSha"] == fixed


def test_a_warning_alone_does_not_hold_it(bench: Bench) -> None:
    bench.push("feature", {"tool.py": "x = 1  # FIXME\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.entries(stack))
    layer = bench.layer(stack)
    assert (layer["vortexStatus"], layer["reviewStatus"]) == ("findings", "reviewed")
    bench.until(lambda: bench.ended(stack))


def test_a_red_check_holds_it_until_the_files_are_fixed(bench: Bench) -> None:
    bench.script(
        ci={"checks": [{"name": "unit", "fails_when": {"path": "*.txt", "text": "BROKEN"}}, {"name": "lint"}]}
    )
    bench.push("feature", {"new.txt": "BROKEN\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "CI failed — unit"
    checks = bench.layer(stack)["checks"]
    assert (checks["total"], checks["success"], checks["failure"]) == (2, 1, 1)
    assert bench.post(f"/stacks/{stack}/enqueue").json()["error"] == "ci_failed"

    bench.push("feature", {"new.txt": "whole\n"})
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "new.txt") == "whole\n"


def test_a_conflict_with_the_trunk_holds_it_until_the_trunk_is_merged_in(bench: Bench) -> None:
    bench.push("feature", {"app.txt": BASE.replace("three", "3")})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.push("main", {"app.txt": BASE.replace("three", "III")})
    held = bench.assess(stack).held
    assert held is not None
    assert (held.issue.blocker, held.waiting_on) == ("Merge conflicts vs main", ("vortex",))
    layer = bench.layer(stack)
    assert (layer["mergeable"], layer["mergeableState"]) == (False, "dirty")
    assert layer["conflictDetail"] == "conflict in app.txt"
    bench.pass_time(3600)
    assert bench.blocker(stack) == "Merge conflicts vs main"
    assert bench.listed(stack)["autoLandWait"]["reason"] == "merge_conflict"
    assert bench.post(f"/stacks/{stack}/enqueue").json()["error"] == "conflict_unchanged"

    bench.merge("feature", "main", {"app.txt": BASE.replace("three", "3 or III")})
    bench.until(lambda: bench.ended(stack))
    assert "3 or III" in (bench.text("main", "app.txt") or "")


def test_a_draft_is_not_queued_before_it_is_ready(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    stack = bench.adopt(number, autoEnqueueWhenReady=True)
    bench.set_draft(number, draft=True)
    bench.pass_time(3600)
    assert bench.blocker(stack) == "Draft PR"
    assert bench.listed(stack)["autoLandWait"]["reason"] == "pr_draft"
    bench.set_draft(number, draft=False)
    bench.until(lambda: bench.ended(stack))


def test_a_push_while_it_settles_begins_anew_with_the_new_head(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.listed(stack)["autoEnqueueSettle"])
    newer = bench.push("feature", {"new.txt": "hello again\n"})
    assert bench.listed(stack)["autoEnqueueSettle"] is None
    bench.until(lambda: bench.ended(stack))
    assert bench.get("/stacks/queue", stackId=stack, landed=1)["landed"]["verifyHeadSha"] == newer
    assert bench.text("main", "new.txt") == "hello again\n"


def test_a_push_while_the_queue_works_bounces_and_lands_the_new_head(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: any(entry["state"] == "running" for entry in bench.entries(stack)))
    bench.push("feature", {"new.txt": "newer\n"})
    bounced = bench.entries(stack)[0]
    assert (bounced["state"], bounced["bounceDetail"]["kind"]) == ("bounced", "head_moved")
    assert bench.blocker(stack) is None
    assert bench.listed(stack)["autoEnqueueWhenReady"] is True
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "new.txt") == "newer\n"


def test_a_merge_that_git_has_but_no_row_tells_of_is_only_written_down(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: any(entry["state"] == "running" for entry in bench.entries(stack)))
    merged = bench.merge_by_git_alone("main", "feature")
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"
    assert bench.head("main") == merged


def test_saying_again_that_a_head_moved_changes_nothing(bench: Bench) -> None:
    sha = bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.listed(stack)["autoEnqueueSettle"])
    before = bench.listed(stack)
    bench.rewrite("feature", sha)
    after = bench.listed(stack)
    assert after["autoEnqueueSettle"] == before["autoEnqueueSettle"]
    assert after["layers"] == before["layers"]


def test_a_pull_request_that_is_closed_ends_its_stack_without_a_landing(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    stack = bench.adopt(number, autoEnqueueWhenReady=True)
    bench.close(number)
    assert bench.ended(stack) == "closed"
    bench.pass_time(3600)
    assert bench.text("main", "new.txt") is None


def test_a_branch_that_is_deleted_closes_its_pull_request(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.delete("feature")
    assert bench.ended(stack) == "closed"


def test_a_landed_stack_is_forgotten_after_a_day_and_its_landing_is_not(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.ended(stack))
    bench.pass_time(25 * 3600)
    assert bench.stack(stack) is None
    landed = bench.get("/stacks/queue", stackId=stack, landed=1)["landed"]
    assert (landed["state"], landed["landedPrNumbers"]) == ("landed", [1])


def test_a_repository_without_ci_lands_on_the_review_alone(bench: Bench) -> None:
    bench.script(ci={"checks": []})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    assert (bench.layer(stack)["ciStatus"], bench.layer(stack)["checks"]) == ("none", None)
    bench.until(lambda: bench.ended(stack))


def test_a_check_that_never_finishes_is_named_after_three_quarters_of_an_hour(bench: Bench) -> None:
    bench.script(ci={"checks": [{"name": "stuck", "never_finishes": True}]})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.pass_time(44 * 60)
    assert bench.blocker(stack) is None
    bench.pass_time(120)
    assert (bench.blocker(stack) or "").startswith("CI pending for 4")


def test_a_trunk_that_is_gone_bounces_what_is_being_landed(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: any(entry["state"] == "running" for entry in bench.entries(stack)))
    bench.delete("main")
    bench.until(lambda: bench.entries(stack)[0]["state"] == "bounced")
    assert bench.entries(stack)[0]["bounceDetail"]["kind"] == "gh_error"
    with bench.world.store.read() as connection:
        site = Site.of(bench.world, connection, bench.repository.id)
        names = {site.repo_id: ("acme", "shop")}
        assert queue.newest_landed(names, connection, 1, stack) is None

"""What people do on the page: archive a stack, and have a seam reviewed again."""

from __future__ import annotations

from mergestorm_mcp.service.agents.reactions import review_seam_again
from mergestorm_mcp.service.stacks.archiving import archive
from mergestorm_mcp.service.stacks.records import stack_by_id
from mergestorm_mcp.service.stacks.site import Site

from .conftest import Bench


def _archive(bench: Bench, stack_id: str) -> None:
    with bench.world.store.write() as connection:
        row = stack_by_id(connection, stack_id)
        assert row is not None
        archive(Site.of(bench.world, connection, row["repo_id"]), row)


def test_an_archived_stack_leaves_the_queue_and_is_not_touched_again(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.entries(stack))
    _archive(bench, stack)
    assert bench.ended(stack) == "archived"
    assert bench.entries(stack) == []
    assert bench.listed(stack)["autoLandOff"]["reason"] == "archive"
    bench.pass_time(3600)
    assert bench.text("main", "new.txt") is None
    _archive(bench, stack)
    assert bench.adopt(1) != stack
    bench.pass_time(24 * 3600)
    assert bench.stack(stack) is None


def test_archiving_while_the_queue_works_on_it_keeps_it_from_landing(bench: Bench) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.until(lambda: any(entry["state"] == "running" for entry in bench.entries(stack)))
    _archive(bench, stack)
    bench.pass_time(600)
    assert bench.text("main", "new.txt") is None
    assert bench.entries(stack) == []


def test_a_seam_with_findings_can_be_reviewed_again_at_the_same_head(bench: Bench) -> None:
    rule = {"path": "upper.txt", "text": "upper", "title": "Does not fit", "kind": "seam"}
    bench.script(reviewer={"findings": [rule]})
    bench.push("lower", {"lower.txt": "lower\n"})
    bench.push("upper", {"upper.txt": "upper\n"}, onto="lower")
    bench.open_pull("lower")
    stack = bench.adopt(bench.open_pull("upper", "lower"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.blocker(stack) == "Seam findings")
    bench.script()
    with bench.world.store.write() as connection:
        assert review_seam_again(bench.world, connection, bench.repository.id, 2)
        assert not review_seam_again(bench.world, connection, bench.repository.id, 2)
        assert not review_seam_again(bench.world, connection, bench.repository.id, 9)
    assert bench.listed(stack)["unit"]["members"][1]["seamState"] == "pending_rereview"
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"


def test_settings_that_change_set_the_agents_to_work(bench: Bench) -> None:
    bench.client().patch("/settings", json={"auto_review_enabled": False})
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.pass_time(600)
    assert bench.layer(stack)["vortexStatus"] == "skipped"
    bench.client().patch("/settings", json={"auto_review_enabled": True})
    bench.until(lambda: bench.ended(stack))

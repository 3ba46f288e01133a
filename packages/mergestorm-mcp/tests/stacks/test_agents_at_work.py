"""Who is at work on a layer, and what that does to a blocker: nothing, kept silent, or held until they are idle."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.agents import agents_busy
from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.model import Layer

Assess = Callable[..., Assessment]
HERE, OLDER = "0000000b" * 5, "f" * 40


def names(make: SimpleNamespace, **fields: Any) -> list[str]:
    return agents_busy(Layer.read(make.layer(**fields)), make.now).names


@pytest.mark.parametrize(
    "view",
    [{"status": "reviewing", "head_sha": HERE}, {"status": "reviewing", "head_sha": HERE[:10].upper()}],
)
def test_a_review_of_this_head_is_work(make: SimpleNamespace, view: dict[str, Any]) -> None:
    assert names(make, vortexReview=view) == ["vortex"]


@pytest.mark.parametrize(
    ("fields", "busy"),
    [
        ({"status": "reviewing"}, True),
        ({"status": "reviewing", "sha": OLDER}, False),
        ({"status": "reviewing", "sha": None}, False),
        ({"status": "reviewing", "finishedAt": "2026-11-01T00:00:00Z"}, False),
        ({"status": "queued", "started": 14}, True),
        ({"status": "queued", "started": 16}, False),
        ({"status": "queued"}, False),
        ({"status": "queued", "started": 1, "sha": OLDER}, False),
        ({"status": "done"}, False),
    ],
)
def test_a_vortex_run_is_work_if_it_is_of_this_head_and_running_or_freshly_queued(
    make: SimpleNamespace, fields: dict[str, Any], busy: bool
) -> None:
    assert names(make, agentRuns=[make.run("vortex", **fields)]) == (["vortex"] if busy else [])


@pytest.mark.parametrize(
    ("fields", "busy"),
    [
        ({"status": "patching"}, True),
        ({"status": "patching", "sha": OLDER}, True),
        ({"status": "patching", "sha": None}, True),
        ({"status": "patching", "finishedAt": "2026-11-01T00:00:00Z"}, False),
        ({"status": "queued", "started": 14}, True),
        ({"status": "queued", "started": 16}, False),
        ({"status": "queued", "started": 1, "sha": OLDER}, False),
    ],
)
def test_a_cyclone_run_is_work_for_any_head_once_it_patches(
    make: SimpleNamespace, fields: dict[str, Any], busy: bool
) -> None:
    assert names(make, agentRuns=[make.run("cyclone", **fields)]) == (["cyclone"] if busy else [])


@pytest.mark.parametrize("name", ["cycloneConflictPendingSince", "cycloneCiPendingSince"])
@pytest.mark.parametrize(("minutes", "busy"), [(0.5, True), (3, False)])
def test_an_announced_repair_is_work_for_two_minutes(
    make: SimpleNamespace, name: str, minutes: float, busy: bool
) -> None:
    assert names(make, **{name: make.ago(minutes)}) == (["cyclone"] if busy else [])


@pytest.mark.parametrize(
    "fields",
    [
        {"vortexStatus": "seam_pending"},
        {"vortexStatus": "queued"},
        {"vortexStatus": "reviewing", "agentRuns": []},
        {"vortexStatus": "reviewing", "vortexReview": {"status": "done", "head_sha": HERE}},
        {"cycloneStatus": "awaiting_fix"},
        {"cycloneStatus": "failed"},
        {"agentRuns": [{"agent": "tempest", "status": "reviewing", "sha": HERE}]},
    ],
)
def test_a_status_alone_is_no_work(make: SimpleNamespace, fields: dict[str, Any]) -> None:
    assert names(make, **fields) == []


def test_a_reviewing_status_counts_where_the_service_knows_no_runs(make: SimpleNamespace) -> None:
    assert names(make, vortexStatus="reviewing") == ["vortex"]


def test_the_service_s_own_word_is_the_last(make: SimpleNamespace) -> None:
    working = {"cycloneStatus": "patching", "vortexReview": make.review("reviewing")}
    assert names(make, **working) == ["cyclone", "vortex"]
    assert names(make, agentsBusy={"vortex": False, "cyclone": False}, **working) == []
    assert names(make, agentsBusy={"vortex": True, "cyclone": False}) == ["vortex"]


BUSY = {"agentsBusy": {"vortex": False, "cyclone": True}}

HELD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("restack_failed", {"restackError": {"kind": "checkout_failed"}}, {}),
    ("draft_pr", {"draft": True}, {}),
    ("restack_conflict", {"state": "conflict"}, {"cycloneConflictOff": "stack_auto_resolve_off"}),
    ("merge_conflict", {"mergeable": False}, {"cycloneConflictOff": "stack_auto_resolve_off"}),
    (
        "vortex_out_of_quota",
        {"vortexReview": {"status": "skipped", "skip_reason": "quota_exceeded", "head_sha": HERE}},
        {},
    ),
    (
        "vortex_skipped",
        {"vortexReview": {"status": "skipped", "skip_reason": "repo_disabled", "head_sha": HERE}},
        {},
    ),
    ("unit_abandoned", {}, {"unit": {"state": "abandoned"}}),
]


@pytest.mark.parametrize(("_reason", "layer", "stack"), HELD, ids=[item[0] for item in HELD])
def test_a_blocker_that_no_run_clears_is_held_and_leads_the_issues(
    make: SimpleNamespace, assess: Assess, _reason: str, layer: dict[str, Any], stack: dict[str, Any]
) -> None:
    above = make.layer(12, ciStatus="failure")
    found = assess(make.stack(make.layer(11, **layer, **BUSY), above, **stack))
    assert (found.attention, found.bounce) == (None, None)
    assert found.held is not None
    assert found.held.wire()["actAfter"] == "agents_idle"
    assert found.held.waiting_on == ("cyclone",)
    assert [issue.pr_number for issue in found.issues] == [11, 12]
    assert [item.wire()["blocker"] for item in found.busy] == [found.held.issue.blocker]
    idle = assess(make.stack(make.layer(11, **layer), above, **stack))
    assert idle.attention == found.held.issue
    assert (idle.repair or {}).get("kind") == (found.repair or {}).get("kind")


SILENT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("restack_conflict", {"state": "conflict"}, {}),
    ("merge_conflict", {"mergeable": False}, {}),
    ("ci_failed", {"ciStatus": "failure"}, {}),
    ("vortex_failed", {"vortexStatus": "failed"}, {}),
]


@pytest.mark.parametrize(("_reason", "layer", "stack"), SILENT, ids=[item[0] for item in SILENT])
def test_a_blocker_that_the_agents_may_clear_is_kept_silent(
    make: SimpleNamespace, assess: Assess, _reason: str, layer: dict[str, Any], stack: dict[str, Any]
) -> None:
    found = assess(make.stack(make.layer(11, **layer, **BUSY), **stack))
    assert (found.attention, found.held, found.repair, found.issues) == (None, None, None, ())
    assert [(item.pr_number, item.agent) for item in found.busy] == [(11, "cyclone")]


@pytest.mark.parametrize("kind", ["gh_error", "merge_failed", "ci_failure", "restack_conflict"])
def test_a_bounce_is_kept_silent_and_not_stamped(make: SimpleNamespace, assess: Assess, kind: str) -> None:
    found = assess(make.stack(make.layer(11, **BUSY)), [make.entry("bounced", kind)])
    assert (found.attention, found.held, found.bounce, found.repair) == (None, None, None, None)
    assert len(found.busy) == 1


def test_a_conflict_that_was_given_up_at_this_head_is_held(make: SimpleNamespace, assess: Assess) -> None:
    handoff = {"headSha": HERE, "reason": "conflict_unresolved"}
    found = assess(make.stack(make.layer(11, mergeable=False, cycloneConflictHandoff=handoff, **BUSY)))
    assert found.held is not None
    assert found.repair is not None
    assert "note" in found.repair
    older = {**handoff, "headSha": OLDER}
    silent = assess(make.stack(make.layer(11, mergeable=False, cycloneConflictHandoff=older, **BUSY)))
    assert silent.held is None


def test_a_conflict_of_the_land_pr_is_held(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(make.layer(20, mergeable=False, **BUSY), unit=make.unit(landPrNumber=20))
    assert assess(raw).held is not None


def test_agents_on_a_clean_layer_are_told_and_hold_nothing(make: SimpleNamespace, assess: Assess) -> None:
    found = assess(make.stack(make.layer(11, **BUSY)))
    assert found.busy == ()
    assert found.agents is not None
    assert found.agents["busy"] == {"vortex": False, "cyclone": True}


def test_the_agents_of_the_attention_are_described(make: SimpleNamespace, assess: Assess) -> None:
    child = make.layer(
        12, parentBranch="b11", mergeable=False, vortexReview=make.review("done", 12, **{"pass": 3})
    )
    found = assess(make.stack(make.layer(11), child))
    assert found.agents is not None
    assert found.agents["prNumber"] == 12
    assert found.agents["vortexReview"] == {"status": "done", "headSha": make.head(12), "pass": 3}

"""One line about a stack, its blockers, its repair and its queue entries."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.lines import blockers_summary, queue_line, repair_line, stack_line
from mergestorm_mcp.stacks.model import QueueEntry, Stack

Assess = Callable[..., Assessment]


def summary(raw: dict[str, Any], found: Assessment) -> str:
    return blockers_summary(WatchEnvelope.assessed(Stack.read(raw), found, Cursor("s")).wire())


@pytest.mark.parametrize(
    ("layers", "fields", "line"),
    [
        ([{}], {}, "ada/engine · 1 layer · restack: clean · auto-land off"),
        (
            [{}, {"state": "needs_restack"}, {}],
            {"autoEnqueueWhenReady": True, "autoReviewOverride": False, "autoPatchOverride": True},
            "ada/engine · 3 layers · restack: clean, needs_restack · auto-land on · auto-review off · auto-patch on",
        ),
        (
            [{"state": "merged"}],
            {"unit": {"state": "landing"}, "cycloneOwnerMatch": "same"},
            "ada/engine · 1 layer · unit: landing · auto-land off · cyclone-owner same",
        ),
        ([{"state": "merged"}], {}, "ada/engine · 1 layer · no open layers · auto-land off"),
    ],
)
def test_a_stack_is_one_line(
    make: SimpleNamespace, layers: list[dict[str, Any]], fields: dict[str, Any], line: str
) -> None:
    raw = make.stack(*(make.layer(11 + at, **more) for at, more in enumerate(layers)), **fields)
    assert stack_line(Stack.read(raw)) == line


def test_an_attention_is_named_with_its_issues(make: SimpleNamespace, assess: Assess) -> None:
    red = {"ciStatus": "failure"}
    raw = make.stack(*(make.layer(number, **red) for number in range(11, 17)))
    assert summary(raw, assess(raw)) == (
        " · blocked: #11 CI failed · issues: #12 CI failed; #13 CI failed; #14 CI failed; +2 more"
    )


def test_a_held_blocker_is_named_once_with_who_is_busy(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(make.layer(draft=True, cycloneStatus="patching", vortexReview=make.review("reviewing")))
    assert summary(raw, assess(raw)) == (
        " · blocked after the agents: #11 Draft PR (Cyclone patches and Vortex reviews)"
    )


def test_a_silent_hold_names_the_agents(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(make.layer(ciStatus="failure", cycloneStatus="patching"))
    assert summary(raw, assess(raw)) == " · held: #11 CI failed while Cyclone patches"


def test_gate_and_queue_are_named_only_without_an_attention(make: SimpleNamespace, assess: Assess) -> None:
    unit = make.unit(landPrNumber=20, landingBlockReason="ci_pending")
    live = make.entry("running", claimedAt=make.ago(3))
    raw = make.stack(make.layer(20), unit=unit)
    text = summary(raw, assess(raw, [live]))
    assert text.startswith(" · land gate: #20 ci_pending")
    assert " · queue: #20 Merge queue running for 3m" in text
    red = make.stack(make.layer(20, ciStatus="failure"), unit=unit)
    assert summary(red, assess(red, [live])) == " · blocked: #20 CI failed"


def test_nothing_is_said_of_a_stack_that_needs_nothing(make: SimpleNamespace, assess: Assess) -> None:
    raw = make.stack(make.layer())
    assert summary(raw, assess(raw)) == ""


def test_a_repair_is_one_line_with_few_files(make: SimpleNamespace, assess: Assess) -> None:
    files = ", ".join(f"f{number}" for number in range(30))
    off = {"cycloneConflictOff": "stack_auto_resolve_off"}
    found = assess(make.stack(make.layer(state="conflict", conflictDetail=f"conflict in {files}"), **off))
    line = repair_line(found.repair)
    assert line is not None
    assert line.startswith("Repair restack_conflict (f0, f1, ")
    assert "f9, …)" in line
    assert "\n" not in line
    assert repair_line(None) is None


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"state": "queued"}, "queued · ada/engine · stack 1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"),
        (
            {
                "state": "bounced",
                "bounceDetail": {"kind": "merge_failed", "prNumber": 64, "headSha": "abcdef0123"},
            },
            "bounced · ada/engine#64 · stack 1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01 · merge_failed · abcdef0",
        ),
        (
            {"state": "bounced", "bounceReason": "no\nidea"},
            "bounced · ada/engine · stack 1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01 · no idea",
        ),
        (
            {"state": "running", "waitReason": "settling", "verifyHeadSha": "1234567890"},
            "running · ada/engine · stack 1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01 · settling · 1234567",
        ),
    ],
)
def test_a_queue_entry_is_one_line(make: SimpleNamespace, fields: dict[str, Any], line: str) -> None:
    assert queue_line(QueueEntry.read({**make.entry("queued"), **fields})) == line

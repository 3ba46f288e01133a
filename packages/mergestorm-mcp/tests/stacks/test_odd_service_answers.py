"""Whatever the service sends reads as something: no answer raises, hangs or grows without bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergestorm_mcp.stacks.blockers import Assessment, stack_blockers
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.lines import blockers_summary, queue_line, repair_line, stack_line
from mergestorm_mcp.stacks.model import Stack, moment, read_entries, same_head

Assess = Callable[..., Assessment]

WORDS = [
    "clean", "conflict", "merged", "closed", "restacking", "needs_restack", "failure", "success", "pending",
    "dirty", "failed", "findings", "skipped", "incomplete", "reviewing", "patching", "queued", "running",
    "waiting", "bounced", "landed", "changes_requested", "abandoned", "growing", "approved",
    "pending_rereview", "retry_scheduled", "quota_exceeded", "auto_review_off", "rebase_conflict",
    "push_failed", "ci_failure", "merge_failed", "pr_draft", "restack_conflict", "stack_dirty",
    "ci_pending", "mergeability", "mg-park-1", "main", "b11", "vortex", "cyclone", "user",
]  # fmt: skip
NAMES = [
    "id", "branch", "parentBranch", "prNumber", "position", "state", "ciStatus", "reviewStatus", "checks",
    "vortexStatus", "cycloneStatus", "agentRuns", "vortexReview", "agentsBusy", "cycloneHandoff",
    "cycloneConflictHandoff", "cycloneCiHandoff", "cycloneConflictPendingSince", "conflictDetail",
    "restackError", "mergeable", "mergeableState", "headSha", "mergeableHeadSha", "draft", "layers", "unit",
    "members", "landPr", "landPrNumber", "landingBlockReason", "seamState", "seamReviewedSha",
    "promotedHeadSha", "archivedAt", "autoEnqueueWhenReady", "autoLandOff", "autoLandWait",
    "autoEnqueueSettle", "reason", "since", "detail", "attempts", "kind", "bounceDetail", "conflictPaths",
    "batch", "withPrNumbers", "enqueuedAt", "claimedAt", "finishedAt", "aheadInRepo", "stackId", "status",
    "skip_reason", "head_sha", "agent", "sha", "startedAt", "vortex", "cyclone", "failure", "total",
    "success", "failingName", "action", "from", "owner", "repo", "trunkBranch", "landTarget",
]  # fmt: skip

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 14),
    st.integers(10**300, 10**301),
    st.floats(allow_nan=False),
    st.sampled_from(WORDS),
    st.sampled_from(["2026-11-01T00:00:00Z", "9999-99-99", "0001-01-01T00:00:00+14:00", "", " ", "a" * 40]),
    st.text(max_size=8),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=9)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(NAMES), json_values, max_size=12)
stacks = st.builds(
    lambda top, layers, unit: {**top, "layers": layers, "unit": unit},
    objects,
    st.lists(objects, max_size=4),
    st.one_of(st.none(), objects),
)


@settings(max_examples=60, deadline=None)
@given(
    stacks, st.lists(st.one_of(objects, json_values), max_size=4), st.one_of(st.none(), st.text(max_size=30))
)
def test_any_answer_is_assessed_and_shown(
    raw: dict[str, Any], entries: list[Any], selector: str | None
) -> None:
    stack = Stack.read(raw)
    cursor = Cursor(stack.id, selector, after_finished_at=selector, bounce_id=selector)
    found = stack_blockers(stack, read_entries(entries, stack.id), cursor, 1_790_000_000.0)
    wire = WatchEnvelope.assessed(stack, found, cursor).wire()
    json.dumps(wire, allow_nan=False)
    shown = [stack_line(stack, blockers_summary(wire)), repair_line(found.repair) or ""]
    shown += [queue_line(entry) for entry in read_entries(entries)]
    assert all("\n" not in line for line in shown)
    assert wire["cursor"]["enrolledHeadSha"] == selector
    if found.attention is not None:
        assert found.attention.blocker
        assert (found.held, found.busy) == (None, ())
    if found.held is not None:
        assert found.busy
        assert found.issues[0] == found.held.issue


@given(st.text(max_size=70))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found = moment(text)
    assert found is None or isinstance(found, float)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("abc", "ABC", True),
        (" abcd ", "abc", True),
        ("abc", "abd", False),
        ("", "abc", False),
        (None, None, False),
        (" ", " ", False),
    ],
)
def test_heads_are_the_same_if_one_begins_the_other(one: str | None, other: str | None, same: bool) -> None:
    assert same_head(one, other) is same


def test_of_an_answer_of_absurd_size_only_the_beginning_is_read(
    make: SimpleNamespace, assess: Assess
) -> None:
    many = range(1, 5000)
    layers = [make.layer(number, ciStatus="failure") for number in many]
    raw = make.stack(*layers, unit=make.unit(*(make.member(number) for number in many)))
    entries = [make.entry("bounced", "gh_error") for _ in many]
    found = assess(raw, entries)
    assert len(found.issues) < 1000
    assert len(read_entries(entries, make.id)) < 1000

"""Which layer is next to be merged, which conflicting layer stands on it, and what is only an issue."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.candidate import open_layers
from mergestorm_mcp.stacks.model import Stack

Assess = Callable[..., Assessment]


def candidate(raw: dict[str, Any]) -> int | None:
    found = open_layers(Stack.read(raw)).candidate
    return None if found is None else found.pr_number


def test_the_lowest_open_layer_is_next(make: SimpleNamespace) -> None:
    merged, closed = make.layer(10, state="merged"), make.layer(11, state="closed")
    assert candidate(make.stack(make.layer(13), merged, closed, make.layer(12))) == 12


def test_a_layer_without_a_pull_request_is_passed_over(make: SimpleNamespace) -> None:
    assert candidate(make.stack(make.layer(0), make.layer(12))) == 12


def test_promoted_layers_and_the_land_pr_are_passed_over(make: SimpleNamespace) -> None:
    unit = make.unit(make.member(11, promoted=True), make.member(12), landPrNumber=20)
    low_land_pr = make.layer(20, position=0)
    assert candidate(make.stack(low_land_pr, make.layer(11), make.layer(12), unit=unit)) == 12


def test_the_land_pr_is_next_when_everything_is_promoted(make: SimpleNamespace) -> None:
    unit = make.unit(make.member(11, promoted=True), landPrNumber=20)
    assert candidate(make.stack(make.layer(11), make.layer(20), unit=unit)) == 20


def test_a_land_pr_that_is_no_layer_is_next_too(make: SimpleNamespace, assess: Assess) -> None:
    unit = make.unit(make.member(11, promoted=True), landPr=make.layer(20, ciStatus="failure"))
    raw = make.stack(make.layer(11, ciStatus="failure"), unit=unit)
    assert candidate(raw) == 20
    found = assess(raw)
    assert found.attention is not None
    assert (found.attention.pr_number, found.issues) == (20, ())


@pytest.mark.parametrize("state", ["merged", "closed"])
def test_without_open_layers_and_land_pr_nothing_is_next(make: SimpleNamespace, state: str) -> None:
    unit = make.unit(landPr=make.layer(20, state=state))
    assert candidate(make.stack(make.layer(11, state="merged"), unit=unit)) is None


CONFLICTS: list[dict[str, Any]] = [
    {"mergeable": False},
    {"state": "conflict"},
    {"restackError": {"kind": "rebase_conflict"}},
]


@pytest.mark.parametrize("fields", CONFLICTS)
def test_a_conflicting_layer_on_the_candidate_is_the_attention(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    found = assess(make.stack(make.layer(11), make.layer(12, parentBranch="b11", **fields)))
    assert found.attention is not None
    assert found.candidate is not None
    assert (found.attention.pr_number, found.candidate.pr_number) == (12, 11)


@pytest.mark.parametrize("fields", CONFLICTS)
def test_a_conflicting_layer_on_another_base_is_an_issue(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    found = assess(make.stack(make.layer(11), make.layer(12, parentBranch="elsewhere", **fields)))
    assert found.attention is None
    assert [issue.pr_number for issue in found.issues] == [12]


@pytest.mark.parametrize(
    "fields",
    [
        {"mergeable": None},
        {"mergeable": False, "mergeableHeadSha": "f" * 40},
        {"mergeable": False, "parentBranch": "mg-park-5-g1"},
        {"restackError": {"kind": "rebase_conflict"}, "state": "restacking"},
    ],
)
def test_a_layer_that_may_merge_is_neither(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any]
) -> None:
    found = assess(make.stack(make.layer(11), make.layer(12, **{"parentBranch": "b11", **fields})))
    assert (found.attention, found.issues) == (None, ())


def test_the_candidate_s_own_blocker_comes_before_the_child_s(make: SimpleNamespace, assess: Assess) -> None:
    child = make.layer(12, parentBranch="b11", mergeable=False)
    found = assess(make.stack(make.layer(11, ciStatus="failure"), child))
    assert found.attention is not None
    assert found.attention.pr_number == 11
    assert [issue.pr_number for issue in found.issues] == [12]


def test_blockers_further_up_are_issues_in_their_order(make: SimpleNamespace, assess: Assess) -> None:
    red = {"ciStatus": "failure"}
    live = make.entry("running", claimedAt=make.ago(1))
    found = assess(
        make.stack(make.layer(14, **red), make.layer(11), make.layer(13, **red), make.layer(12, **red)),
        [live],
    )
    assert found.attention is None
    assert [issue.pr_number for issue in found.issues] == [12, 13, 14]


def test_blockers_below_the_candidate_are_past(make: SimpleNamespace, assess: Assess) -> None:
    unit = make.unit(make.member(11, promoted=True), make.member(12))
    found = assess(make.stack(make.layer(11, ciStatus="failure"), make.layer(12), unit=unit))
    assert (found.attention, found.issues) == (None, ())


def test_without_a_candidate_every_open_layer_is_worth_an_issue(
    make: SimpleNamespace, assess: Assess
) -> None:
    unit = make.unit(make.member(11, promoted=True))
    undecided = {"mergeable": None, "mergeableState": "pending"}
    found = assess(make.stack(make.layer(11, **undecided), make.layer(9, state="merged"), unit=unit))
    assert found.candidate is None
    assert [issue.blocker for issue in found.issues] == ["Merge state unknown vs main"]


def test_the_candidate_s_blocker_replaces_the_abandoned_unit_below_it(
    make: SimpleNamespace, assess: Assess
) -> None:
    unit = make.unit(make.member(11, promoted=True), state="abandoned")
    found = assess(make.stack(make.layer(11), make.layer(12, ciStatus="failure"), unit=unit))
    assert found.attention is not None
    assert (found.attention.pr_number, found.issues) == (12, ())
    quiet = assess(make.stack(make.layer(11), make.layer(12), unit=unit))
    assert quiet.attention is not None
    assert quiet.attention.pr_number == 11

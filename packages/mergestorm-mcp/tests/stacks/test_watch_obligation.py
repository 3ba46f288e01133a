"""The watch contract: how a stack ends, and what an agent is told until then."""

from __future__ import annotations

import json
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.model import Stack
from mergestorm_mcp.stacks.obligation import done_watch, open_watch, terminal_reason

M, C, O = {"state": "merged"}, {"state": "closed"}, {"state": "clean"}  # noqa: E741 - merged, closed, open


@pytest.mark.parametrize(
    ("layers", "unit", "expected"),
    [
        ([O], None, None),
        ([M, O], {"state": "landed"}, None),
        ([{"state": "conflict"}], None, None),
        ([{"state": "queued_for_something_new"}], None, None),
        ([], None, None),
        ([], {"state": "landed"}, "landed"),
        ([M], None, "landed"),
        ([M, M], {"state": "landed"}, "landed"),
        ([M], {"state": "landed", "landPr": {"prNumber": 20, "state": "merged"}}, "landed"),
        ([M], {"state": "landed", "landPr": {"prNumber": 20, "state": "clean"}}, None),
        ([M], {"state": "landed", "landPr": {"prNumber": 0, "state": "clean"}}, "landed"),
        *(([M], {"state": state}, None) for state in ("open", "growing", "stale", "landing", None)),
        ([M], {"state": "abandoned"}, "closed"),
        ([C], {"state": "landed"}, "closed"),
        ([M, C], None, "closed"),
        ([C], None, "closed"),
    ],
)
def test_a_stack_is_over_when_nothing_of_it_is_open(
    make: SimpleNamespace, layers: list[dict[str, Any]], unit: dict[str, Any] | None, expected: str | None
) -> None:
    raw = make.stack(*(make.layer(11 + at, **fields) for at, fields in enumerate(layers)))
    if unit is not None:
        raw["unit"] = make.unit(**unit)
    assert terminal_reason(Stack.read(raw)) == expected


def test_an_archived_stack_is_over_whatever_is_open(make: SimpleNamespace) -> None:
    assert terminal_reason(Stack.read(make.stack(make.layer(), archivedAt=make.ago(1)))) == "archived"


def test_a_missing_stack_is_over_and_one_without_layers_is_not_known_to_be(make: SimpleNamespace) -> None:
    assert terminal_reason(None) == "not_found"
    assert terminal_reason(Stack.read({"id": make.id, "unit": {"state": "landed"}})) is None


@pytest.mark.parametrize("reason", ["landed", "closed", "archived", "not_found"])
def test_a_finished_watch_asks_for_nothing(reason: str) -> None:
    watch = done_watch(reason)
    assert (watch["done"], watch["until"], watch["reason"], watch["next"]) == (True, "landed", reason, None)
    assert watch["message"]


def test_the_next_call_hands_the_cursor_on_with_its_nulls() -> None:
    selectors = {"enrolled_head_sha": None, "after_finished_at": None, "bounce_id": "b7"}
    watch = open_watch("s1", selectors=selectors)
    assert (watch["done"], watch["until"], watch["reason"]) == (False, "landed", "open")
    assert watch["next"] == {
        "tool": "stack_wait",
        "args": {"stack_id": "s1", **selectors, "timeout_s": 45},
        "command": "mg stack wait s1 --json",
        "background": "mg stack watch s1",
    }


def test_selectors_that_nobody_gave_are_left_out() -> None:
    assert open_watch("s1", reason="unread")["next"]["args"] == {"stack_id": "s1", "timeout_s": 45}


def test_the_message_holds_the_literal_next_call() -> None:
    watch = open_watch("s1", selectors={"enrolled_head_sha": "abc"})
    start = watch["message"].index("{")
    assert json.loads(watch["message"][start : watch["message"].index("}") + 1]) == watch["next"]["args"]
    assert "MS-WATCH (ATTENTION|LANDED)" in watch["message"]


def test_each_reason_says_something_of_its_own() -> None:
    reasons = ("open", "attention", "unread", "failed", "rate_limited")
    assert len({open_watch("s1", reason=reason)["message"] for reason in reasons}) == len(reasons)
    assert "#901" in open_watch("s1", reason="attention", pr_number=901, blocker="CI failed")["message"]
    assert "17 s" in open_watch("s1", reason="rate_limited", retry_after=17)["message"]


def test_a_fresh_cursor_gives_way_to_an_older_one() -> None:
    assert len(open_watch("s1", fresh=True)["message"]) > len(open_watch("s1")["message"])


def test_an_id_cannot_smuggle_a_command() -> None:
    following = open_watch("s1; rm -rf ~\n#")["next"]
    assert following is not None
    assert shlex.split(following["background"])[:3] == ["mg", "stack", "watch"]
    assert len(shlex.split(following["background"])) == 4
    assert len(shlex.split(following["command"])) == 5

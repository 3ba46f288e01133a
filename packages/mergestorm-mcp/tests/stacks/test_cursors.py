"""What a wait remembers: the enrolled head that never moves, and bounces that only move forward."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.model import QueueEntry, moment


def bounced(make: SimpleNamespace, name: str, minutes: float | None) -> QueueEntry:
    finished = make.ago(minutes) if minutes is not None else None
    return QueueEntry.read(make.entry("bounced", "gh_error", id=name, finishedAt=finished))


def test_without_selectors_there_is_no_cursor() -> None:
    assert Cursor.from_selectors("s1", {}) is None


@pytest.mark.parametrize(
    ("selectors", "wire"),
    [
        ({"enrolled_head_sha": " AbC "}, {"enrolledHeadSha": " AbC "}),
        ({"enrolled_head_sha": None}, {"enrolledHeadSha": None}),
        ({"bounce_id": "b"}, {"enrolledHeadSha": None, "bounceId": "b"}),
        ({"after_finished_at": None}, {"enrolledHeadSha": None, "afterFinishedAt": None}),
    ],
)
def test_selectors_are_kept_as_they_are(
    selectors: dict[str, str | None], wire: dict[str, str | None]
) -> None:
    cursor = Cursor.from_selectors("s1", selectors)
    assert cursor is not None
    assert cursor.wire() == {"stackId": "s1", **wire}
    assert cursor.selectors() == {"enrolled_head_sha": None, **selectors}


def test_a_reported_bounce_is_stamped_with_its_time(make: SimpleNamespace) -> None:
    stamped = Cursor("s1", "h").stamped(bounced(make, "b1", 5))
    assert stamped.wire() == {
        "stackId": "s1",
        "enrolledHeadSha": "h",
        "afterFinishedAt": make.ago(5),
        "bounceId": "b1",
    }
    assert stamped.reported(bounced(make, "b1", 5))
    assert stamped.reported(bounced(make, "b0", 6))
    assert not stamped.reported(bounced(make, "b2", 4))


def test_a_bounce_without_a_time_leaves_what_is_known_of_time(make: SimpleNamespace) -> None:
    assert Cursor("s1").stamped(bounced(make, "b1", None)).selectors()["after_finished_at"] is None
    stamped = Cursor("s1", after_finished_at=make.ago(9)).stamped(bounced(make, "b1", None))
    assert stamped.selectors() == {
        "enrolled_head_sha": None,
        "after_finished_at": make.ago(9),
        "bounce_id": "b1",
    }
    raw = make.entry("bounced", "gh_error", id="b2")
    del raw["finishedAt"]
    assert "after_finished_at" not in Cursor("s1").stamped(QueueEntry.read(raw)).selectors()


def test_times_that_are_none_hide_nothing(make: SimpleNamespace) -> None:
    assert not Cursor("s1", after_finished_at="soon").reported(bounced(make, "b1", 5))
    assert not Cursor("s1", bounce_id=None, after_finished_at=None).reported(bounced(make, "b1", 5))


@pytest.mark.parametrize("seed", range(50))
def test_stamping_never_goes_back_in_time(make: SimpleNamespace, seed: int) -> None:
    chance = random.Random(seed)
    cursor, latest = Cursor("s1", "h"), float("-inf")
    for step in range(40):
        minutes = chance.choice([None, chance.uniform(0, 500)])
        cursor = cursor.stamped(bounced(make, f"b{step}", minutes))
        known = moment(cursor.selectors().get("after_finished_at"))
        assert known is None or known >= latest
        latest = known if known is not None else latest
        assert cursor.enrolled_head_sha == "h"

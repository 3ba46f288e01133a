"""What a person does on the page, and what is refused."""

from __future__ import annotations

import pytest

from .conftest import Bench, Visitor


@pytest.fixture
def number(bench: Bench) -> int:
    """A pull request that a check fails for while it says BROKEN."""
    bench.script(ci={"checks": [{"name": "tests", "fails_when": {"path": "new.txt", "text": "BROKEN"}}]})
    bench.push("feature", {"new.txt": "hello\n"})
    return bench.open_pull("feature")


def test_auto_land_is_switched_off_and_on(bench: Bench, visitor: Visitor, number: int) -> None:
    stack_id = bench.adopt(number, autoEnqueueWhenReady=True)
    assert visitor.act("auto-land", stack_id=stack_id, armed="false").status_code == 200
    assert not visitor.stack()["autoLand"]
    assert visitor.stack()["notes"]
    bench.pass_time(3600)
    assert visitor.state()["queue"] == []
    assert visitor.act("auto-land", stack_id=stack_id, armed="true").status_code == 200
    bench.until(lambda: visitor.stack()["over"])
    over = visitor.act("auto-land", stack_id=stack_id, armed="true")
    assert (over.status_code, over.json()["error"]) == (409, "stack_over")
    unknown = visitor.act("auto-land", stack_id="no-such-stack", armed="true")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "stack_not_found")


def test_a_stack_is_archived_and_left_alone(bench: Bench, visitor: Visitor, number: int) -> None:
    stack_id = bench.adopt(number, autoEnqueueWhenReady=True)
    bench.until(lambda: visitor.state()["queue"])
    assert visitor.act("archive", stack_id=stack_id).status_code == 200
    bench.pass_time(3600)
    stack = visitor.stack()
    assert (stack["state"]["text"], stack["over"], stack["autoLand"]) == ("archived", True, False)
    assert stack["layers"][0]["actions"] == []
    assert [pull["number"] for pull in visitor.state()["pulls"]] == [number]
    assert bench.text("main", "new.txt") is None
    for name, fields in (("archive", {}), ("land", {"number": number}), ("continue", {"number": number})):
        refused = visitor.act(name, stack_id=stack_id, **fields)
        assert (refused.status_code, refused.json()["error"]) == (409, "stack_over")


def test_the_next_pull_request_is_merged_by_hand(bench: Bench, visitor: Visitor, number: int) -> None:
    stack_id = bench.adopt(number)
    bench.pass_time(120)
    other = visitor.act("land", stack_id=stack_id, number=number + 1)
    assert (other.status_code, other.json()["error"]) == (409, "not_next")
    assert visitor.act("land", stack_id=stack_id, number=number).status_code == 200
    assert bench.text("main", "new.txt") == "hello\n"
    assert visitor.stack()["state"]["text"] == "landed"
    again = visitor.act("land", stack_id=stack_id, number=number)
    assert (again.status_code, again.json()["error"]) == (409, "stack_over")


def test_a_red_pull_request_is_not_merged_by_hand(bench: Bench, visitor: Visitor, number: int) -> None:
    bench.push("feature", {"new.txt": "BROKEN\n"})
    stack_id = bench.adopt(number, autoFixCiOverride=False)
    bench.pass_time(120)
    before = bench.head("main")
    refused = visitor.act("land", stack_id=stack_id, number=number)
    assert (refused.status_code, refused.json()["error"]) == (409, "ci_failed")
    assert bench.head("main") == before


def test_a_pull_request_is_closed_once(bench: Bench, visitor: Visitor, number: int) -> None:
    bench.adopt(number)
    assert visitor.act("close", repository="acme/shop", number=number).status_code == 200
    (layer,) = visitor.stack()["layers"]
    assert (layer["state"]["text"], layer["actions"]) == ("closed", [])
    assert layer["head"] == bench.head("feature")[:7]
    again = visitor.act("close", repository="acme/shop", number=number)
    assert (again.status_code, again.json()["error"]) == (409, "not_open")
    for repository, wanted in (("acme/other", number), ("acme/shop", number + 1)):
        unknown = visitor.act("close", repository=repository, number=wanted)
        assert (unknown.status_code, unknown.json()["error"]) == (404, "not_found")


def test_closing_what_the_queue_works_on_takes_it_out(bench: Bench, visitor: Visitor, number: int) -> None:
    bench.adopt(number, autoEnqueueWhenReady=True)
    bench.until(lambda: [entry for entry in visitor.state()["queue"] if entry["state"] == "running"])
    before = bench.head("main")
    assert visitor.act("close", repository="acme/shop", number=number).status_code == 200
    bench.pass_time(600)
    assert [entry["state"] for entry in visitor.state()["queue"]] == ["bounced"]
    assert bench.head("main") == before


def test_checks_run_again_and_may_end_otherwise(bench: Bench, visitor: Visitor, number: int) -> None:
    bench.push("feature", {"new.txt": "BROKEN\n"})
    bench.adopt(number, autoFixCiOverride=False)
    running = visitor.act("rerun", repository="acme/shop", number=number)
    assert (running.status_code, running.json()["error"]) == (409, "checks_running")
    bench.pass_time(60)
    assert visitor.stack()["layers"][0]["checks"]["tone"] == "bad"
    bench.script(ci={"checks": [{"name": "tests"}]})
    assert visitor.act("rerun", repository="acme/shop", number=number).status_code == 200
    assert visitor.stack()["layers"][0]["checks"]["tone"] == "busy"
    bench.pass_time(60)
    assert visitor.stack()["layers"][0]["checks"]["tone"] == "good"


def test_a_pull_request_without_checks_has_none_to_run_again(bench: Bench, visitor: Visitor) -> None:
    bench.script(ci={"checks": []})
    bench.push("bare", {"new.txt": "hello\n"})
    number = bench.open_pull("bare")
    refused = visitor.act("rerun", repository="acme/shop", number=number)
    assert (refused.status_code, refused.json()["error"]) == (409, "no_checks")


@pytest.mark.parametrize(
    ("state", "shown"),
    [("failed", "seam review failed"), ("reviewing", "seam under review, and no review runs")],
)
def test_a_stuck_seam_review_continues(bench: Bench, visitor: Visitor, state: str, shown: str) -> None:
    bench.push("low", {"low.txt": "low\n"})
    bench.push("high", {"high.txt": "high\n"}, onto="low")
    lower = bench.open_pull("low")
    upper = bench.open_pull("high", "low")
    stack_id = bench.adopt(upper, autoEnqueueWhenReady=True)
    early = visitor.act("continue", stack_id=stack_id, number=upper)
    assert (early.status_code, early.json()["error"]) == (409, "seam_not_stuck")
    absent = visitor.act("continue", stack_id=stack_id, number=upper + 50)
    assert (absent.status_code, absent.json()["error"]) == (404, "not_found")

    def seam() -> str:
        return str((visitor.stack()["layers"][1]["seam"] or {}).get("text", ""))

    bench.until(lambda: seam() == "seam under review")
    with (
        bench.world.store.write() as connection
    ):  # no way leads there by itself: a review that failed for good
        connection.execute("UPDATE passes SET status = 'failed', finished_at = queued_at WHERE kind = 'seam'")
        connection.execute("UPDATE members SET seam_state = ? WHERE pull_number = ?", (state, upper))
    bench.pass_time(3600)
    assert seam() == shown
    assert visitor.stack()["layers"][0]["number"] == lower
    assert visitor.stack()["layers"][1]["actions"][0] == "continue"
    assert visitor.act("continue", stack_id=stack_id, number=upper).status_code == 200
    assert "continue" not in visitor.stack()["layers"][1]["actions"]
    bench.until(lambda: visitor.stack()["over"])

"""The document behind the page: stacks, pull requests, queue, events; and how it is held until something happens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from mergestorm_mcp.service.http.routes import ui

from .conftest import Bench, Visitor

HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&"


def test_a_stack_is_told_with_its_layer_and_what_it_waits_for(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "value = eval(text)\n"})
    number = bench.open_pull("feature")
    stack_id = bench.adopt(number, autoPatchOverride=False)
    stack = visitor.stack()
    assert (stack["id"], stack["repository"], stack["owner"]) == (stack_id, "acme/shop", "rivka")
    (layer,) = stack["layers"]
    assert (layer["number"], layer["title"]) == (number, "Pull feature")
    assert (layer["branch"], layer["base"]) == ("feature", "main")
    assert layer["head"] == bench.head("feature")[:7]
    assert (layer["checks"]["tone"], layer["review"]["tone"]) == ("busy", "busy")
    assert layer["agents"] == ["Vortex reviews"]
    assert layer["actions"] == ["land", "close"]
    bench.until(lambda: visitor.stack()["layers"][0]["review"]["tone"] == "bad")
    settled = visitor.stack()
    assert settled["layers"][0]["checks"]["tone"] == "good"
    assert settled["layers"][0]["agents"] == []
    assert settled["layers"][0]["actions"] == ["land", "rerun", "close"]
    assert settled["notes"]


def test_a_landing_is_told_by_the_stack_the_queue_and_the_events(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    bench.adopt(number, autoEnqueueWhenReady=True)
    bench.until(lambda: visitor.state()["queue"])
    (entry,) = visitor.state()["queue"]
    assert (entry["state"], entry["place"], entry["number"]) == ("queued", 1, number)
    assert visitor.stack()["state"]["tone"] == "busy"
    assert "land" not in visitor.stack()["layers"][0]["actions"]
    bench.until(lambda: visitor.stack()["over"])
    state = visitor.state()
    assert state["queue"][0]["state"] == "landed"
    assert state["stacks"][0]["layers"][0]["actions"] == []
    numbers = [event["number"] for event in state["events"]]
    assert numbers == sorted(numbers, reverse=True)
    assert state["events"][0]["kind"] == "landed"
    assert {event["repository"] for event in state["events"]} == {None}
    with bench.world.store.write() as connection:
        bench.world.hub.create_repository(connection, "acme", "second")
    assert {event["repository"] for event in visitor.state()["events"]} == {"acme/shop"}


def test_a_conflict_and_a_red_check_are_named(bench: Bench, visitor: Visitor) -> None:
    bench.script(ci={"checks": [{"name": HOSTILE, "fails_when": {"path": "*"}}]}, patcher={"seconds": 5})
    bench.push("feature", {"app.txt": "mine\n"})
    bench.adopt(bench.open_pull("feature"))
    bench.push("main", {"app.txt": "theirs\n"})
    bench.pass_time(120)
    (layer,) = visitor.stack()["layers"]
    assert HOSTILE in layer["checks"]["text"]
    assert layer["checks"]["tone"] == "bad"
    assert (layer["state"]["text"], layer["state"]["tone"]) == ("conflict", "warn")
    assert any("app.txt" in blocker for blocker in layer["blockers"])


def test_a_pull_request_in_no_stack_is_listed_by_itself(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature", draft=True)
    state = visitor.state()
    assert state["stacks"] == []
    assert [(pull["number"], pull["state"]["text"]) for pull in state["pulls"]] == [(number, "draft")]
    bench.set_draft(number, draft=False)
    bench.adopt(number)
    assert visitor.state()["pulls"] == []


def test_names_of_users_arrive_unchanged_as_data(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    with bench.world.store.write() as connection:
        connection.execute("UPDATE pulls SET title = ?", (HOSTILE,))
    bench.adopt(number)
    assert visitor.stack()["layers"][0]["title"] == HOSTILE
    answer = visitor.http.get("/ui/state")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.isascii()


def test_a_login_that_waits_is_told_by_its_code_only(bench: Bench, visitor: Visitor) -> None:
    codes = visitor.http.post("/api/v1/cli/device", json={}).json()
    answer = visitor.http.get("/ui/state")
    assert [login["code"] for login in answer.json()["logins"]] == [codes["user_code"]]
    assert codes["device_code"] not in answer.text


def test_a_read_is_held_until_something_changes(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    seen = visitor.state()["seen"]
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(visitor.state, seen=seen)
        while not bench.world.changes._waiting:  # nothing outside tells that the read is held
            assert not held.done()
            Event().wait(0.01)
        bench.adopt(number)
        told = held.result(30)
    assert told["seen"] != seen
    assert [stack["layers"][0]["number"] for stack in told["stacks"]] == [number]


def test_a_read_that_nothing_happens_for_is_answered_in_time(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "LONGEST_WAIT", 0.05)
    first = visitor.state()
    assert visitor.state(seen=first["seen"]) == first


def test_who_has_seen_something_else_is_answered_at_once(visitor: Visitor) -> None:
    assert visitor.state(seen="something else")["seen"] == visitor.state()["seen"]

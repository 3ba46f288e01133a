"""The session's state machine, driven with lines of text and a server played by the test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpkit.messages import encode, parse
from mcpkit.stdio.session import Delivery, Session
from mcpkit.surface import HANDSHAKE_VERSIONS, Surface

ENVELOPE = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def surface() -> Surface:
    return Surface({
        "initialize": {version: {"protocolVersion": version} for version in HANDSHAKE_VERSIONS},
        "tools/list": {version: {"tools": []} for version in HANDSHAKE_VERSIONS},
    })


def req(id_: Any, method: str = "m", params: Any = None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": method}
    if params is not None:
        message["params"] = params
    return message


def cancel(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


class Talk:
    """A session with JSON values on either side."""

    def __init__(self, version: str | None = "2025-11-25", recorded: bool = True, **limits: int) -> None:
        self.session = Session(surface() if recorded else None, **limits)
        if version is not None:
            self.say(req("init", "initialize", {"protocolVersion": version}))

    def say(self, message: Any) -> list[Any]:
        parsed = parse(encode(message))
        assert parsed is not None
        return [json.loads(line) for line in self.session.receive(parsed)]

    def ready(self) -> None:
        self.session.ready(lambda: None)

    def take(self) -> Delivery:
        """The next message of the server, replayed handshakes answered on the way."""
        delivery = self.session.take()
        assert delivery is not None
        if delivery.body["method"] == "initialize" and delivery.call_id != "init":
            assert delivery.call_id is not None
            assert self.session.result(delivery.call_id, b"{}") == []
            return self.take()
        return delivery

    def answer(self, delivery: Delivery, result: bytes = b"{}") -> list[Any]:
        assert delivery.call_id is not None
        return [json.loads(line) for line in self.session.result(delivery.call_id, result)]


def kinds(answers: list[Any]) -> list[tuple[Any, str]]:
    return [(answer["id"], answer["error"]["data"]["kind"]) for answer in answers]


def result(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {}}


# --- eras ---


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "resources/list", "no/such"])
def test_before_initialize_everything_but_ping_and_initialize_is_refused(method: str) -> None:
    talk = Talk(version=None)
    assert kinds(talk.say(req(1, method))) == [(1, "not_initialized")]
    assert talk.say(req(2, "ping")) == [result(2)]
    assert talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"}) == []
    assert talk.session.take() is None


def test_the_first_request_fixes_the_era() -> None:
    handshake = Talk(version=None)
    handshake.say(req(1, "ping"))
    assert kinds(handshake.say(req(2, "server/discover"))) == [(2, "not_initialized")]

    modern = Talk(version=None)
    assert modern.say(req(1, "tools/list", ENVELOPE)) == []
    assert modern.say(req("init", "initialize")) == []
    assert modern.say(req(3, "ping")) == []
    assert [modern.take().call_id for _ in range(3)] == [1, "init", 3]


def test_faulty_messages_do_not_fix_the_era() -> None:
    talk = Talk(version=None)
    talk.say(req(None))
    talk.say([])
    talk.say(req(1, "m", []))
    assert talk.say(req(2, "server/discover")) == []
    assert talk.take().call_id == 2


def test_initialize_opens_the_handshake_era_even_with_an_envelope() -> None:
    (answer,) = Talk(version=None).say(req(1, "initialize", ENVELOPE))
    assert answer["result"] == {"protocolVersion": "2025-11-25"}


def test_an_enveloped_request_after_the_handshake_is_left_to_the_server() -> None:
    talk = Talk()
    for id_, method in enumerate(("tools/list", "ping", "tools/call")):
        assert talk.say(req(id_, method, ENVELOPE)) == []
        assert talk.take().call_id == id_


# --- before the server is ready ---


def test_the_handshake_is_replayed_to_the_server_and_its_answer_dropped() -> None:
    talk = Talk()
    talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    replay = talk.session.take()
    assert replay is not None
    assert replay.body["method"] == "initialize"
    assert replay.body["params"] == {"protocolVersion": "2025-11-25"}
    assert talk.answer(replay, b'{"ours":"dropped"}') == []
    assert talk.take().body == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert not talk.session.owes


def test_the_recorded_tool_list_is_used_until_the_server_is_ready_and_for_the_first_page_only() -> None:
    talk = Talk()
    assert talk.say(req(1, "tools/list", {"_meta": {"progressToken": 1}})) == [
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
    ]
    assert talk.say(req(2, "tools/list", {"cursor": "x"})) == []
    talk.ready()
    assert talk.say(req(3, "tools/list")) == []
    assert [talk.take().call_id for _ in range(2)] == [2, 3]


def test_without_a_surface_the_server_answers_initialize_itself() -> None:
    talk = Talk(recorded=False)
    assert talk.say(req(1, "tools/list")) == []
    init = talk.take()
    assert talk.answer(init) == [result("init")]
    assert talk.take().call_id == 1


def test_notifications_and_responses_are_ignored_unless_the_server_can_use_them() -> None:
    talk = Talk()
    assert talk.session.take() is not None  # the handshake
    assert talk.say({"jsonrpc": "2.0", "method": "m", "params": []}) == []
    assert talk.say({"jsonrpc": "2.0", "id": 5, "result": {}}) == []
    assert talk.say({"jsonrpc": "2.0", "id": None, "error": {}}) == []
    assert talk.session.take() is None
    talk.session.asked(5)
    talk.say({"jsonrpc": "2.0", "id": 5, "result": {}})
    talk.say({"jsonrpc": "2.0", "id": 5, "result": {}})
    taken = talk.session.take()
    assert taken is not None
    assert taken.body["id"] == 5
    assert talk.session.take() is None


# --- calls ---


def test_a_call_is_answered_with_the_clients_own_id() -> None:
    talk = Talk()
    for id_ in (10**30, "text", "", -1):
        talk.say(req(id_))
        assert talk.answer(talk.take()) == [result(id_)]
    assert not talk.session.owes


def test_ids_that_the_sdk_would_confuse_are_kept_apart() -> None:
    talk = Talk()
    for id_ in (7, "7", " 7", "07"):
        talk.say(req(id_))
    taken = [talk.take() for _ in range(4)]
    assert len({str(delivery.call_id) for delivery in taken}) == 4
    assert [talk.answer(delivery) for delivery in taken] == [[result(id_)] for id_ in (7, "7", " 7", "07")]


def test_a_second_request_with_the_id_of_one_in_progress_is_refused() -> None:
    talk = Talk()
    talk.say(req(1))
    assert kinds(talk.say(req(1))) == [(1, "duplicate_id")]
    assert talk.answer(talk.take()) == [result(1)]
    assert talk.say(req(1)) == []  # free again


def test_the_servers_error_is_passed_on() -> None:
    talk = Talk()
    talk.say(req(1))
    call_id = talk.take().call_id
    assert call_id is not None
    (line,) = talk.session.error(call_id, b'{"code":-5,"message":"no"}')
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, "error": {"code": -5, "message": "no"}}


def test_a_result_that_cannot_be_sent_is_an_error_and_the_session_goes_on() -> None:
    talk = Talk()
    talk.say(req(1))
    call_id = talk.take().call_id
    assert call_id is not None
    assert kinds([json.loads(line) for line in talk.session.unserialisable(call_id)]) == [
        (1, "unserialisable")
    ]
    talk.say(req(2))
    assert talk.answer(talk.take()) == [result(2)]


def test_too_many_or_too_large_calls_are_refused_while_ping_and_cancellation_get_through() -> None:
    talk = Talk(open_calls=3)  # the replayed handshake is one
    talk.say(req(1))
    talk.say(req(2))
    assert kinds(talk.say(req(3))) == [(3, "overloaded")]
    assert talk.say(req(4, "ping")) == [result(4)]
    talk.say(cancel(2))
    assert talk.say(req(5)) == []

    large = Talk(open_bytes=1000)
    large.say(req(1, "m", {"x": "x" * 600}))
    assert kinds(large.say(req(2, "m", {"x": "x" * 600}))) == [(2, "overloaded")]
    large.answer(large.take())
    assert large.say(req(3, "m", {"x": "x" * 600})) == []


def test_notifications_beyond_the_limit_are_dropped() -> None:
    talk = Talk(open_calls=5)
    for _ in range(50):
        talk.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    taken = 0
    while talk.session.take() is not None:
        taken += 1
    assert taken == 5


# --- cancellation ---


def test_a_waiting_call_that_is_cancelled_never_reaches_the_server() -> None:
    talk = Talk()
    talk.say(req(1))
    talk.say(req(2))
    assert talk.say(cancel(1)) == []
    assert talk.take().call_id == 2
    assert talk.session.take() is None


def test_a_running_call_that_is_cancelled_is_told_to_the_server_and_never_answered() -> None:
    talk = Talk()
    talk.say(req("7"))
    running = talk.take()
    talk.say(req(7))
    twin = talk.take()
    talk.say(cancel(7))
    told = talk.take()
    assert told.body["params"] == {"requestId": twin.call_id}
    assert talk.answer(twin) == []
    assert talk.answer(running) == [result("7")]


def test_the_id_of_a_cancelled_call_can_be_used_again_while_the_call_still_runs() -> None:
    talk = Talk()
    talk.say(req(1))
    old = talk.take()
    talk.say(cancel(1))
    talk.take()
    assert not talk.session.owes
    talk.say(req(1))
    new = talk.take()
    assert new.call_id != old.call_id
    assert talk.answer(new, b'{"new":1}') == [{"jsonrpc": "2.0", "id": 1, "result": {"new": 1}}]
    assert old.call_id is not None
    talk.session.settled_silently(old.call_id)
    talk.say(req(1))
    assert talk.take().call_id == 1


@pytest.mark.parametrize("id_", [2, "1", None, True, 1.5, [1]])
def test_the_cancellation_of_something_else_changes_nothing(id_: Any) -> None:
    talk = Talk()
    talk.say(req(1))
    talk.say(cancel(id_))
    talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    assert talk.answer(talk.take()) == [result(1)]
    assert talk.session.take() is None


def test_initialize_cannot_be_cancelled() -> None:
    talk = Talk(recorded=False)
    talk.say(cancel("init"))
    assert talk.answer(talk.take()) == [result("init")]


# --- batches ---


def test_a_batch_under_2025_03_26_is_answered_with_one_array_when_all_of_it_is_done() -> None:
    talk = Talk("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert talk.say([req(1), note, 5, req(2, "ping"), req(3, "m", []), req(4)]) == []
    first = talk.take()
    talk.take()  # the notification
    assert talk.answer(first) == []
    (answers,) = talk.answer(talk.take())
    assert sorted(str(answer["id"]) for answer in answers) == ["1", "2", "3", "4", "None"]
    assert not talk.session.owes


def test_a_batch_that_needs_no_answer_gets_none() -> None:
    talk = Talk("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert talk.say([note, {"jsonrpc": "2.0", "id": 1, "result": {}}]) == []
    assert talk.say([req(1), cancel(1)]) == []
    assert not talk.session.owes


def test_a_batch_whose_last_open_call_is_cancelled_is_answered_with_the_rest() -> None:
    talk = Talk("2025-03-26")
    assert talk.say([req(1), req(2, "ping")]) == []
    assert talk.say(cancel(1)) == [[result(2)]]


def test_a_batch_of_one_is_answered_with_an_array() -> None:
    assert Talk("2025-03-26").say([req(1, "ping")]) == [[result(1)]]


def test_initialize_in_a_batch_is_refused_and_the_rest_of_it_answered() -> None:
    (answers,) = Talk("2025-03-26").say([req(1, "initialize"), req(2, "ping")])
    assert kinds(answers[:1]) == [(1, "initialize_in_batch")]
    assert answers[1] == result(2)


@pytest.mark.parametrize("version", [None, "2025-11-25", "2025-06-18", "2024-11-05"])
def test_a_batch_is_one_invalid_request_under_every_other_version(version: str | None) -> None:
    talk = Talk(version)
    assert kinds(talk.say([req(1, "ping"), req(2, "ping")])) == [(None, "batch_not_supported")]
    assert kinds(talk.say([req(1, "initialize")])) == [(None, "batch_not_supported")]


def test_an_empty_batch_is_an_invalid_request_under_every_version() -> None:
    for version in HANDSHAKE_VERSIONS:
        assert kinds(Talk(version).say([])) == [(None, "empty_batch")]


# --- the end ---


def test_failing_answers_everything_that_waits_or_runs_and_everything_later() -> None:
    talk = Talk("2025-03-26")
    talk.say(req(1))
    running = talk.take()
    talk.say(req(2))
    talk.say([req(3), req(4, "ping")])
    answers = [json.loads(line) for line in talk.session.fail_all("startup_failed")]
    assert kinds(answers[:2]) == [(1, "startup_failed"), (2, "startup_failed")]
    assert sorted(answer["id"] for answer in answers[2]) == [3, 4]
    assert kinds(talk.say(req(5, "ping"))) == [(5, "startup_failed")]
    assert kinds(talk.say(req(6, "initialize"))) == [(6, "startup_failed")]
    assert talk.answer(running) == []
    assert talk.session.take() is None
    assert not talk.session.owes


def test_a_session_that_is_shutting_down_refuses_new_requests_and_finishes_the_old() -> None:
    talk = Talk()
    talk.say(req(1))
    talk.session.refuse("shutting_down")
    talk.session.refuse("startup_failed")
    assert kinds(talk.say(req(2))) == [(2, "shutting_down")]
    assert talk.session.owes
    assert talk.answer(talk.take()) == [result(1)]
    assert not talk.session.owes


# --- whatever a client says ---

IDS = st.sampled_from([1, 2, "1", "2", None, 1.5, True, 10**25, "mcpkit-1"])
SINGLE = st.one_of(
    st.builds(
        req,
        IDS,
        st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover", "x"]),
        st.sampled_from([None, {}, [], 5, ENVELOPE, {"protocolVersion": "2025-03-26"}, {"cursor": "a"}]),
    ),
    st.builds(cancel, IDS),
    st.builds(lambda id_: {"jsonrpc": "2.0", "id": id_, "result": {}}, IDS),
    st.just({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    st.sampled_from([5, None, {}, {"jsonrpc": "1.0", "id": 3, "method": "x"}]),
)
STEPS = st.lists(
    st.one_of(SINGLE, st.lists(SINGLE, max_size=4), st.sampled_from(["ready", "take", "answer", "settle"])),
    max_size=40,
)


def count(message: Any) -> int:
    return len(message) if isinstance(message, list) else 1


@given(STEPS, st.booleans())
def test_whatever_happens_every_request_is_answered_once_at_most_and_nothing_is_left_open(
    steps: list[Any], recorded: bool
) -> None:
    talk = Talk(version=None, recorded=recorded)
    taken: list[Delivery] = []
    asked = answered = 0
    for step in steps:
        if step == "ready":
            talk.ready()
        elif step == "take":
            delivery = talk.session.take()
            if delivery is not None and delivery.call_id is not None:
                taken.append(delivery)
        elif step == "answer":
            if taken:
                answered += sum(map(count, talk.answer(taken.pop())))
        elif step == "settle":
            if taken:
                call_id = taken.pop(0).call_id
                assert call_id is not None
                answered += sum(map(count, map(json.loads, talk.session.unserialisable(call_id))))
        else:
            asked += count(step) or 1
            answered += sum(map(count, talk.say(step)))
        assert answered <= asked
    answered += sum(map(count, map(json.loads, talk.session.fail_all("shutting_down"))))
    assert answered <= asked
    assert not talk.session.owes
    assert talk.session._bytes == 0
    assert not talk.session._calls


def expects(message: Any) -> int:
    """How many answers the specification wants for one message."""
    if not isinstance(message, dict):
        return 1
    if "method" not in message:
        return 0 if "result" in message else 1
    return 1 if "id" in message else 0


UNCANCELLED = SINGLE.filter(lambda message: not (isinstance(message, dict) and "id" not in message))


@given(
    st.lists(
        st.one_of(UNCANCELLED, st.lists(UNCANCELLED, max_size=4), st.sampled_from(["ready", "take"])),
        max_size=40,
    ),
    st.booleans(),
)
def test_without_cancellations_every_message_gets_exactly_the_answers_it_is_due(
    steps: list[Any], recorded: bool
) -> None:
    talk = Talk(version=None, recorded=recorded)
    due = answered = 0
    for step in steps:
        if step == "ready":
            talk.ready()
        elif step == "take":
            delivery = talk.session.take()
            if delivery is not None and delivery.call_id is not None:
                answered += sum(map(count, talk.answer(delivery)))
        else:
            batches = talk.session._version == "2025-03-26" and not talk.session._modern
            if isinstance(step, list):
                due += sum(map(expects, step)) if step and batches else 1
            else:
                due += expects(step)
            answered += sum(map(count, talk.say(step)))
    answered += sum(map(count, map(json.loads, talk.session.fail_all("shutting_down"))))
    assert answered == due

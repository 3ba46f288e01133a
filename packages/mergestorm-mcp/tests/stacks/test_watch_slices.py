"""One slice of a watch in simulated time: which reads it makes, how long it waits, and what it makes of failures."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.reader import ApiStackReader
from mergestorm_mcp.stacks.watch import StackWatchError, StackWatchTimeout, WatchTerms, watch_slice

pytestmark = pytest.mark.anyio
Simulated = Callable[[Any], tuple[Any, Any, Any]]


def stacks_of(*stacks: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    return 200, {"stacks": list(stacks)}, {}


def queue_of(*entries: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any], dict[str, str]]:
    return 200, {"entries": list(entries), **more}, {}


def status(code: int, **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    return code, {}, {name.replace("_", "-"): value for name, value in headers.items()}


class Service:
    """Answers enrich and queue reads from two lists, each answer once and the last one for ever.

    An answer is `(seconds, answer)` or the answer alone; a held queue read takes as long as it was asked to hold.
    """

    def __init__(self, enrich: list[Any], queue: list[Any]) -> None:
        self.answers = {"enrich": enrich, "queue": queue}
        self.reads: list[tuple[str, dict[str, str], float]] = []

    def __call__(self, request: httpx.Request) -> tuple[float, Any]:
        kind = request.url.path.rsplit("/", 1)[-1]
        query = {name: value for name, value in request.url.params.items() if name != "stackId"}
        self.reads.append((kind, query, request.extensions["timeout"]["read"]))
        left = self.answers[kind]
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, tuple) and len(found) == 2:
            return found
        return float(query.get("wait", 0)), found

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.reads]


class Slice:
    """Runs slices over one service."""

    def __init__(self, simulated: Simulated, stack_id: str, service: Service) -> None:
        self.api, self.clock, _ = simulated(service)
        self.began = self.clock.time
        self.stack_id = stack_id
        self.told: list[tuple[float, float | None, str]] = []

    async def __call__(self, seconds: float, cursor: Cursor | None = None) -> WatchEnvelope:
        async def progress(done: float, total: float | None, message: str) -> None:
            self.told.append((done, total, message))

        terms = WatchTerms(self.clock, seconds, progress=progress)
        return await watch_slice(ApiStackReader(self.api), self.stack_id, terms, cursor)

    async def timed_out(self, seconds: float, cursor: Cursor | None = None) -> WatchEnvelope:
        with pytest.raises(StackWatchTimeout) as timeout:
            await self(seconds, cursor)
        return timeout.value.envelope

    async def failed(self, seconds: float, cursor: Cursor | None = None) -> StackWatchError:
        with pytest.raises(StackWatchError) as failure:
            await self(seconds, cursor)
        return failure.value

    @property
    def took(self) -> float:
        return float(self.clock.time - self.began)


@pytest.fixture
def sliced(simulated: Simulated, make: SimpleNamespace) -> Callable[..., Slice]:
    """`sliced(service)`: runs slices over it."""
    return lambda service: Slice(simulated, make.id, service)


async def test_a_snapshot_is_one_read_of_each_within_five_seconds(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of()])
    found = await sliced(service)(0)
    assert (found.status, found.available) == ("waiting", True)
    assert service.reads == [("enrich", {}, 5.0), ("queue", {}, 5.0)]


async def test_a_wait_holds_one_read_for_all_its_time(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of(fingerprint="f1")])
    run = sliced(service)
    found = await run.timed_out(45)
    assert (found.status, found.available) == ("waiting", True)
    assert service.reads == [
        ("enrich", {}, 30.0),
        ("queue", {}, 30.0),
        ("queue", {"wait": "45", "seen": "f1"}, 50.0),
        ("enrich", {}, 5.0),
    ]
    assert run.took == 45


async def test_a_short_wait_bounds_its_reads(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of()])
    await sliced(service).timed_out(19.5)
    assert [seconds for _, _, seconds in service.reads] == [19.5, 19.5, 25.0, 5.0]


async def test_a_long_wait_holds_for_45_seconds_at_most(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of()])
    await sliced(service).timed_out(100)
    assert [query["wait"] for _, query, _ in service.reads if "wait" in query] == ["45", "45", "10"]


async def test_while_an_agent_holds_an_attention_back_the_wait_looks_every_15_seconds(
    make: SimpleNamespace, sliced: Any
) -> None:
    busy = make.stack(make.layer(ciStatus="failure", cycloneStatus="patching"))
    idle = make.stack(make.layer(ciStatus="failure"))
    service = Service([stacks_of(busy), stacks_of(busy), stacks_of(idle)], [queue_of()])
    run = sliced(service)
    found = await run(300)
    assert (found.status, run.took) == ("attention", 30)
    assert [query["wait"] for _, query, _ in service.reads if "wait" in query] == ["15", "15"]


async def test_a_service_that_holds_nothing_is_asked_every_two_seconds(
    make: SimpleNamespace, sliced: Any
) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [(0.0, queue_of())])
    run = sliced(service)
    await run.timed_out(45)
    assert service.kinds.count("queue") == 1 + 23
    assert set(run.clock.slept) == {2.0, 1.0}


async def test_a_changed_queue_is_looked_at_without_a_pause(make: SimpleNamespace, sliced: Any) -> None:
    running = make.entry("running", claimedAt=make.ago(1))
    queue = [queue_of(running), (0.0, queue_of(make.entry("bounced", "gh_error")))]
    run = sliced(Service([stacks_of(make.stack(make.layer()))], queue))
    found = await run(45)
    assert (found.status, run.took, run.clock.slept) == ("attention", 0, [])


async def test_an_attention_ends_the_wait_at_once(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer(draft=True)))], [queue_of()])
    run = sliced(service)
    assert (await run(45)).status == "attention"
    assert (service.kinds, run.took) == (["enrich", "queue"], 0)


@pytest.mark.parametrize("state", ["merged", "closed"])
async def test_an_end_ends_the_wait_at_once(make: SimpleNamespace, sliced: Any, state: str) -> None:
    service = Service([stacks_of(make.stack(make.layer(state=state)))], [queue_of()])
    found = await sliced(service)(45)
    assert found.done
    assert found.wire()["watch"]["done"] is True


async def test_the_head_of_the_first_snapshot_is_enrolled_and_stays(
    make: SimpleNamespace, sliced: Any
) -> None:
    moved = make.layer(headSha="e" * 40, mergeableHeadSha="e" * 40)
    service = Service([stacks_of(make.stack(make.layer())), stacks_of(make.stack(moved))], [queue_of()])
    found = await sliced(service).timed_out(45)
    assert found.cursor.enrolled_head_sha == make.head(11)
    assert found.wire()["headSha"] == "e" * 40


async def test_a_given_cursor_is_never_enrolled_anew(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of()])
    found = await sliced(service).timed_out(45, Cursor(make.id, None))
    assert found.cursor.enrolled_head_sha is None


async def test_a_reported_bounce_moves_the_cursor_and_a_held_one_does_not(
    make: SimpleNamespace, sliced: Any
) -> None:
    bounce = make.entry("bounced", "gh_error")
    found = await sliced(Service([stacks_of(make.stack(make.layer()))], [queue_of(bounce)]))(45)
    assert found.cursor.bounce_id == "e1"
    busy = make.stack(make.layer(cycloneStatus="patching"))
    held = await sliced(Service([stacks_of(busy)], [queue_of(bounce)])).timed_out(10)
    assert "bounceId" not in held.cursor.wire()


async def test_a_cursor_of_another_stack_is_a_mistake(make: SimpleNamespace, sliced: Any) -> None:
    run = sliced(Service([stacks_of(make.stack(make.layer()))], [queue_of()]))
    with pytest.raises(ValueError, match="another stack"):
        await run(0, Cursor("other"))


# Failures
async def test_three_retries_are_shared_by_both_reads_until_a_full_round(
    make: SimpleNamespace, sliced: Any
) -> None:
    good, bad = stacks_of(make.stack(make.layer())), status(503)
    service = Service([bad, bad, good], [bad, bad, queue_of()])
    failure = await sliced(service).failed(45)
    assert service.kinds == ["enrich", "enrich", "enrich", "queue", "queue"]
    assert (failure.envelope.status, failure.transient) == ("failed", True)
    assert failure.envelope.wire()["currentCandidate"] == {"prNumber": 11, "headSha": make.head(11)}


async def test_a_full_round_gives_three_new_retries(make: SimpleNamespace, sliced: Any) -> None:
    good, bad = stacks_of(make.stack(make.layer())), status(502)
    waiting = (0.0, queue_of(make.entry("running", claimedAt=make.ago(1))))
    bounced = (0.0, queue_of(make.entry("bounced", "gh_error")))
    service = Service(
        [bad, bad, bad, good], [queue_of(), waiting, (0.0, bad), (0.0, bad), (0.0, bad), bounced]
    )
    assert (await sliced(service)(45)).status == "attention"


async def test_pauses_before_retries_double(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([status(500)], [queue_of()])
    run = sliced(service)
    await run.failed(45)
    assert len(service.reads) == 4
    lows, highs = (0.125, 0.25, 0.5), (0.25, 0.5, 1.0)
    assert all(low <= pause <= high for low, pause, high in zip(lows, run.clock.slept, highs, strict=True))


@pytest.mark.parametrize(
    "answer", [status(408), status(500), httpx.ConnectError("no"), httpx.ReadError("cut"), None]
)
async def test_a_passing_failure_is_tried_again(make: SimpleNamespace, sliced: Any, answer: Any) -> None:
    broken: Any = (0.0, answer)
    service = Service([broken, stacks_of(make.stack(make.layer(draft=True)))], [queue_of()])
    assert (await sliced(service)(45)).status == "attention"


@pytest.mark.parametrize("code", [400, 403, 404, 410, 422])
async def test_a_lasting_failure_is_not_tried_again(make: SimpleNamespace, sliced: Any, code: int) -> None:
    service = Service([stacks_of(make.stack(make.layer()))], [queue_of(), (0.0, status(code))])
    failure = await sliced(service).failed(45)
    assert service.kinds == ["enrich", "queue", "queue"]
    assert (failure.envelope.status, failure.envelope.available, failure.transient) == (
        "failed",
        False,
        False,
    )


async def test_a_rejected_key_is_not_tried_again(make: SimpleNamespace, sliced: Any) -> None:
    service = Service([(0.0, status(401))], [queue_of()])
    failure = await sliced(service).failed(45)
    assert (failure.error.code, len(service.reads)) == ("auth_invalid", 1)


async def test_a_snapshot_is_never_tried_again(make: SimpleNamespace, sliced: Any) -> None:
    for answer in (status(503), status(429), httpx.ConnectError("no")):
        service = Service([(0.0, answer)], [queue_of()])
        failure = await sliced(service).failed(0)
        assert (len(service.reads), failure.envelope.available) == (1, False)


async def test_a_delay_that_fits_is_waited_out_and_shown(make: SimpleNamespace, sliced: Any) -> None:
    service = Service(
        [status(429, Retry_After="7"), stacks_of(make.stack(make.layer(draft=True)))], [queue_of()]
    )
    run = sliced(service)
    assert (await run(45)).status == "attention"
    assert run.took == 7
    assert run.told[0] == (0, 45, "rate_limited")


async def test_a_delay_beyond_the_deadline_is_reported_at_once(make: SimpleNamespace, sliced: Any) -> None:
    run = sliced(Service([status(429, Retry_After="46")], [queue_of()]))
    failure = await run.failed(45)
    assert (failure.envelope.status, failure.retry_after, run.took) == ("rate_limited", 46, 0)


async def test_rate_limits_without_a_delay_end_after_three_retries(
    make: SimpleNamespace, sliced: Any
) -> None:
    service = Service([status(429)], [queue_of()])
    failure = await sliced(service).failed(45)
    assert (len(service.reads), failure.error.code, failure.retry_after) == (4, "rate_limited", None)


@pytest.mark.parametrize(
    "body", [{}, {"stacks": None}, {"stacks": {}}, [], "text", {"stacks": [{"id": "x"}]}]
)
async def test_a_list_that_is_no_list_is_a_failed_read_and_not_the_end(
    make: SimpleNamespace, sliced: Any, body: Any
) -> None:
    if isinstance(body, dict) and isinstance(body.get("stacks"), list):
        body = {"stacks": [{"id": make.id}]}
    failure = await sliced(Service([(0.0, (200, body, {}))], [queue_of()])).failed(45)
    assert not failure.envelope.done
    assert failure.transient


@pytest.mark.parametrize("body", [{}, {"entries": None}, {"entries": {}}, [], "text"])
async def test_a_queue_that_is_no_list_keeps_the_issues_and_withdraws_the_assessment(
    make: SimpleNamespace, sliced: Any, body: Any
) -> None:
    raw = make.stack(make.layer(11), make.layer(12, ciStatus="failure"))
    service = Service([stacks_of(raw)], [queue_of(), (0.0, (200, body, {}))])
    found = (await sliced(service).failed(45)).envelope.wire()
    assert (found["status"], found["assessment"]) == ("failed", "unavailable")
    assert [issue["prNumber"] for issue in found["issues"]] == [12]


async def test_a_stack_that_vanishes_leaves_nothing_but_its_cursor(
    make: SimpleNamespace, sliced: Any
) -> None:
    raw = make.stack(make.layer(11), make.layer(12, ciStatus="failure"))
    failure = await sliced(Service([stacks_of(raw), stacks_of()], [queue_of()])).failed(45)
    found = failure.envelope.wire()
    assert found["watch"]["reason"] == "not_found"
    assert found["cursor"]["enrolledHeadSha"] == make.head(11)
    live = (
        "blocker",
        "prNumber",
        "headSha",
        "currentCandidate",
        "agents",
        "repair",
        "landGatePending",
        "queueWait",
    )
    assert [found[name] for name in live] == [None] * len(live)
    assert (found["issues"], found["busy"], found["waitingOn"]) == ([], [], [])


@pytest.mark.parametrize("answer", [status(503), status(408), httpx.ReadError("cut"), None])
async def test_a_last_snapshot_that_fails_in_passing_leaves_what_is_known_unvouched_for(
    make: SimpleNamespace, sliced: Any, answer: Any
) -> None:
    service = Service([stacks_of(make.stack(make.layer())), (0.0, answer)], [queue_of()])
    found = await sliced(service).timed_out(10)
    assert (found.status, found.available) == ("waiting", False)
    assert service.kinds == ["enrich", "queue", "queue", "enrich"]


@pytest.mark.parametrize(("answer", "expected"), [(status(429), "rate_limited"), (status(403), "failed")])
async def test_a_last_snapshot_that_is_refused_is_an_error(
    make: SimpleNamespace, sliced: Any, answer: Any, expected: str
) -> None:
    service = Service([stacks_of(make.stack(make.layer())), (0.0, answer)], [queue_of()])
    failure = await sliced(service).failed(10)
    assert (failure.envelope.status, failure.envelope.available) == (expected, False)


async def test_a_deadline_without_any_answer_is_failed_and_not_waiting(
    make: SimpleNamespace, sliced: Any
) -> None:
    run = sliced(Service([(0.0, None)], [queue_of()]))
    found = await run.timed_out(20)
    assert (found.status, found.available, found.known) == ("failed", False, None)
    assert run.took == 20


@pytest.mark.parametrize("late", [0.0, 3.0, 5.9])
async def test_the_deadline_is_kept_within_one_read(make: SimpleNamespace, sliced: Any, late: float) -> None:
    held = (10.0 + late if late < 5 else 14.9, queue_of())
    service = Service(
        [stacks_of(make.stack(make.layer())), (4.9, stacks_of(make.stack(make.layer())))], [queue_of(), held]
    )
    run = sliced(service)
    await run.timed_out(10)
    assert run.took <= 10 + 7


async def test_progress_is_told_before_every_held_read(make: SimpleNamespace, sliced: Any) -> None:
    run = sliced(Service([stacks_of(make.stack(make.layer()))], [queue_of()]))
    await run.timed_out(100)
    assert run.told == [
        (0, 100, "waiting"),
        (45, 100, "waiting"),
        (90, 100, "waiting"),
        (100, 100, "waiting"),
    ]


async def test_errors_carry_no_key_and_say_what_failed(make: SimpleNamespace, sliced: Any) -> None:
    failure = await sliced(
        Service([(0.0, (403, {"error": "msk_live_vectors_0123456789abcdef"}, {}))], [queue_of()])
    ).failed(0)
    assert isinstance(failure.error, CommandError)
    assert "msk_live" not in str(failure)

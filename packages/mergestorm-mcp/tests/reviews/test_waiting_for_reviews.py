"""Waits for reviews in simulated time: the pace, the retries, the deadline, and what holds under any schedule."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.retry import backoff_seconds
from mergestorm_mcp.reviews.poll import JobPollTimeout, PollTimeout, Waiting, poll_interval, poll_review
from mergestorm_mcp.reviews.pr import PrPollTimeout, PrSelector, matches_head, poll_pr_review, rests

pytestmark = pytest.mark.anyio
Simulated = Callable[[Any], tuple[Any, Any, Any]]
HEAD = "30a8b8c39e9908e30207903ac54b5938b87e3032"
SEEDS = range(300)


def row(status: str, **more: Any) -> tuple[float, tuple[int, dict[str, Any], dict[str, str]]]:
    return 0.0, (200, {"status": status, **more}, {})


def script(*answers: Any) -> Callable[[httpx.Request], Any]:
    """The answers in order, the last one for ever."""
    left = list(answers)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


def test_the_pace_slows_down_between_one_and_two_minutes() -> None:
    assert [poll_interval(at) for at in (0, 60, 90, 120, 10_000)] == [2, 2, 3.5, 5, 5]


@pytest.mark.parametrize(
    ("attempt", "low", "high"), [(1, 0.125, 0.25), (2, 0.25, 0.5), (3, 0.5, 1.0), (9, 5.0, 5.0)]
)
def test_pauses_before_retries_double_and_the_service_s_delay_wins(
    attempt: int, low: float, high: float
) -> None:
    chance = random.Random(7)
    for _ in range(50):
        assert low <= backoff_seconds(attempt, None, chance) <= high
    assert backoff_seconds(attempt, 17, chance) == 17


async def test_a_wait_reads_every_two_seconds_until_the_job_is_done(simulated: Simulated) -> None:
    api, clock, _ = simulated(script(row("queued"), row("in_progress"), row("completed", verdict="approve")))
    found = await poll_review(api, "j1", Waiting(clock, 45))
    assert found == {"status": "completed", "verdict": "approve", "job_id": "j1"}
    assert clock.slept == [2, 2]


async def test_a_wait_that_times_out_keeps_the_last_row(simulated: Simulated) -> None:
    api, clock, transport = simulated(script(row("queued"), row("in_progress")))
    with pytest.raises(JobPollTimeout) as timeout:
        await poll_review(api, "j1", Waiting(clock, 5))
    assert timeout.value.last_row == {"status": "in_progress", "job_id": "j1"}
    assert clock.slept == [2, 2, 1]
    assert len(transport.requests) == 3


async def test_progress_is_told_after_every_read(simulated: Simulated) -> None:
    api, clock, _ = simulated(script(row("queued"), row("queued"), row("completed")))
    told: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _message: str) -> None:
        told.append((done, total))

    await poll_review(api, "j1", Waiting(clock, 45, progress=progress))
    assert told == [(0, 45), (2, 45)]


async def test_a_good_answer_starts_the_count_of_retries_anew(simulated: Simulated) -> None:
    bad: Any = (0.0, (503, {}, {}))
    good = row("in_progress")
    api, clock, transport = simulated(script(bad, bad, bad, good, bad, bad, bad, row("completed")))
    assert (await poll_review(api, "j1", Waiting(clock, 60)))["status"] == "completed"
    assert len(transport.requests) == 8


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((0.0, (503, {}, {})), "review_failed"),
        ((0.0, (408, {}, {})), "review_failed"),
        ((0.0, httpx.ConnectError("refused")), "review_failed"),
        ((0.0, (429, {}, {"Retry-After": "2"})), "rate_limited"),
    ],
)
async def test_a_fourth_bad_answer_in_a_row_ends_the_wait(
    simulated: Simulated, answer: Any, code: str
) -> None:
    api, clock, transport = simulated(script(answer))
    with pytest.raises(CommandError) as failed:
        await poll_review(api, "j1", Waiting(clock, 60))
    assert failed.value.code == code
    assert len(transport.requests) == 4


async def test_a_delay_beyond_the_deadline_is_told_at_once(simulated: Simulated) -> None:
    api, clock, transport = simulated(script((0.0, (429, {}, {"Retry-After": "90"}))))
    with pytest.raises(CommandError) as limited:
        await poll_review(api, "j1", Waiting(clock, 20))
    assert (limited.value.code, limited.value.retry_after_seconds) == ("rate_limited", 90)
    assert clock.slept == []
    assert len(transport.requests) == 1


async def test_a_read_that_never_ends_ends_with_the_wait(simulated: Simulated) -> None:
    api, clock, transport = simulated(script(row("queued"), (0.0, None)))
    began = clock.monotonic()
    with pytest.raises(JobPollTimeout):
        await poll_review(api, "j1", Waiting(clock, 20))
    assert clock.monotonic() - began == pytest.approx(20)
    assert [request.extensions["timeout"]["read"] for _, request in transport.requests] == [20, 18]


@pytest.mark.parametrize("status", [400, 403, 404, 302])
async def test_any_other_status_ends_the_wait_at_once(simulated: Simulated, status: int) -> None:
    api, clock, transport = simulated(script((0.0, (status, {}, {}))))
    with pytest.raises(CommandError) as failed:
        await poll_review(api, "j1", Waiting(clock, 20))
    assert (failed.value.code, failed.value.exit_code) == ("review_failed", 4)
    assert len(transport.requests) == 1


def test_a_head_matches_its_abbreviation_in_any_case() -> None:
    assert matches_head(HEAD, HEAD.upper())
    assert matches_head(HEAD[:7].upper(), HEAD)
    assert matches_head(HEAD, HEAD[:9])
    assert not matches_head(HEAD[:6], HEAD)
    assert not matches_head("f" * 40, HEAD)
    assert not matches_head(None, HEAD)
    assert not matches_head(HEAD, None)
    assert not matches_head(HEAD, "")


def test_a_review_rests_by_its_raw_status_unless_a_newer_pass_is_coming() -> None:
    assert rests({"status": "completed"})
    assert rests({"status": "in_progress", "raw_status": "synced"})
    assert not rests({"status": "completed", "raw_status": "in_progress"})
    assert not rests({"status": "completed", "newer_pass_pending": True})


async def test_a_pull_request_without_any_review_is_told_apart_from_a_running_one(
    simulated: Simulated,
) -> None:
    selector = PrSelector("kestrel-labs", "tidepool", 64)
    api, clock, _ = simulated(script((0.0, (404, {}, {}))))
    with pytest.raises(PrPollTimeout) as timeout:
        await poll_pr_review(api, selector, Waiting(clock, 5))
    assert (timeout.value.last, timeout.value.found, timeout.value.read) == (None, False, True)


async def test_a_service_that_never_answered_is_told_apart_too(simulated: Simulated) -> None:
    selector = PrSelector("kestrel-labs", "tidepool", 64)
    api, clock, _ = simulated(script((0.0, None)))
    with pytest.raises(PrPollTimeout) as timeout:
        await poll_pr_review(api, selector, Waiting(clock, 5))
    assert (timeout.value.found, timeout.value.read) == (False, False)


async def ending_of(wait: Coroutine[Any, Any, Any]) -> Any:
    """What a wait returns, or the error it is meant to end with."""
    try:
        return await wait
    except (PollTimeout, CommandError) as ending:
        return ending


class RandomService:
    """A service whose answers come late, not at all, twice, in the wrong order, or as an error, by a seed."""

    def __init__(self, seed: int, states: list[dict[str, Any]]) -> None:
        self.chance = random.Random(seed)
        self.states = states
        self.said: list[dict[str, Any]] = []
        self.bad_in_a_row = 0
        self.most_bad = 0

    def __call__(self, request: httpx.Request) -> Any:
        kind = self.chance.choices(["good", "lost", "broken", "status", "limit"], [6, 1, 1, 1, 1])[0]
        delay = self.chance.choice([0.0, 0.1, 3.0, 25.0])
        if delay > request.extensions["timeout"]["read"]:
            kind = "lost"
        if kind == "good":
            self.bad_in_a_row = 0
            # An older state may come after a newer one; the newest comes for certain in the end.
            state = self.states[
                min(len(self.states) - 1, len(self.said) // 2 + self.chance.choice([-1, 0, 0, 1]) % 2)
            ]
            self.said.append(state)
            return delay, (200, state, {})
        self.bad_in_a_row += 1
        self.most_bad = max(self.most_bad, self.bad_in_a_row)
        if kind == "lost":
            return delay, None
        if kind == "broken":
            return delay, httpx.ReadError("reset")
        if kind == "status":
            return delay, (self.chance.choice([408, 500, 502, 503]), {}, {})
        told = self.chance.choice([None, 0, 1, 30, 400])
        return delay, (429, {}, {} if told is None else {"Retry-After": str(told)})


@pytest.mark.parametrize("block", range(6))
async def test_whatever_the_schedule_a_job_wait_keeps_its_promises(simulated: Simulated, block: int) -> None:
    states = [{"status": "queued"}, {"status": "in_progress"}, {"status": "completed", "verdict": "approve"}]
    for seed in SEEDS[block::6]:
        service = RandomService(seed, states)
        api, clock, transport = simulated(service)
        seconds = service.chance.choice([1.0, 20.0, 45.0, 300.0])
        began = clock.monotonic()
        ending = await ending_of(poll_review(api, "j1", Waiting(clock, seconds, service.chance)))
        if isinstance(ending, JobPollTimeout):
            assert clock.monotonic() - began == pytest.approx(seconds), seed
            assert (ending.last_row or {}).get("status") != "completed", seed
        elif isinstance(ending, CommandError):
            assert ending.code in {"rate_limited", "review_failed"}, seed
        else:
            assert ending["status"] == "completed", seed
            assert service.said[-1]["status"] == "completed", seed
        assert clock.monotonic() - began <= seconds + 1e-6, seed
        assert service.most_bad <= 4, seed
        assert {request.method for _, request in transport.requests} == {"GET"}, seed
        assert all(pause >= 0 for pause in clock.slept), seed


@pytest.mark.parametrize("block", range(6))
async def test_whatever_the_schedule_a_pr_wait_keeps_its_promises(simulated: Simulated, block: int) -> None:
    states: list[dict[str, Any]] = [
        {"status": "completed", "head_sha": "f" * 40, "pass": 1},
        {"status": "in_progress", "head_sha": HEAD, "pass": 2},
        {"status": "completed", "head_sha": HEAD, "newer_pass_pending": True, "pass": 2},
        {"status": "completed", "head_sha": HEAD, "pass": 3},
    ]
    selector = PrSelector("kestrel-labs", "tidepool", 64, after_sha=HEAD[:9], after_pass=1)
    for seed in SEEDS[block::6]:
        service = RandomService(seed, states)
        api, clock, transport = simulated(service)
        seconds = service.chance.choice([1.0, 20.0, 45.0, 300.0])
        began = clock.monotonic()
        ending = await ending_of(poll_pr_review(api, selector, Waiting(clock, seconds, service.chance)))
        if isinstance(ending, PrPollTimeout):
            assert ending.last is None or ending.last["pass"] > 1, seed
            assert ending.found is bool(service.said), seed
        elif isinstance(ending, CommandError):
            assert ending.code in {"rate_limited", "review_failed"}, seed
        else:
            assert (ending["pass"], ending["head_sha"], ending["status"]) == (3, HEAD, "completed"), seed
        assert clock.monotonic() - began <= seconds + 1e-6, seed
        assert service.most_bad <= 4, seed
        assert len({str(request.url) for _, request in transport.requests}) == 1, seed

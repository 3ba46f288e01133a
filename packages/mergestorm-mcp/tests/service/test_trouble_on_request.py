"""Knobs: outages, rate limits, latency and lost answers, counted over restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.pace import ManualClock, Pace
from mergestorm_mcp.service.world import World

from .conftest import LocalService
from .test_local_reviews import submission


def turn(service: LocalService, kind: knobs.Kind, **options: Any) -> None:
    with service.world.store.write() as connection:
        knobs.turn(service.world, connection, kind, **options)


def test_an_outage_lasts_for_so_many_requests_of_its_path(service: LocalService) -> None:
    turn(service, "outage", path="/api/v1/me", times=2, retry_after_seconds=3)
    client = service.client()
    assert client.get("/api/v1/settings").status_code == 200
    replies = [client.get("/api/v1/me") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [503, 503, 200]
    assert (replies[0].json()["error"], replies[0].headers["retry-after"]) == ("service_unavailable", "3")


@pytest.mark.parametrize(("header", "seconds"), [(True, 7.0), (False, 7.0), (True, None), (True, 0.0)])
def test_a_rate_limit_speaks_in_header_and_body_or_not_at_all(
    service: LocalService, header: bool, seconds: float | None
) -> None:
    turn(service, "rate_limit", method="get", times=1, retry_after_seconds=seconds, retry_after_header=header)
    reply = service.client().get("/api/v1/me")
    assert (reply.status_code, reply.json()["error"]) == (429, "rate_limited")
    assert reply.json().get("retry_after_seconds") == seconds
    assert ("retry-after" in reply.headers) == (header and seconds is not None)


def test_a_method_that_is_not_meant_is_left_alone(service: LocalService) -> None:
    turn(service, "outage", method="POST")
    client = service.client()
    assert client.get("/api/v1/me").status_code == 200
    assert client.post("/api/v1/reviews", json=submission()).status_code == 503
    with service.world.store.write() as connection:
        knobs.clear(connection)
    assert client.post("/api/v1/reviews", json=submission()).status_code == 202


def test_a_refused_request_writes_nothing_and_a_lost_answer_was_worked_for(service: LocalService) -> None:
    turn(service, "outage", method="POST", times=1)
    turn(service, "lost_answer", method="POST", times=1)
    client = service.client()
    assert client.post("/api/v1/reviews", json=submission(idempotency_key="k")).status_code == 503
    assert client.get("/api/v1/reviews").json()["items"] == []
    with pytest.raises(httpx.TransportError):
        client.post("/api/v1/reviews", json=submission(idempotency_key="k"))
    jobs = client.get("/api/v1/reviews").json()["items"]
    assert len(jobs) == 1
    assert (
        client.post("/api/v1/reviews", json=submission(idempotency_key="k")).json()["job_id"]
        == jobs[0]["job_id"]
    )


def test_latencies_add_up_and_hold_back_the_answer(world: World) -> None:
    with world.store.write() as connection:
        knobs.turn(world, connection, "latency", latency_seconds=0.5, path="/api/v1/*")
        knobs.turn(world, connection, "latency", latency_seconds=1, path="*/me")
        knobs.turn(world, connection, "latency", latency_seconds=10**9, path="/api/v1/settings")
    assert knobs.meet(world, "GET", "/api/v1/me").latency_seconds == 1.5
    assert knobs.meet(world, "GET", "/api/v1/settings").latency_seconds == 60
    assert knobs.meet(world, "GET", "/device") == knobs.Trouble()


def test_counts_and_times_go_on_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    first = build(tmp_path / "kept", Pace(clock, scale=10))
    with first.store.write() as connection:
        knobs.turn(first, connection, "outage", times=2)
        knobs.turn(first, connection, "rate_limit", seconds=100)
    assert _refused(first) == 503
    first.store.close()
    second = build(tmp_path / "kept", Pace(clock, scale=10))
    assert [_refused(second), _refused(second)] == [503, 429]
    clock.advance(11)
    assert _refused(second) is None
    second.store.close()


def _refused(world: World) -> int | None:
    refusal = knobs.meet(world, "GET", "/api/v1/me").refusal
    return None if refusal is None else refusal.status

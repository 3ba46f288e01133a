"""Watches in simulated time against a service that misbehaves by chance: whatever it does, the promises hold.

The service's truth moves on by itself: heads move, CI fails and passes, agents come and go, the queue takes entries and
throws them back, and at last the stack lands, is closed, archived or vanishes. What the watch hears of it comes late, not
at all, twice, or out of order, between restarts and rate limits. A failing seed is reproduced by its number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.model import moment
from mergestorm_mcp.stacks.reader import ApiStackReader
from mergestorm_mcp.stacks.watch import StackWatchError, StackWatchTimeout, WatchTerms, watch_slice
from mergestorm_mcp.stacks.watch_loop import LoopOptions, watch_loop

pytestmark = pytest.mark.anyio
Simulated = Callable[[Any], tuple[Any, Any, Any]]
SEEDS = range(150)


class ChancyService:
    """The service of one seed."""

    def __init__(self, make: SimpleNamespace, seed: int, *, calm: float = 0.5) -> None:
        self.make = make
        self.chance = random.Random(seed)
        self.calm = calm
        self.clock: Any = None
        self.moved = 0.0
        self.heads = 0
        self.bounces = 0
        self.ended: str | None = None
        self.ends_after = self.chance.uniform(600, 20_000)
        self.down_until = 0.0
        self.layer: dict[str, Any] = make.layer()
        self.entries: list[dict[str, Any]] = []
        self.heard: dict[str, list[Any]] = {"enrich": [], "queue": []}
        self.good: dict[str, float] = {}
        self.failing = False
        self.writes = 0

    def ago(self, minutes: float = 0) -> str:
        return self.make.ago(minutes, self.clock.time)  # type: ignore[no-any-return]

    def live(self) -> None:
        """Let the truth move on to now."""
        if self.moved == 0.0:
            self.moved = self.began = self.clock.time
        while self.moved < self.clock.time and self.ended is None:
            self.moved += self.chance.uniform(5, 400)
            self.step()
        if self.ended is None and self.clock.time - self.began > self.ends_after:
            self.ended = self.chance.choice(["landed", "closed", "archived", "vanished"])

    def step(self) -> None:
        match self.chance.randrange(8):
            case 0:
                self.heads += 1
                head = f"{self.heads:040x}"
                self.layer = {**self.layer, "headSha": head, "mergeableHeadSha": head}
            case 1:
                self.layer = {**self.layer, "ciStatus": self.chance.choice(["success", "failure", "pending"])}
            case 2:
                self.layer = {**self.layer, "cycloneStatus": self.chance.choice([None, "patching"])}
            case 3:
                self.layer = {**self.layer, "draft": self.chance.random() < 0.2}
            case 4:
                self.entries = [item for item in self.entries if item["state"] == "bounced"]
                self.entries.append(self.make.entry("running", claimedAt=self.ago(), enqueuedAt=self.ago(1)))
            case 5:
                self.bounces += 1
                detail = {
                    "kind": self.chance.choice(["gh_error", "ci_timeout"]),
                    "headSha": self.layer["headSha"],
                }
                bounce = self.make.entry(id=f"b{self.bounces}", bounceDetail=detail, finishedAt=self.ago())
                self.entries = [*[item for item in self.entries if item["state"] == "bounced"][-4:], bounce]
            case _:
                pass

    def truth(self, kind: str) -> Any:
        if kind == "queue":
            return {"entries": list(self.entries), "fingerprint": f"f{self.moved}"}
        if self.ended == "vanished":
            return {"stacks": []}
        layer = dict(self.layer)
        if self.ended in {"landed", "closed"}:
            layer["state"] = "merged" if self.ended == "landed" else "closed"
        archived = self.ago(1) if self.ended == "archived" else None
        return {"stacks": [self.make.stack(layer, archivedAt=archived)]}

    def __call__(self, request: httpx.Request) -> tuple[float, Any]:
        self.writes += request.method != "GET"
        self.live()
        kind = request.url.path.rsplit("/", 1)[-1]
        hold = float(request.url.params.get("wait", 0))
        if self.clock.time < self.down_until:
            return self.bad(0.0, self.chance.choice([httpx.ConnectError("down"), (503, {}, {})]))
        roll = self.chance.random()
        if roll < self.calm:
            return self.good_answer(kind, self.chance.choice([hold, hold * self.chance.random()]))
        match self.chance.randrange(11):
            case 0:
                return self.bad(0.0, None)  # lost
            case 1:
                return self.bad(self.chance.uniform(0, 3), httpx.ReadError("cut"))
            case 2:
                self.down_until = self.clock.time + self.chance.uniform(1, 90)
                return self.bad(0.0, httpx.RemoteProtocolError("restarting"))
            case 3:
                delay = self.chance.choice([{}, {"Retry-After": str(self.chance.randrange(0, 90))}])
                return self.bad(0.0, (429, {}, delay))
            case 4:
                return self.bad(self.chance.random(), (self.chance.choice([408, 500, 502, 503]), {}, {}))
            case 5:
                return self.bad(0.0, (self.chance.choice([400, 403, 404]), {}, {}))
            case 6:
                return self.bad(
                    0.0, (200, self.chance.choice([{}, [], "?", {"stacks": 1, "entries": 1}]), {})
                )
            case 7:
                return self.good_answer(kind, self.chance.uniform(0, 60))  # late, or too late
            case 8 if self.heard[kind]:
                return self.told(kind, 0.0, self.heard[kind][-1])  # repeated
            case 9 if self.heard[kind]:
                return self.told(kind, 0.0, self.chance.choice(self.heard[kind]))  # out of order
            case _:
                return self.good_answer(kind, 0.0)

    def good_answer(self, kind: str, delay: float) -> tuple[float, Any]:
        body = self.truth(kind)
        self.heard[kind] = [*self.heard[kind][-5:], body]
        return self.told(kind, delay, body)

    def told(self, kind: str, delay: float, body: Any) -> tuple[float, Any]:
        self.failing = False
        self.good[kind] = self.clock.time + delay
        return delay, (200, body, {})

    def bad(self, delay: float, answer: Any) -> tuple[float, Any]:
        self.failing = True
        return delay, answer


async def one_slice(
    reader: Any, stack_id: str, terms: WatchTerms, cursor: Cursor | None
) -> tuple[WatchEnvelope, str]:
    try:
        return await watch_slice(reader, stack_id, terms, cursor), "answer"
    except StackWatchTimeout as timeout:
        return timeout.envelope, "timeout"
    except StackWatchError as error:
        return error.envelope, "error"


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_promises_of_a_watch_hold_under_any_schedule(
    simulated: Simulated, make: SimpleNamespace, seed: int
) -> None:
    service = ChancyService(make, seed)
    api, clock, transport = simulated(service)
    service.clock = clock
    reader, chance = ApiStackReader(api), random.Random(seed)
    cursor: Cursor | None = None
    enrolled: str | None = None
    latest = float("-inf")
    for _ in range(25):
        seconds = chance.choice([0, 1, 5, 20, 45, 45, 300])
        began, asked = clock.time, len(transport.requests)
        service.good.clear()
        told: list[float] = []

        async def progress(
            done: float, _total: float | None, _message: str, told: list[float] = told
        ) -> None:
            told.append(done)

        terms = WatchTerms(clock, seconds, chance, progress)
        envelope, how = await one_slice(reader, make.id, terms, cursor)
        wire = envelope.wire()

        # The deadline is kept within one read; a single snapshot is two reads of five seconds.
        assert clock.time - began <= seconds + (10 if seconds == 0 else 7)
        # No tight circle: two reads in two seconds, and three retries at most for every one of them.
        assert len(transport.requests) - asked <= 8 + 2.5 * (seconds + 7)
        assert told == sorted(set(told))
        # What was not read is never called waiting.
        if wire["status"] in {"waiting", "in_progress", "attention"}:
            assert {"enrich", "queue"} <= set(service.good)
        if how == "error" or wire["status"] in {"failed", "rate_limited"}:
            assert wire["assessment"] == "unavailable"
        if how == "timeout" and service.failing:
            assert wire["assessment"] == "unavailable"
        # The enrolled head never moves and the cursor never goes back.
        if cursor is not None:
            assert envelope.cursor.enrolled_head_sha == enrolled
        if "enrich" in service.good or cursor is not None:
            cursor = envelope.cursor
            enrolled = cursor.enrolled_head_sha
        known = moment(envelope.cursor.selectors().get("after_finished_at"))
        assert known is None or known >= latest
        latest = latest if known is None else known
        # A stack is over only if it was.
        if envelope.done:
            assert service.ended is not None
            break
        assert wire["watch"]["next"]["args"]["stack_id"] == make.id
    assert service.writes == 0


@pytest.mark.parametrize("seed", range(30))
async def test_a_long_watch_ends_as_the_stack_did(
    simulated: Simulated, make: SimpleNamespace, seed: int
) -> None:
    service = ChancyService(make, seed, calm=0.9)
    api, clock, _ = simulated(service)
    service.clock = clock
    lines: list[str] = []
    options = LoopOptions(until="landed", max_minutes=8 * 60)
    outcome = await watch_loop(
        ApiStackReader(api), make.id, options, clock=clock, say=lines.append, jitter=random.Random(seed)
    )
    marks = [line for line in lines if line.startswith("MS-WATCH ")]
    last = marks[-1]
    if outcome.exit_code == 0:
        assert service.ended == "landed"
        assert last == f"MS-WATCH LANDED stack={make.id} reason=landed"
    elif " failed " in last:
        assert outcome.exit_code == 3
    else:
        assert outcome.exit_code == 3
        assert service.ended in {"closed", "archived", "vanished"}
        assert last.startswith(f"MS-WATCH ATTENTION stack={make.id} reason=")
    assert all(line.startswith("MS-WATCH ATTENTION pr=11 head=") for line in marks[:-1])
    assert len(set(marks)) == len(marks)
    assert service.writes == 0

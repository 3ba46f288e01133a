"""Between client and service: slow, broken, garbled and endless. Each call ends, says what it knows, and writes once.

A real HTTP service stands behind a proxy that does what bad networks do. Pauses between tries take no time, and where
every request will run into its deadline, time runs a hundred times faster while one is under way.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest

from mcpkit.testing import Faults, connect_memory, fault_proxy
from mergestorm_mcp.api.client import MAX_REPLY_BYTES
from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
PULL = {"owner": "o", "repo": "r", "pr_number": 7}
READS: dict[str, dict[str, Any]] = {"whoami": {}, "review_list": {}, "settings_get": {}, "queue_status": {}}
WRITES: dict[str, dict[str, Any]] = {
    "review_submit": {"diff": DIFF, "base": "main"},
    "review_dismiss": {
        **PULL,
        "head_sha": "a" * 40,
        "review_id": 3,
        "reason": "Checked: the value is never null.",
    },
    "issue_create": {"title": "t", "owner": "o", "repo": "r"},
    "stack_adopt": PULL,
    "stack_set": {"stack_id": "s-1", "auto_land": True},
    "settings_set": {"auto_land_default": True},
    "repo_settings_set": {"owner": "o", "repo": "r", "auto_land": True},
}
WAITS: dict[str, dict[str, Any]] = {
    "review_wait": {"job_id": "j1", "timeout_s": 45},
    "review_wait_pr": {**PULL, "timeout_s": 45},
    "stack_wait": {"stack_id": "s-1", "timeout_s": 45},
}
# A snapshot is one read that is not tried again.
SNAPSHOTS = {name: {**arguments, "timeout_s": 0} for name, arguments in WAITS.items()}
EVERYTHING = {**READS, **WRITES, **WAITS}

LAYER = {
    "branch": "b",
    "prNumber": 7,
    "state": "conflict",
    "position": 0,
    "parentBranch": "main",
    "headSha": "a" * 40,
}
STACK = {"id": "s-1", "owner": "o", "repo": "r", "layers": [LAYER], "archivedAt": None}
ANSWERS: dict[str, Any] = {
    "GET /api/v1/me": {"key": {"prefix": "msk_live_abc", "name": None}, "plan_key": "team", "usage": {"standard": {"used": 1}}},
    "GET /api/v1/reviews": {"items": []},
    "POST /api/v1/reviews": {"job_id": "j1", "status": "queued"},
    "GET /api/v1/reviews/j1": {"job_id": "j1", "status": "completed", "verdict": "approve"},
    "GET /api/v1/settings": {"auto_patch_enabled": True},
    "PATCH /api/v1/settings": {"auto_land_default": True},
    "PATCH /api/v1/repo-settings": {"auto_land_default": True},
    "GET /api/v1/stacks/queue": {"entries": []},
    "GET /api/v1/stacks/enrich": {"stacks": [STACK]},
    "GET /api/v1/stacks/pr-review": {**PULL, "status": "completed", "head_sha": "a" * 40, "pass": 1, "finding_count": 0},
    "POST /api/v1/stacks/pr-review/dismiss": {"status": "dismissed", **PULL, "dismissed": [], "gate": {"seam": None}},
    "POST /api/v1/issues": {"created": True, "number": 5, "url": None, "title": "t", "owner": "o", "repo": "r", "labels": []},
    "POST /api/v1/stacks/adopt": {"stack": {"id": "s-1"}, "chain": []},
    "PATCH /api/v1/stacks/s-1": {"id": "s-1"},
}  # fmt: skip


class HurriedClock:
    """Real time, faster inside of a request if it is told so; sleeping takes none and counts in full."""

    def __init__(self) -> None:
        self.faster = 1.0
        self._shift = 0.0

    def now(self) -> float:
        return time.time() + self._shift

    def monotonic(self) -> float:
        return time.monotonic() + self._shift

    async def sleep(self, seconds: float) -> None:
        self._shift += max(0.0, seconds)
        await anyio.lowlevel.checkpoint()

    def fail_after(self, seconds: float) -> AbstractContextManager[Any]:
        return self._hurried(seconds)

    @contextmanager
    def _hurried(self, seconds: float) -> Iterator[None]:
        began = time.monotonic()
        try:
            with anyio.fail_after(seconds / self.faster):
                yield
        finally:
            self._shift += (time.monotonic() - began) * (self.faster - 1)


def route(head: str) -> str:
    """Method and path of a request's head."""
    method, target, _ = head.split(" ", 2)
    return f"{method} {urlsplit(target).path}"


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def tools(server: Callable[..., Any], runtime: Runtime, clock: HurriedClock) -> Callable[[str], Any]:
    """`async with tools(base) as call:` gives the tools over a service; `await call(name, arguments)`."""

    @asynccontextmanager
    async def opened(base: str) -> AsyncIterator[Callable[..., Any]]:
        own = runtime.environment
        environment = Environment(
            {**own.variables, "MERGESTORM_API_URL": base}, own.home, own.working_directory
        )
        async with connect_memory(server(environment), deadline=60) as client:
            await client.initialize()
            yield client.call

    return opened


@pytest.fixture
def honest(raw_service: Any, answer: Callable[..., bytes]) -> Any:
    """A service that answers every request as it should."""
    made: list[Any] = []

    async def handler(stream: Any, number: int) -> None:
        body = ANSWERS[route(made[-1].requests[number - 1])]
        await stream.send(answer(200, json.dumps(body).encode()))

    @asynccontextmanager
    async def running() -> AsyncIterator[Any]:
        async with raw_service(handler) as service:
            made.append(service)
            yield service

    return running


async def through(honest: Any, tools: Any, calls: dict[str, dict[str, Any]], **proxy: Any) -> dict[str, Any]:
    """Make every call through a proxy, each on connections of its own; the outcomes, and what the service got."""
    outcomes: dict[str, Any] = {}
    async with honest() as service:
        place = urlsplit(service.base)
        async with fault_proxy(place.hostname, place.port, **proxy) as (host, port):
            for name, arguments in calls.items():
                async with tools(f"http://{host}:{port}") as call:
                    outcomes[name] = await call(name, arguments)
        writes = [route(head) for head in service.requests if not head.startswith("GET ")]
        assert len(writes) == len(set(writes)), "a write was sent twice"
    return outcomes


def code_of(outcome: Any) -> str | None:
    """The code of a failed call; None for one that has none."""
    error = outcome.structured["error"]
    assert error["message"]
    code: str | None = error.get("code")
    return code


@pytest.mark.parametrize(
    "proxy",
    [
        {},
        {"upstream": Faults(latency=0.001), "downstream": Faults(latency=0.001)},
        {"upstream": Faults(dribble=1)},
        {"downstream": Faults(dribble=1)},
        {"upstream": Faults(dribble=7), "downstream": Faults(dribble=3)},
    ],
    ids=["nothing", "latency", "a byte at a time sent", "a byte at a time received", "pieces"],
)
async def test_a_slow_network_changes_no_answer(honest: Any, tools: Any, proxy: dict[str, Any]) -> None:
    outcomes = await through(honest, tools, EVERYTHING, **proxy)
    assert [name for name, outcome in outcomes.items() if outcome.result.get("isError")] == []
    assert outcomes["review_wait"].structured["status"] == "completed"
    assert outcomes["stack_wait"].structured["blocker"] == "Conflict"


async def never(_seconds: float) -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize("way", ["upstream", "downstream"])
async def test_a_network_that_holds_everything_back_is_a_timeout(
    honest: Any, tools: Any, clock: HurriedClock, way: str
) -> None:
    clock.faster = 100.0
    held = {way: Faults(latency=1.0), "sleep": never}
    outcomes = await through(honest, tools, {"review_list": {}, **WRITES}, **held)
    codes = {name: code_of(outcome) for name, outcome in outcomes.items()}
    assert set(codes.values()) == {"api_timeout"}
    waited = await through(honest, tools, WAITS, **held)
    assert waited["review_wait"].structured["status"] == "in_progress"
    assert waited["review_wait_pr"].structured["status"] == "in_progress"
    assert waited["stack_wait"].structured["status"] == "failed"


BROKEN = {
    "reset before the answer": {"downstream": Faults(reset_after=0)},
    "reset in the head": {"downstream": Faults(reset_after=20)},
    "reset in the body": {"downstream": Faults(reset_after=75)},
    "reset in the request": {"upstream": Faults(reset_after=30)},
    "ended before the answer": {"downstream": Faults(half_close_after=0)},
    "ended in the head": {"downstream": Faults(half_close_after=20)},
    "ended in the body": {"downstream": Faults(half_close_after=75)},
    "ended in the request": {"upstream": Faults(half_close_after=30)},
}


@pytest.mark.parametrize("proxy", BROKEN.values(), ids=BROKEN)
async def test_a_broken_connection_is_told_and_nothing_is_written_twice(
    honest: Any, tools: Any, proxy: dict[str, Any]
) -> None:
    outcomes = await through(honest, tools, {**READS, **WRITES}, **proxy)
    assert [name for name, outcome in outcomes.items() if not outcome.result.get("isError")] == []
    codes = {name: code_of(outcome) for name, outcome in outcomes.items()}
    assert codes.pop("stack_adopt") == "stack_adopt_failed"
    assert set(codes.values()) == {None}
    waited = await through(honest, tools, WAITS, **proxy)
    assert waited["review_wait"].structured["error"]["code"] == "review_failed"
    assert waited["review_wait"].structured["error"]["exit_code"] == 4
    assert waited["review_wait_pr"].structured["error"]["code"] == "review_failed"
    assert waited["stack_wait"].structured["status"] == "failed"
    assert waited["stack_wait"].structured["assessment"] == "unavailable"
    once = await through(honest, tools, SNAPSHOTS, **proxy)
    assert [name for name, outcome in once.items() if not outcome.result.get("isError")] == []


GARBAGE = {
    "noise": b"\x00\xff\x13 nothing of HTTP \r\n\r\n\xfe" * 50,
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n",
    "a status that is none": b"HTTP/1.1 abc OK\r\n\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "chunks that are none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
}


@pytest.mark.parametrize("noise", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_is_a_broken_connection(
    raw_service: Any, tools: Any, hangup: type[Exception], noise: bytes
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(noise)
        raise hangup

    async with raw_service(handler) as service:
        for name, arguments in {**READS, **WRITES, **SNAPSHOTS}.items():
            async with tools(service.base) as call:
                before = len(service.requests)
                outcome = await call(name, arguments)
                assert outcome.result["isError"] is True, name
                assert code_of(outcome) in {None, "stack_adopt_failed", "review_failed"}, name
                assert len(service.requests) - before == 1, name


async def test_ten_megabytes_are_read_and_what_is_kept_of_them_is_little(
    raw_service: Any, tools: Any, answer: Callable[..., bytes]
) -> None:
    made: list[Any] = []

    async def handler(stream: Any, number: int) -> None:
        body = {**ANSWERS[route(made[0].requests[number - 1])], "padding": "x" * 10_000_000}
        await stream.send(answer(200, json.dumps(body).encode()))

    async with raw_service(handler) as service:
        made.append(service)
        for name in ("whoami", "review_list", "issue_create", "review_wait", "stack_wait"):
            async with tools(service.base) as call:
                outcome = await call(name, EVERYTHING[name])
                assert not outcome.result.get("isError"), name
                assert len(json.dumps(outcome.result)) < 20_000, name


@pytest.mark.parametrize("name", ["whoami", "issue_create", "review_wait", "stack_wait", "review_wait_pr"])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_reply_without_an_end_is_given_up(
    raw_service: Any, tools: Any, name: str, status: int
) -> None:
    sent = 0

    async def handler(stream: Any, _number: int) -> None:
        nonlocal sent
        await stream.send(f"HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"%x\r\n" % 2**18 + b" " * 2**18 + b"\r\n"
        while True:
            await stream.send(piece)
            sent += 2**18

    async with raw_service(handler) as service, tools(service.base) as call:
        outcome = await call(name, EVERYTHING[name])
        assert outcome.result["isError"] is True
        assert outcome.structured["error"]["exit_code"] in {1, 4}
        with anyio.fail_after(5):
            await service.gone.wait()
        assert len(service.requests) == 1
        # What the buffers of two sockets hold comes on top of what was read.
        assert sent <= MAX_REPLY_BYTES + 16 * 2**20

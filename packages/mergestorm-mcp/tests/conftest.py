"""Shared by the tests of this package: the recorded vectors, a scripted service over real HTTP, a clock that waits in no time.

The vectors and their judge (`vectors/run.py`) are used as they are, so that a case means the same in memory as over
stdio; only the waiting differs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import anyio
import anyio.abc
import anyio.lowlevel
import httpx
import pytest

from mcpkit.testing import connect_memory
from mcpkit.testing.background import background
from mergestorm_mcp.api.client import Api, Connections
from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

VECTORS = Path(__file__).parent / "vectors"


def load_module(name: str, path: Path) -> ModuleType:
    """A file of the tests as a module: tests are no package to import from."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


JUDGE = load_module("mergestorm_vector_judge", VECTORS / "run.py")
API_KEY: str = JUDGE.API_KEY


class ShiftingClock:
    """Real time plus all the waiting that was asked for: sleeping takes no time and counts in full.

    Attributes:
        slept: every sleep, in order.
    """

    def __init__(self) -> None:
        self._shift = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return time.time() + self._shift

    def monotonic(self) -> float:
        return time.monotonic() + self._shift

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._shift += max(0.0, seconds)
        await anyio.lowlevel.checkpoint()

    def fail_after(self, seconds: float) -> AbstractContextManager[Any]:
        return anyio.fail_after(seconds)


class SimulatedClock:
    """Time that moves only when something sleeps; deadlines are the simulated transport's to keep."""

    def __init__(self) -> None:
        self.time = 1_790_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += max(0.0, seconds)
        await anyio.lowlevel.checkpoint()

    def fail_after(self, _seconds: float) -> AbstractContextManager[Any]:
        return nullcontext()


class SimulatedTransport(httpx.AsyncBaseTransport):
    """A network in simulated time: a function says what becomes of each request.

    The function gets the request and returns `(delay, answer)`: seconds until the answer, and status, JSON body and
    headers; or an exception to raise; or None for an answer that never comes. A delay beyond the request's time is a
    timeout at the end of that time.

    Attributes:
        requests: all requests, with the time they were made.
    """

    def __init__(self, clock: SimulatedClock, respond: Any) -> None:
        self._clock = clock
        self._respond = respond
        self.requests: list[tuple[float, httpx.Request]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await anyio.lowlevel.checkpoint()
        await request.extensions["trace"]("connection.connect_tcp.started", {})  # no connection is kept here
        self.requests.append((self._clock.time, request))
        limit = request.extensions["timeout"]["read"]
        delay, answer = self._respond(request)
        if answer is None or delay > limit:
            self._clock.time += limit
            raise httpx.ReadTimeout("no answer", request=request)
        self._clock.time += delay
        if isinstance(answer, Exception):
            raise answer
        status, body, headers = answer
        return httpx.Response(status, json=body, headers=headers)


class VectorCase(NamedTuple):
    """One recorded case."""

    theme: str
    name: str
    raw: dict[str, Any]


def recorded_cases() -> list[VectorCase]:
    cases = []
    for path in sorted(VECTORS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        cases += [VectorCase(document["theme"], case["name"], case) for case in document["cases"]]
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector_case" in metafunc.fixturenames:
        cases = recorded_cases()
        metafunc.parametrize("vector_case", cases, ids=[f"{case.theme} :: {case.name}" for case in cases])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def vector_judge() -> ModuleType:
    """The recorded cases' own judge."""
    return JUDGE


@pytest.fixture
def histories() -> ModuleType:
    """Random histories: the strategy `HISTORIES`, and `write_history(checkout, commits, base)`."""
    return load_module("mergestorm_histories", Path(__file__).with_name("histories.py"))


@pytest.fixture
def clock() -> ShiftingClock:
    return ShiftingClock()


@pytest.fixture
def simulated() -> Callable[[Any], tuple[Api, SimulatedClock, SimulatedTransport]]:
    """`simulated(respond)` makes a service in simulated time; see `SimulatedTransport`."""

    def made(respond: Any) -> tuple[Api, SimulatedClock, SimulatedTransport]:
        clock = SimulatedClock()
        transport = SimulatedTransport(clock, respond)
        return Api(Connections(transport), "http://127.0.0.1:1", API_KEY, clock), clock, transport

    return made


class ScriptedService:
    """The vectors' scripted service: real HTTP on loopback, one script at a time.

    Attributes:
        base: its address.
    """

    def __init__(self, service: Any) -> None:
        self._service = service
        self.base: str = service.base

    def play(
        self, exchanges: list[dict[str, Any]] | None = None, routes: list[dict[str, Any]] | None = None
    ) -> Any:
        """Answer from now on with these exchanges (in order) or routes (in any); returns the script to judge by."""
        case = {"exchanges": exchanges or []} if routes is None else {"routes": routes}
        script = JUDGE.Script(case)
        self._service.script = script
        return script


@pytest.fixture(scope="session")
def _http_service() -> Iterator[Any]:
    service = JUDGE.Service()
    yield service
    service.http.shutdown()
    service.http.server_close()


@pytest.fixture
def service(_http_service: Any) -> Iterator[ScriptedService]:
    yield ScriptedService(_http_service)
    _http_service.script = None


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """An empty home, a working directory (the sandbox root) and a folder outside of it, by those names."""
    made = {}
    for name in ("home", "work", "outside"):
        (tmp_path / name).mkdir()
        made[name] = str((tmp_path / name).resolve())
    return made


@pytest.fixture
def environment(folders: dict[str, str], service: ScriptedService) -> Environment:
    """A process environment with the scripted service and its key."""
    variables = {"MERGESTORM_API_URL": service.base, "MERGESTORM_API_KEY": API_KEY}
    return Environment(variables, folders["home"], folders["work"])


@pytest.fixture
async def runtime(environment: Environment, clock: ShiftingClock) -> AsyncIterator[Runtime]:
    """A runtime over the scripted service that waits in no time."""
    made = Runtime(environment=environment, clock=clock)
    yield made
    await made.aclose()


class Hangup(Exception):
    """Raised by a raw handler to reset its connection."""


class RawService:
    """A service that does what its handler does, byte by byte; one handler call a request.

    Attributes:
        base: its address.
        requests: head of every request, as text.
        connections: how many were accepted.
        gone: set when a client closed a connection on which an answer was owed.
    """

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self.base = ""
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.asked = anyio.Event()
        self.gone = anyio.Event()

    async def serve(self, stream: Any) -> None:
        self.connections += 1
        buffered = b""
        async with stream:
            try:
                while True:
                    while b"\r\n\r\n" not in buffered:
                        buffered += await stream.receive()
                    head, _, buffered = buffered.partition(b"\r\n\r\n")
                    lengths = [
                        line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                    ]
                    wanted = int(lengths[0].split(b":")[1]) if lengths else 0
                    while len(buffered) < wanted:
                        buffered += await stream.receive()
                    body, buffered = buffered[:wanted], buffered[wanted:]
                    self.requests.append(head.decode("latin-1"))
                    self.bodies.append(body)
                    self.asked.set()
                    buffered += await self._answer(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _answer(self, stream: Any) -> bytes:
        early: list[bytes] = []  # the next request may come while the handler still runs
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                try:
                    while True:
                        early.append(await stream.receive())
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    self.gone.set()

            group.start_soon(listen)
            try:
                await self._handler(stream, len(self.requests))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.gone.set()
            except Hangup:
                await stream.aclose()
            group.cancel_scope.cancel()
        return b"".join(early)


def http_answer(status: int, body: bytes, *headers: str, keep: bool = True) -> bytes:
    lines = [
        f"HTTP/1.1 {status} X",
        f"Content-Length: {len(body)}",
        "Content-Type: application/json",
        *headers,
    ]
    if not keep:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture
def answer() -> Callable[..., bytes]:
    """Builds an HTTP answer: status, body, header lines."""
    return http_answer


@pytest.fixture
def hangup() -> type[Exception]:
    """What a raw handler raises to end its connection."""
    return Hangup


@pytest.fixture
def raw_service() -> Callable[[Any], Any]:
    """`async with raw_service(handler) as service:`; the handler gets the stream and the request's number."""

    @asynccontextmanager
    async def running(handler: Any) -> AsyncIterator[RawService]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        made = RawService(handler)
        made.base = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        async with listener, background() as tasks:
            tasks.start_soon(listener.serve, made.serve)
            yield made
            tasks.cancel_scope.cancel()

    return running


@pytest.fixture(scope="session")
def _shared_server() -> tuple[Any, Runtime]:
    # Building twenty tools takes longer than a case; what differs between cases is in the runtime.
    from mergestorm_mcp.server import create

    runtime = Runtime(environment=Environment({}, "", ""))
    return create(runtime), runtime


@pytest.fixture
def server(
    _shared_server: tuple[Any, Runtime], runtime: Runtime, request: pytest.FixtureRequest
) -> Callable[[Environment | None], Any]:
    """The server over `runtime`, with another environment if one is given."""
    app, shared = _shared_server

    def over(environment: Environment | None = None) -> Any:
        shared.environment = environment or runtime.environment
        shared.clock = runtime.clock
        shared.jitter = runtime.jitter
        shared._connections = runtime.connections
        return app

    return over


class Checkout:
    """A real repository, driven by plain git as a user would.

    Attributes:
        path: top of the work tree.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str, data: bytes = b"", env: dict[str, str] | None = None) -> str:
        """Run git here, with a fixed identity and clock and nobody's configuration; its output without line ends."""
        output = self.git_bytes(*arguments, data=data, env=env)
        return output.decode("utf-8", "surrogateescape").rstrip("\n")

    def git_bytes(self, *arguments: str, data: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        """As `git`, the output as it comes."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**_GIT_ENVIRONMENT, **(env or {})},
            input=data,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def commit(self, contents: dict[str, bytes | None] | None = None, message: str = "change") -> str:
        """Write (or, for None, delete) files, commit everything, and return the commit's id."""
        for name, content in (contents or {}).items():
            target = self.path / name
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


_GIT_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.invalid",
    "GIT_AUTHOR_DATE": "1700000000 +0200",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "committer@example.invalid",
    "GIT_COMMITTER_DATE": "1700000001 -0330",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


@pytest.fixture
def make_checkout() -> Callable[..., Checkout]:
    """`make_checkout(path)` makes an empty repository with branch `main`."""

    def made(path: str | Path, *options: str) -> Checkout:
        Path(path).mkdir(parents=True, exist_ok=True)
        checkout = Checkout(Path(path))
        checkout.git("init", "--quiet", "-b", "main", *options, ".")
        checkout.git("config", "core.autocrlf", "false")
        return checkout

    return made


@pytest.fixture
def checkout(make_checkout: Callable[..., Checkout], folders: dict[str, str]) -> Checkout:
    """The working directory as a clone of kestrel-labs/tidepool: one commit on main, and branch `topic` checked out."""
    made = make_checkout(folders["work"])
    made.commit({"tide.txt": b"low\n"}, "first")
    made.git("remote", "add", "origin", "git@github.com:kestrel-labs/tidepool.git")
    made.git("update-ref", "refs/remotes/origin/main", "HEAD")
    made.git("checkout", "--quiet", "-b", "topic")
    return made


@pytest.fixture
def play_case(
    folders: dict[str, str],
    environment: Environment,
    clock: ShiftingClock,
    service: ScriptedService,
    server: Any,
) -> Callable[[dict[str, Any]], Awaitable[list[str]]]:
    """`await play_case(raw)` plays a recorded case in memory and returns what disagrees."""

    async def play(raw: dict[str, Any]) -> list[str]:
        context = {"api_base": service.base, "api_key": JUDGE.API_KEY, **folders}
        context["now"] = datetime.fromtimestamp(clock.now(), UTC)
        if "setup" in raw:
            JUDGE.prepare(JUDGE.fill(raw["setup"], context), context)
        for name, text in raw.get("home", {}).items():
            path = Path(folders["home"], name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(JUDGE.fill(text, context), encoding="utf-8")  # noqa: ASYNC240 - a few bytes, before anything runs
        variables = {**environment.variables, **JUDGE.fill(raw.get("env", {}), context)}
        own = Environment(
            {name: value for name, value in variables.items() if value is not None},
            folders["home"],
            folders["work"],
        )
        context["now"] = datetime.fromtimestamp(clock.now(), UTC)
        case = JUDGE.fill(
            {key: value for key, value in raw.items() if key not in {"setup", "home", "env"}}, context
        )
        app = server(own)
        script = service.play(case.get("exchanges"), case.get("routes"))
        async with connect_memory(app) as client:
            await client.initialize("2025-06-18")
            began = clock.monotonic()
            message = {"name": case["tool"], "arguments": case["arguments"]}
            reply = await client.exchange({
                "jsonrpc": "2.0",
                "id": 9,
                "method": "tools/call",
                "params": message,
            })
            took = clock.monotonic() - began
        faults: list[str] = JUDGE.judge(case, reply, script, took)
        return faults

    return play

"""Shared by the tests of this package: the recorded vectors, a scripted service over real HTTP, a clock that waits in no time.

The vectors and their judge (`vectors/run.py`) are used as they are, so that a case means the same in memory as over
stdio; only the waiting differs.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

VECTORS = Path(__file__).parent / "vectors"


def _load_judge() -> ModuleType:
    name = "mergestorm_vector_judge"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, VECTORS / "run.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


JUDGE = _load_judge()
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
def clock() -> ShiftingClock:
    return ShiftingClock()


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

"""Services and agents as processes, ended with the module that started them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .processes import Agent, Service

Serve = Callable[..., Service]
Hire = Callable[..., Agent]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for everything of one module; agents may read below it."""
    return tmp_path_factory.mktemp("ground").resolve()


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """`serve(scenario, speed=...)` starts a service, which ends with the module."""
    with ExitStack() as services:

        def started(scenario: str, speed: float) -> Service:
            service = Service(tmp_path_factory.mktemp("service").resolve(), scenario, speed)
            services.callback(service.kill)
            return service

        yield started


@pytest.fixture(scope="module")
def hire(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hire]:
    """`hire(**variables)` starts an agent's server in `ground`, which ends with the module."""
    with ExitStack() as agents:

        def hired(**variables: str) -> Agent:
            home = tmp_path_factory.mktemp("home").resolve()
            agent = Agent(ground, home, {"MERGESTORM_SANDBOX_ROOT": str(ground), **variables})
            agents.callback(agent.kill)
            return agent

        yield hired

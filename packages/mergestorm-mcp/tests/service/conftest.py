"""A service of one's own for a test: in this process, on a loopback socket, with an account and a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp.service.accounts.keys import add_key, create_account
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.http.serving import running
from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.world import World

OWNER = "rivka"
OWNER_KEY = "msk_live_key-of-rivka"
OTHER = "sam"
OTHER_KEY = "msk_live_key-of-sam"


@dataclass
class LocalService:
    """A running service.

    Attributes:
        url: where it listens.
        key: key of the account `rivka`; `sam` is the other account.
        world: its inside, to arrange things and to look.
    """

    url: str
    key: str
    world: World
    clients: ExitStack = field(default_factory=ExitStack, repr=False)

    def client(self, key: str | None = OWNER_KEY, **options: Any) -> httpx.Client:
        """A plain HTTP client with a key, not the package's own."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return self.clients.enter_context(
            httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=20, **options)
        )


Start = Callable[..., LocalService]


def people(world: World) -> None:
    """The two accounts every test knows."""
    with world.store.write() as connection:
        for login, key in ((OWNER, OWNER_KEY), (OTHER, OTHER_KEY)):
            account = create_account(world, connection, login)
            add_key(world, connection, account, "laptop", key=key)


@contextmanager
def starting(folder: Path) -> Iterator[Start]:
    """Gives a function that starts services, `start(pace=..., arrange=...)`, which end with the context."""
    with ExitStack() as open_things:

        def start(
            *, data: Path | None = None, pace: Pace | None = None, arrange: Callable[[World], object] = people
        ) -> LocalService:
            world = build(data or folder / "service", pace or Pace(scale=50))
            open_things.callback(world.store.close)
            arrange(world)
            url = open_things.enter_context(running(world))
            service = LocalService(url, OWNER_KEY, world)
            open_things.enter_context(service.clients)
            return service

        yield start


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[Start]:
    """Starts services: `start_service(pace=..., arrange=...)`."""
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    """Like `service`, but one for all tests of a module that change nothing in it."""
    with starting(tmp_path_factory.mktemp("untouched")) as start:
        yield start()


@pytest.fixture
def service(start_service: Start) -> LocalService:
    """A service with the accounts `rivka` and `sam` and nothing else, fifty times as fast as life."""
    return start_service()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """The inside of a service that is not served, with a clock that stands still."""
    from mergestorm_mcp.service.pace import ManualClock

    made = build(tmp_path / "world", Pace(ManualClock()))
    people(made)
    yield made
    made.store.close()

"""The service is killed with SIGKILL while it publishes, and started again: asking again finds or finishes the work, once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication
from mergestorm_mcp.service.assembly import build

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")

KEY = "msk_live_key-of-rivka"
SCENARIO = f"""\
title: One repository
accounts:
  - {{login: rivka, key: {KEY}}}
repositories:
  - name: kestrel-labs/tidepool
    people: {{rivka: write}}
    commits:
      - {{branch: main, message: first, files: {{tide.txt: low}}}}
    agents:
      ci: {{seconds: 3600}}
      reviewer: {{queued_seconds: 3600}}
"""
SERVE = """\
import os, signal, sys
from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.main import main
from mergestorm_mcp.service.publication import publish

def dies(function, when):
    def call(*arguments, **named):
        if armed() and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **named)
        if armed() and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

def armed():
    return sys._getframe(2).f_globals["__name__"] == publish.__name__

step, _, when = os.environ.get("DIES", "").partition(" ")
owner = {"store": Bare, "move": Bare, "_answer": publish, "register": publish, "on_head_changed": publish}.get(step)
if owner is not None:
    setattr(owner, step, dies(getattr(owner, step), when))
sys.exit(main())
"""


class Service:
    """A service in a process of its own, over a folder that outlives it."""

    def __init__(self, data: Path, scenario: Path) -> None:
        self._data = data
        self._scenario = scenario
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.repository = ""

    def start(self, dies: str = "") -> None:
        assert self.process is None
        command = [sys.executable, "-c", SERVE, "serve", "--json", "--speed", "1"]
        command += ["--data", str(self._data), "--scenario", str(self._scenario)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, "DIES": dies},
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.url = told["url"]
        self.repository = told["repositories"]["kestrel-labs/tidepool"]

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.gone()

    def gone(self) -> int:
        """Wait for the end of the process; its exit code."""
        assert self.process is not None
        assert self.process.stdout is not None
        code = self.process.wait(30)
        self.process.stdout.close()
        self.process = None
        return code

    def publish(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None if the service ended before it came."""
        headers = {"Authorization": f"Bearer {KEY}"}
        try:
            reply = httpx.post(
                f"{self.url}/api/v1/stacks/publish", json=body, headers=headers, timeout=30, trust_env=False
            )
        except httpx.TransportError:
            return None
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    def holds(self) -> dict[str, Any]:
        """Branches and rows, read while nobody serves them."""
        assert self.process is None
        world = build(self._data)
        try:
            with world.store.read() as connection:
                [repository] = world.hub.repositories(connection)
                pulls = [
                    (pull.number, pull.head_branch) for pull in world.hub.pulls(connection, repository.id)
                ]
                stacks = [row["id"] for row in connection.execute("SELECT id FROM stacks")]
                layers = [row["pull_number"] for row in connection.execute("SELECT pull_number FROM layers")]
            branches = world.hub.git(repository).branches()
            return {"branches": branches, "pulls": pulls, "stacks": stacks, "layers": layers}
        finally:
            world.store.close()


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Service]:
    scenario = tmp_path / "one.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    made = Service(tmp_path / "state", scenario)
    yield made
    made.kill()


@pytest.fixture
def request_body(
    killable: Service, tmp_path: Path, make_checkout: Any, request: pytest.FixtureRequest
) -> Callable[[], dict[str, Any]]:
    """Starts the service, to die where the test's parameter says; `request_body()` adds a commit to topic and is the
    request that publishes the branch."""
    killable.start(request.node.callspec.params["dies"] if hasattr(request.node, "callspec") else "")
    checkout = make_checkout(tmp_path / "checkout")
    checkout.git("fetch", "--quiet", killable.repository, "main")
    checkout.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    checkout.git("checkout", "--quiet", "-b", "topic")
    environment = Environment({}, str(tmp_path / "home"), str(checkout.path))

    def made() -> dict[str, Any]:
        checkout.commit({"a": os.urandom(32), f"dir/{os.urandom(4).hex()}": b"x"})
        wanted = PublishRequest(owner="kestrel-labs", repo="tidepool")
        return prepare_publication(environment, wanted).body

    return made


def check_once(service: Service, body: dict[str, Any], told: dict[str, Any]) -> None:
    """After a publication that went through: everything is there, and once."""
    assert told["state"] == "registered"
    assert told["head"]["sha"] == body["head_sha"]
    service.kill()
    assert service.holds() == {
        "branches": {"main": body["base_sha"], "topic": body["head_sha"]},
        "pulls": [(told["pull"]["number"], "topic")],
        "stacks": [told["stack"]["id"]],
        "layers": [told["pull"]["number"]],
    }


@pytest.mark.parametrize(
    "dies",
    [
        "store after", "move before", "move after", "register after", "on_head_changed after", "_answer after",
    ],
)  # fmt: skip
def test_a_service_that_dies_in_any_step_goes_on_from_there(
    killable: Service, request_body: Callable[[], dict[str, Any]], dies: str
) -> None:
    body = request_body()
    assert killable.publish(body) is None
    assert killable.gone() == -signal.SIGKILL
    held = killable.holds()
    moved = dies not in {"store after", "move before"}
    assert held["branches"].get("topic") == (body["head_sha"] if moved else None)
    assert (held["pulls"], held["stacks"], held["layers"]) == ([], [], [])
    killable.start()
    told = killable.publish(body)
    assert told is not None
    assert told["created"] == {"branch": not moved, "pull": True, "stack": True}
    assert told["resumed"] is moved
    check_once(killable, body, told)


def kill_at_random(
    service: Service, request_body: Callable[[], dict[str, Any]], rounds: int, seed: int
) -> dict[str, int]:
    """Publish one more commit in each round, kill meanwhile, start, ask again; what had happened by the kills."""
    chance = random.Random(seed)
    seen = {"before": 0, "between": 0, "after": 0}
    for _ in range(rounds):
        body = request_body()
        held = None
        process = service.process
        assert process is not None
        timer = threading.Timer(chance.uniform(0, 0.25), process.kill)
        timer.start()
        service.publish(body)
        timer.join()
        service.gone()
        held = service.holds()
        moved = held["branches"].get("topic") == body["head_sha"]
        kept = held["pulls"] == [(1, "topic")] and len(held["stacks"]) == len(held["layers"]) == 1
        assert kept or (held["pulls"], held["stacks"], held["layers"]) == ([], [], [])
        seen["after" if moved and kept else "between" if moved else "before"] += 1
        service.start()
        told = service.publish(body)
        assert told is not None
        check_once(service, body, told)
        service.start()
    return seen


@pytest.mark.slow
def test_a_service_killed_at_random_doubles_nothing_and_loses_nothing(
    killable: Service, request_body: Callable[[], dict[str, Any]]
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    seen = kill_at_random(killable, request_body, 3, seed)
    assert sum(seen.values()) == 3


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_service_killed_at_random_many_times(
    killable: Service, request_body: Callable[[], dict[str, Any]]
) -> None:
    seen = kill_at_random(killable, request_body, 19, 5)
    print(f"kills by what had happened: {seen}")
    assert sum(seen.values()) == 19

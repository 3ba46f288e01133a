"""`mg stack watch` in a process of its own against the local service: from a scenario to a landing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.scenarios import load, seed
from mergestorm_mcp.service.world import World

Start = Callable[..., Any]
SPEED = 300.0


def _start(start_service: Start, scenario: str) -> tuple[Any, str]:
    """A fast service with a scenario; the service and the scenario's key."""
    keys: list[str] = []

    def arrange(world: World) -> None:
        keys.extend(seed(world, load(scenario)).keys.values())

    service = start_service(pace=Pace(scale=SPEED), arrange=arrange)
    return service, keys[0]


def _mg(service: Any, key: str, folders: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    homes = {"HOME": folders["home"], "USERPROFILE": folders["home"]}
    own = {"MERGESTORM_API_URL": service.url, "MERGESTORM_API_KEY": key}
    return subprocess.run(
        [sys.executable, "-m", "mergestorm_mcp.mg.main", *words],
        env={**kept, **homes, **own},
        cwd=folders["work"],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def _only_stack(service: Any, key: str) -> str:
    stack_id: str = service.client(key).get("/api/v1/stacks").json()["stacks"][0]["id"]
    return stack_id


def _until_landed(service: Any, key: str, stack: str) -> None:
    client = service.client(key)
    deadline = time.monotonic() + 60
    seen = ""
    while time.monotonic() < deadline:
        query = {"stackId": stack, "landed": 1, "wait": 5, "seen": seen}
        answer = client.get("/api/v1/stacks/queue", params=query).json()
        if answer["landed"] is not None:
            return
        seen = answer["fingerprint"]
    raise AssertionError("it did not land in time")


def test_a_happy_scenario_is_watched_until_it_has_landed(
    start_service: Start, folders: dict[str, str]
) -> None:
    service, key = _start(start_service, "happy-landing")
    stack = _only_stack(service, key)
    watched = _mg(service, key, folders, "stack", "watch", stack)
    assert watched.returncode == 0, watched.stderr
    assert f"MS-WATCH LANDED stack={stack} reason=landed" in watched.stdout.splitlines()


def test_a_bounce_ends_the_watch_and_arming_again_ends_in_a_landing(
    start_service: Start, folders: dict[str, str]
) -> None:
    service, key = _start(start_service, "bounce-and-rearm")
    stack = _only_stack(service, key)
    watched = _mg(service, key, folders, "stack", "watch", stack)
    assert watched.returncode == 3, watched.stderr
    assert 'blocker="merge failed' in watched.stdout
    armed = service.client(key).patch(f"/api/v1/stacks/{stack}", json={"autoEnqueueWhenReady": True})
    assert armed.status_code == 200
    # A new watch carries no cursor, so it would name the bounce again until the stack is back in the queue.
    _until_landed(service, key, stack)
    watched = _mg(service, key, folders, "stack", "watch", stack)
    assert watched.returncode == 0, watched.stdout
    assert "MS-WATCH LANDED" in watched.stdout

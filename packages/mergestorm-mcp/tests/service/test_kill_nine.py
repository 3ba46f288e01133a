"""kill -9 in the middle of writes, and a restart on the same folder: nothing is doubled and nothing is lost.

Clients write as fast as they can until the service is killed under them. What was answered must be there afterwards;
what was not answered is sent again and must come out as if it had been sent once.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from .conftest import OWNER_KEY
from .test_local_reviews import submission

PATIENCE: Final = 60.0
WRITERS: Final = 4
SCENARIO: Final = f"""\
title: Killed
accounts:
  - login: rivka
    key: {OWNER_KEY}
    credits_limit: null
repositories:
  - name: acme/shop
    people: {{rivka: admin}}
    commits:
      - {{branch: main, message: First, files: {{README.md: "Hello\\n"}}}}
"""

Done = dict[str, dict[str, Any]]


@contextmanager
def serving(data: Path, scenario: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "mergestorm_mcp.service.main", "serve", "--json", "--speed", "50"]
    process = subprocess.Popen(
        [*command, "--data", str(data), "--scenario", str(scenario)],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.kill()


def send(client: httpx.Client, name: str) -> dict[str, Any]:
    """One write; the same name is the same write."""
    if name.startswith("review"):
        reply = client.post("/api/v1/reviews", json=submission(idempotency_key=name))
    else:
        reply = client.post("/api/v1/issues", json={"owner": "acme", "repo": "shop", "title": name})
    assert reply.status_code in {200, 201, 202}, reply.text
    body: dict[str, Any] = reply.json()
    return body


def identity(answer: dict[str, Any]) -> Any:
    return answer.get("job_id") or answer["number"]


def write_until_killed(
    url: str, writer: int, count: list[int], begun: list[str], done: Done, lock: threading.Lock
) -> None:
    with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
        client.headers["Authorization"] = f"Bearer {OWNER_KEY}"
        while True:
            with lock:
                count[0] += 1
                name = f"{('review', 'issue')[count[0] % 2]} {writer} {count[0]}"
                begun.append(name)
            try:
                answer = send(client, name)
            except httpx.TransportError:
                return
            with lock:
                done[name] = answer


def kill_and_check(tmp_path: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    data, scenario = tmp_path / "data", tmp_path / "killed.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    begun: list[str] = []
    done: Done = {}
    count, lock = [0], threading.Lock()
    for _ in range(rounds):
        with serving(data, scenario) as (url, process):
            threads = [
                threading.Thread(target=write_until_killed, args=(url, writer, count, begun, done, lock))
                for writer in range(WRITERS)
            ]
            enough = len(done) + chance.randint(3, 12)
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + PATIENCE
            while len(done) < enough and time.monotonic() < deadline:
                threads[0].join(0.001 * chance.random())
            process.kill()
            for thread in threads:
                thread.join(PATIENCE)
    with (
        serving(data, scenario) as (url, _),
        httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client,
    ):
        client.headers["Authorization"] = f"Bearer {OWNER_KEY}"
        again = {name: send(client, name) for name in begun}
        assert {name: identity(again[name]) for name in done} == {name: identity(done[name]) for name in done}
        reviews = [identity(answer) for name, answer in again.items() if name.startswith("review")]
        issues = [identity(answer) for name, answer in again.items() if name.startswith("issue")]
        assert len(set(reviews)) == len(reviews)
        assert sorted(issues) == list(range(1, len(issues) + 1)), (
            "numbers without a gap: none was made twice or lost"
        )
        assert client.get("/api/v1/me").json()["usage"]["standard"]["used"] == len(reviews), (
            "each charged once"
        )
        deadline = time.monotonic() + PATIENCE
        open_jobs = set(reviews)
        while open_jobs and time.monotonic() < deadline:
            job = next(iter(open_jobs))
            if client.get(f"/api/v1/reviews/{job}").json()["status"] == "completed":
                open_jobs.discard(job)
        assert not open_jobs, "what was due when it was killed still came about"


@pytest.mark.slow
def test_writes_survive_kill_nine_once_each(tmp_path: Path) -> None:
    kill_and_check(tmp_path, rounds=2, seed=5)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_writes_survive_very_many_kills_once_each(tmp_path: Path) -> None:
    kill_and_check(tmp_path, rounds=40, seed=6)

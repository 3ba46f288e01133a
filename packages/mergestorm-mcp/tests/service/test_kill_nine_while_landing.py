"""kill -9 while agents review, promote, queue and merge: after restarts every stack has landed exactly once."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from .test_kill_nine import PATIENCE, serving

KEY: Final = "msk_live_key-of-rivka"
_EVENTS: Final = 36
"""Events from the beginning to both landings, about."""

SCENARIO: Final = f"""\
title: Killed while landing
accounts:
  - login: rivka
    key: {KEY}
repositories:
  - name: acme/shop
    people: {{rivka: admin}}
    commits:
      - {{branch: main, message: First, files: {{README.md: "Hello\\n"}}}}
      - {{branch: alone, message: Alone, files: {{alone.txt: "alone\\n"}}}}
      - {{branch: lower, message: Lower, files: {{lower.py: "x = eval(y)\\n"}}}}
      - {{branch: upper, from: lower, message: Upper, files: {{upper.txt: "upper\\n"}}}}
    pulls:
      - {{head: alone, title: Alone, author: rivka}}
      - {{head: lower, title: Lower, author: rivka}}
      - {{head: upper, base: lower, title: Upper, author: rivka}}
    stacks:
      - {{account: rivka, head: alone}}
      - {{account: rivka, head: upper, auto_patch: true}}
    agents:
      patcher: {{fixes: [{{text: "eval(", with: "int("}}]}}
"""


def _state(url: str) -> tuple[list[dict[str, Any]], int]:
    """Stacks, and credits used."""
    with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        stacks: list[dict[str, Any]] = client.get("/api/v1/stacks/enrich").json()["stacks"]
        return stacks, client.get("/api/v1/me").json()["usage"]["standard"]["used"]


def _git(data: Path, *words: str) -> list[str]:
    folder = data / "repositories" / "acme" / "shop.git"
    told = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, check=True, encoding="utf-8"
    )
    return told.stdout.split("\n")[:-1]


def _count(data: Path, question: str) -> int:
    """A number out of the service's database, read beside it."""
    with closing(sqlite3.connect(f"file:{data / 'mergestorm.sqlite'}?mode=ro", uri=True)) as connection:
        return int(connection.execute(question).fetchone()[0])


def _handled(data: Path) -> int:
    return _count(data, "SELECT count(*) FROM timeline WHERE done_at IS NOT NULL")


def _landed(data: Path) -> bool:
    return _count(data, "SELECT count(*) FROM stacks WHERE landed_at IS NULL") == 0


def _over(stacks: list[dict[str, Any]]) -> bool:
    return all((stack["autoLandOff"] or {}).get("reason") == "landed" for stack in stacks)


def _kill_and_check(tmp_path: Path, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    data, scenario = tmp_path / f"data{seed}", tmp_path / "killed.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    enough = 0
    for _ in range(kills):
        with serving(data, scenario) as (_, process):
            enough = max(enough, _handled(data)) + chance.randint(1, _EVENTS // kills)
            deadline = time.monotonic() + PATIENCE
            while _handled(data) < enough and not _landed(data) and time.monotonic() < deadline:
                process.poll()
            process.kill()
            process.wait(PATIENCE)
    with serving(data, scenario) as (url, _):
        deadline = time.monotonic() + PATIENCE
        while not _over(_state(url)[0]):
            assert time.monotonic() < deadline, "it did not land in time"
        stacks, used = _state(url)
    assert [len(stack["layers"]) for stack in sorted(stacks, key=lambda item: len(item["layers"]))] == [1, 2]
    assert all(layer["state"] == "merged" for stack in stacks for layer in stack["layers"])
    merges = _git(data, "log", "--merges", "--format=%s", "main")
    assert sorted(merges) == [
        "Merge pull request #1 from alone",
        "Merge pull request #2 from lower",
        "Merge pull request #3 from upper",
        "Merge pull request #4 from mg-stack-1",
    ], "every merge once"
    assert _git(data, "show", "main:lower.py") == ["x = int(y)"]
    assert _git(data, "log", "--format=%s", "main", "--", "lower.py").count("Fix what the review found") == 1
    assert used == 4, "one credit for each head that was reviewed: alone, lower twice, upper"


@pytest.mark.slow
def test_stacks_land_exactly_once_whenever_the_service_is_killed(tmp_path: Path) -> None:
    _kill_and_check(tmp_path, seed=1, kills=3)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_stacks_land_exactly_once_after_very_many_kills(tmp_path: Path) -> None:
    for seed in range(2, 14):
        _kill_and_check(tmp_path, seed=seed, kills=5)

"""Ten real minutes of watching a stack on which nothing happens: by `mg stack watch`, and by an agent call after call."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from .conftest import Hire, Serve
from .processes import PATIENCE, Agent, environment, mg

MINUTES = 10
SAMPLE_SECONDS = 15
SCENARIO = """\
title: Nothing happens
accounts:
  - {login: rivka}
repositories:
  - name: kestrel-labs/tidepool
    people: {rivka: admin}
    commits:
      - {branch: main, message: First, files: {README.md: "# Tidepool\\n"}}
      - {branch: ebb, message: Ebb, files: {ebb.md: "The water goes.\\n"}}
    pulls:
      - {head: ebb, title: Ebb, author: rivka}
    stacks:
      - {account: rivka, head: ebb, auto_land: false}
    agents:
      ci: {seconds: 0}
      reviewer: {queued_seconds: 0, seconds: 0}
"""


def _watch(agent: Agent, stack: str, ended: threading.Event, told: list[str]) -> None:
    """Call stack_wait as every result says, until the ten minutes are over."""
    arguments = {"stack_id": stack}
    while not ended.is_set():
        data = agent.does("stack_wait", **arguments)
        told.append(data["status"])
        arguments = data["watch"]["next"]["args"]


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_ten_quiet_minutes_leave_memory_where_it_was(
    serve: Serve, hire: Hire, ground: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ground / "quiet.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    service = serve(str(file), speed=1)
    agent = hire(**service.variables())
    [stack] = [item["id"] for item in service.get("stacks")["stacks"]]
    deadline = time.monotonic() + PATIENCE
    while agent.does("stack_status", stack_id=stack)["stack"]["layers"][0]["vortexStatus"] != "all_clear":
        assert time.monotonic() < deadline
    variables = environment(ground / "watcher", **service.variables())
    watcher = mg(variables, ground, "stack", "watch", stack, "--max", str(MINUTES))
    ended, told = threading.Event(), list[str]()
    waiting = threading.Thread(target=_watch, args=(agent, stack, ended, told))
    waiting.start()
    assert service.process is not None
    assert agent.process is not None
    pids = {"mg": watcher.pid, "mergestorm-mcp": agent.process.pid, "mergestorm-local": service.process.pid}
    processes = {name: psutil.Process(pid) for name, pid in pids.items()}
    memory: dict[str, list[int]] = {name: [] for name in processes}
    try:
        for _ in range(MINUTES * 60 // SAMPLE_SECONDS - 1):
            ended.wait(SAMPLE_SECONDS)
            for name, process in processes.items():
                memory[name].append(process.memory_info().rss)
        output, errors = watcher.communicate(timeout=2 * PATIENCE)
    finally:
        watcher.kill()
        ended.set()
        waiting.join(PATIENCE)
    assert (watcher.returncode, output.strip(), errors) == (
        5,
        f"MS-WATCH TIMEOUT stack={stack} after={MINUTES}m",
        "",
    )
    assert set(told) == {"waiting"}
    grown = {}
    for name, samples in memory.items():
        early, late = max(samples[: len(samples) // 2]), max(samples[len(samples) // 2 :])
        grown[name] = late - early
        with capsys.disabled():
            print(
                f"\n{name}: {len(samples)} samples, {min(samples) / 2**20:.2f} to {max(samples) / 2**20:.2f} MiB, "
                f"second half against first {(late - early) / 2**10:+.0f} KiB",
                file=sys.stderr,
            )
    with capsys.disabled():
        print(f"{len(told)} waits of the agent", file=sys.stderr)
    assert all(bytes_ <= 2**20 for bytes_ in grown.values()), grown

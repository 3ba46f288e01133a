"""`mg stack watch` for ten real minutes, as a process: it keeps to its pace, its memory stays where it was, and it ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import psutil
import pytest

from mcpkit.testing import start_server

MINUTES = 10
SAMPLE_SECONDS = 15
STACK = "5f0c2a4e-6c1f-4f0e-9d7a-3b1c2d4e5f60"
LAYER = {
    "branch": "topic", "parentBranch": "main", "prNumber": 7, "position": 0, "state": "clean", "headSha": "a" * 40,
    "ciStatus": "success", "reviewStatus": "approved", "mergeable": True, "mergeableHeadSha": "a" * 40,
}  # fmt: skip


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.anyio
async def test_a_watch_of_ten_minutes_is_quiet_and_flat(
    folders: dict[str, str],
    raw_service: Any,
    answer: Callable[..., bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    stack = {
        "id": STACK,
        "owner": "o",
        "repo": "r",
        "trunkBranch": "main",
        "archivedAt": None,
        "layers": [LAYER],
    }

    async def handler(stream: Any, number: int) -> None:
        target = service.requests[number - 1].split(" ")[1]
        body: dict[str, Any] = {"stacks": [stack]}
        if "/queue" in target:
            held = parse_qs(urlsplit(target).query).get("wait", ["0"])[0]
            await anyio.sleep(float(held))  # as a service does where nothing changes
            body = {"entries": [], "fingerprint": "quiet"}
        await stream.send(answer(200, json.dumps(body).encode()))

    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    own = {
        "HOME": folders["home"],
        "USERPROFILE": folders["home"],
        "MERGESTORM_API_KEY": "msk_live_soak_012345",
    }
    command = [sys.executable, "-m", "mergestorm_mcp.mg.main", "stack", "watch", STACK, "--max", str(MINUTES)]
    memory: list[int] = []
    async with raw_service(handler) as service:
        environment = {**kept, **own, "MERGESTORM_API_URL": service.base}
        async with start_server(command, env=environment, cwd=folders["work"]) as process:
            with anyio.fail_after(60):
                await service.asked.wait()
            while process.returncode is None and len(memory) < MINUTES * 60 // SAMPLE_SECONDS + 8:
                await anyio.sleep(SAMPLE_SECONDS)
                if process.returncode is None:
                    memory.append(psutil.Process(process.pid).memory_info().rss)
            code = await process.wait(60)
            output, errors = process.output.decode(), process.stderr
        requests = len(service.requests)
    assert (code, output.strip(), errors) == (5, f"MS-WATCH TIMEOUT stack={STACK} after={MINUTES}m", "")
    early, late = max(memory[: len(memory) // 2]), max(memory[len(memory) // 2 :])
    with capsys.disabled():
        print(
            f"\nten minutes: {len(memory)} samples, {min(memory) / 2**20:.2f} to {max(memory) / 2**20:.2f} MiB, "
            f"second half against first {(late - early) / 2**10:+.0f} KiB, {requests} requests"
        )
    assert late - early <= 2**20
    # A held read of 45 s and a snapshot for each, and a first snapshot for each slice of five minutes.
    assert requests <= MINUTES * 60 / 45 * 2 + MINUTES / 5 * 4 + 4

"""A call that is cancelled lets go of the service, and of git, within a second; secrets stay out of every outcome."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


async def _begin(client: Any, tool: str, arguments: dict[str, Any]) -> None:
    params = {"name": tool, "arguments": arguments}
    await client.send({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params})


async def _cancel(client: Any) -> None:
    await client.notify("notifications/cancelled", {"requestId": 77, "reason": "enough"})


def _at(runtime: Runtime, base: str) -> Environment:
    return Environment(
        {**runtime.environment.variables, "MERGESTORM_API_URL": base},
        runtime.environment.home,
        runtime.environment.working_directory,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "last"),
    [
        ("review_submit", {"diff": DIFF, "wait": True, "timeout_s": 60}, 2),
        ("review_submit", {"diff": DIFF}, 1),
        ("stack_publish", {}, 1),
        ("stack_publish_status", {}, 1),
    ],
)
async def test_cancelling_closes_the_request(
    checkout: Any,
    server: Callable[..., Any],
    runtime: Runtime,
    raw_service: Any,
    answer: Any,
    tool: str,
    arguments: dict[str, Any],
    last: int,
) -> None:
    checkout.commit({"a": b"1\n"})
    held = anyio.Event()

    async def handler(stream: Any, number: int) -> None:
        if number < last:
            await stream.send(answer(202, b'{"job_id": "j"}'))
            return
        held.set()
        await anyio.sleep_forever()

    async with (
        raw_service(handler) as service,
        connect_memory(server(_at(runtime, service.base))) as client,
    ):
        await client.initialize()
        await _begin(client, tool, arguments)
        with anyio.fail_after(30):
            await held.wait()
        await _cancel(client)
        with anyio.fail_after(1):
            await service.gone.wait()


@pytest.mark.skipif(os.name == "nt", reason="the slow git is a shell script")
@pytest.mark.parametrize("tool", ["review_submit", "stack_publish", "stack_publish_status"])
async def test_cancelling_ends_the_git_that_runs(
    checkout: Any, server: Any, service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    checkout.commit({"a": b"1\n"})
    started, ended = tmp_path / "started", tmp_path / "ended"
    _make_slow_git(tmp_path / "git", started, ended, monkeypatch)
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        await _begin(client, tool, {})
        with anyio.fail_after(30):
            while not started.exists():  # noqa: ASYNC110 - another process brings it about
                await anyio.sleep(0.01)
        process = int(started.read_text(encoding="utf-8"))
        await _cancel(client)
        with anyio.fail_after(5):
            while _alive(process):  # noqa: ASYNC110 - as above
                await anyio.sleep(0.01)
    assert not ended.exists()
    assert script.leftovers() == []


def _make_slow_git(place: Path, started: Path, ended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("git")
    assert real is not None
    names = [shlex.quote(str(path)) for path in (started, ended)]
    place.write_text(
        f'#!/bin/sh\ncase "$*" in *version*|*show-object-format*) exec {shlex.quote(real)} "$@";; esac\n'
        f"echo $$ > {names[0]}.new && mv {names[0]}.new {names[0]}\nsleep 60\n: > {names[1]}\n",
        encoding="utf-8",
    )
    place.chmod(0o755)
    monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", str(place))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("tool", ["review_submit", "stack_publish", "stack_publish_status"])
@pytest.mark.parametrize("status", [200, 400, 409, 500])
async def test_a_key_that_the_service_echoes_reaches_no_client(
    checkout: Any,
    server: Callable[..., Any],
    runtime: Runtime,
    raw_service: Any,
    answer: Any,
    tool: str,
    status: int,
) -> None:
    key = "msk_live_canary_0123456789abcdef"
    checkout.commit({"a": b"1\n"})
    echo = dict.fromkeys(("message", "error", "reason", "job_id", "status", "state", "github_head"), key)

    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(status, json.dumps(echo).encode()))

    async with raw_service(handler) as service:
        own = _at(runtime, service.base)
        keyed = Environment({**own.variables, "MERGESTORM_API_KEY": key}, own.home, own.working_directory)
        async with connect_memory(server(keyed)) as client:
            await client.initialize()
            outcome = await client.call(tool, {})
        assert key in service.requests[0]
    assert key not in json.dumps(outcome.result)

"""A server, other readers and writers at the same time, each a process of its own: whole answers, old or new."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_stdio

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]

RAGIT = [sys.executable, "-P", "-m", "ragit_mcp.cli"]
COMMITS = 4
DOCUMENTS = 60


def written(version: int) -> dict[str, str]:
    """Documents of a version: each says which one it is of."""
    return {
        f"docs/{number}.md": f"# Anvil {number}\n\nThe anvil number {number} is of version{version}.\n"
        for number in range(DOCUMENTS)
    }


def versions(envelope: dict[str, Any]) -> set[str]:
    """The versions that the passages of an answer are of."""
    texts = [hit.get("text", hit.get("excerpt", "")) for hit in envelope["data"]["hits"]]
    return {word.strip(".") for text in texts for word in text.split() if word.startswith("version")}


async def test_answers_are_whole_and_the_newest_generation_is_served(
    plain: Any, server_program: list[str]
) -> None:
    plain.write(written(0))
    plain.ragit("init", "--yes")
    heads = [plain.commit()]
    plain.ragit("ingest")
    known = {heads[0]: "version0"}
    published = 1
    answered: list[tuple[str, set[str]]] = []
    refused: set[str] = set()
    finished = anyio.Event()

    async def write() -> None:
        nonlocal published
        for version in range(1, COMMITS + 1):
            await anyio.to_thread.run_sync(plain.write, written(version))
            head = await anyio.to_thread.run_sync(plain.commit)
            known[head] = f"version{version}"
            done = await anyio.run_process([*RAGIT, "ingest"], cwd=plain.root, env=plain.env, check=False)
            assert done.returncode == 0, done.stdout
            heads.append(head)
            published += 1
        finished.set()

    async def note(envelope: dict[str, Any]) -> None:
        if envelope["ok"]:
            answered.append((envelope["data"]["snapshotSha"], versions(envelope)))
        else:
            refused.add(envelope["error"]["code"])

    async def ask_server(client: Any) -> None:
        while not finished.is_set():
            question = {"question": "anvil number", "topK": 50, "view": "full"}
            await note((await client.call("ragit_query", question)).structured)
            earlier = {**question, "at": heads[0]}
            await note((await client.call("ragit_query", earlier)).structured)

    async def ask_command_line() -> None:
        while not finished.is_set():
            done = await anyio.run_process(
                [*RAGIT, "query", "anvil number", "--top-k", "50", "--view", "full", "--format", "json"],
                cwd=plain.root,
                env=plain.env,
                check=False,
                stderr=subprocess.DEVNULL,
            )
            await note(json.loads(done.stdout))

    argv = [*server_program, "--cwd", str(plain.root)]
    async with connect_stdio(argv, env=plain.env, deadline=100) as client:
        await client.initialize()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            tasks.start_soon(ask_server, client)
            tasks.start_soon(ask_command_line)
        last = (
            await client.call("ragit_query", {"question": "anvil number", "topK": 50, "view": "full"})
        ).structured
        assert await client.finish() == 0
        assert client.process.stderr == ""

    assert refused <= {"SNAPSHOT_NOT_INDEXED", "REPOSITORY_STATE_CHANGED"}
    assert {sha: found for sha, found in answered if found != {known[sha]}} == {}
    assert len(answered) >= COMMITS
    assert (last["data"]["snapshotSha"], versions(last)) == (heads[-1], {f"version{COMMITS}"})
    stores = list((plain.root / ".ragit" / "store").glob("*.db"))
    plain.ragit("ingest", "--all")
    assert len(list((plain.root / ".ragit" / "store").glob("*.db"))) == 1, stores


async def test_of_writers_at_the_same_time_each_is_done_or_told_to_retry(plain: Any) -> None:
    plain.write(written(0))
    plain.ragit("init", "--yes")
    plain.commit()
    codes: list[str] = []

    async def ingest() -> None:
        done = await anyio.run_process(
            [*RAGIT, "ingest", "--all"], cwd=plain.root, env=plain.env, check=False, stderr=subprocess.DEVNULL
        )
        reply = json.loads(done.stdout)
        codes.append("done" if reply["ok"] else reply["error"]["code"])

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ingest)
    assert "done" in codes
    assert set(codes) <= {"done", "STORE_WRITE_BUSY"}
    plain.ragit("doctor")

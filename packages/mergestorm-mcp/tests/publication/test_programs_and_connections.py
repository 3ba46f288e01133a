"""What the system sees of a publication: git that reads, one connection to the service, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_stdio

READS = {
    "version", "rev-parse", "symbolic-ref", "config", "merge-base", "rev-list", "cat-file", "diff-tree",
    "check-attr", "ls-files", "ls-tree",
}  # fmt: skip
PYTHON = {os.path.basename(name) for name in (sys.executable, os.path.realpath(sys.executable))}
STARTED = re.compile(r'execve\("([^"]+)", \[(.*?)\], .*= 0$')
CONNECTED = re.compile(r"connect\(\d+(?:<[^>]*>)?, (.*)\) = ")


def subcommand(words: list[str]) -> str:
    """What a git command line asks for."""
    at = 1
    while words[at].startswith("-"):
        at += 2 if words[at] in {"-c", "-C"} else 1
    return words[at] if words[at] != "--version" else "version"


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
async def test_no_program_but_git_runs_and_nobody_but_the_service_is_connected_to(
    checkout: Any, folders: dict[str, str], raw_service: Any, answer: Callable[..., bytes], tmp_path: Path
) -> None:
    report = tmp_path / "calls"
    trace = ["strace", "-f", "-qq", "-s", "8192", "-e", "trace=execve,execveat,connect", "-o", str(report)]
    if (await anyio.run_process([*trace, "true"], check=False)).returncode:
        pytest.skip("strace may not trace here")
    checkout.commit({"a": b"1\n"})

    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(403, b'{"error": "forbidden", "message": "not here"}'))

    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    homes = {
        "HOME": folders["home"],
        "USERPROFILE": folders["home"],
        "MERGESTORM_API_KEY": "msk_live_traced_0123",
    }
    async with raw_service(handler) as service:
        environment = {**kept, **homes, "MERGESTORM_API_URL": service.base}
        command = [*trace, sys.executable, "-m", "mergestorm_mcp.main"]
        async with connect_stdio(command, env=environment, cwd=folders["work"], deadline=120) as client:
            await client.initialize()
            for tool, arguments in (
                ("stack_publish", {}),
                ("stack_publish_status", {}),
                ("review_submit", {}),
                ("issue_create", {"title": "t"}),
            ):
                outcome = await client.call(tool, arguments)
                assert outcome.structured["error"], tool
            assert await client.finish() == 0
        port = int(service.base.rpartition(":")[2])
        assert len(service.requests) == 4
    lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    started = [match for line in lines if (match := STARTED.search(line))]
    programs = {os.path.basename(match[1]) for match in started}
    assert programs - PYTHON == {"git"}
    commands = {
        subcommand(re.findall(r'"((?:[^"\\]|\\.)*)"', match[2]))
        for match in started
        if match[1].endswith("git")
    }
    assert {"cat-file", "rev-list"} <= commands <= READS
    connected = {match[1] for line in lines if (match := CONNECTED.search(line))}
    assert connected
    assert {place for place in connected if f"sin_port=htons({port})" not in place} == set()

"""Repositories full of traps, as the recorded checker builds them, read by every command and tool in this process.

The checker itself starts a program for each command and takes minutes (`test_vectors_from_outside.py`); this takes
seconds and is part of the normal run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_memory
from ragit_mcp.cli import main
from ragit_mcp.server.tools import create

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name == "nt", reason="the traps are POSIX programs"),
    # The recorded checker is kept as it is.
    pytest.mark.filterwarnings("ignore::EncodingWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CHECKER = Path(__file__).parents[1] / "vectors" / "hostile.py"
MISSING = "deadbeef" * 5


@pytest.fixture(scope="module")
def checker() -> Any:
    """The checker as a module."""
    spec = importlib.util.spec_from_file_location("ragit_hostile_checker", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.OPT = argparse.Namespace(keep=False, v=False, timeout=60)
    return module


@pytest.fixture(params=["config", "hooks", "promisor", "bare", "links"])
def trap(request: pytest.FixtureRequest, checker: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A repository with traps; this process stands in it, with its environment."""
    built = checker.Trap(request.param)
    for name in [
        name for name in os.environ if name.startswith(("GIT_", "RAGIT_", "XDG_", "OPENAI_", "OLLAMA_"))
    ]:
        monkeypatch.delenv(name)
    for name, value in built.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(built.cwd)
    yield built
    built.close()


def sprung(trap: Any) -> list[str]:
    """The programs that ran."""
    log = Path(trap.log)
    return sorted(set(log.read_text(encoding="utf-8").split("\n"))) if log.exists() else []


def command_lines(head: str) -> list[list[str]]:
    return [
        ["status"],
        ["init", "--yes"],
        ["ingest", "--all", "--dry-run"],
        ["ingest", "--all"],
        ["ingest", "--all", "--strict-clean"],
        ["ingest", "--path", "docs/anvil.md"],
        ["ingest", "--files", "docs/*.md"],
        ["ingest", "--since", head],
        ["status"],
        ["query", "anvil drawer", "--view", "full"],
        ["query", "anvil", f"--at={head[:9]}"],
        ["query", "anvil", f"--at={MISSING}"],
        ["query", "anvil", "--at=deadbee"],
        ["query", "anvil", "--scope", "all"],
        ["context", "pack", "anvil"],
        ["doctor"],
        ["hooks", "status"],
        ["security", "audit"],
    ]


async def ask_server(place: str, head: str) -> list[Any]:
    """Every tool, on commits that are there and that are not."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ragit_status", {}),
        *(("ragit_query", {"question": "anvil outside marker quokka", "topK": 50, "view": "full", **more})
          for more in ({}, {"at": "HEAD"}, {"at": head[:8]}, {"at": MISSING}, {"at": "deadbee"}, {"scope": "all"})),
        ("ragit_context_pack", {"goal": "anvil", "view": "full"}),
    ]  # fmt: skip
    async with connect_memory(create(place)) as client:
        await client.initialize()
        return [(await client.call(tool, arguments)).structured for tool, arguments in calls]


def test_no_command_and_no_tool_springs_a_trap(
    trap: Any, checker: Any, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    head = trap.git("rev-parse", "HEAD", cwd=trap.root)
    Path(trap.log).unlink(missing_ok=True)
    before = trap.git_state()
    codes = {" ".join(arguments): main([*arguments, "--format", "both"]) for arguments in command_lines(head)}
    assert {line: code for line, code in codes.items() if code not in {0, 1, 2, 3, 4}} == {}
    replies = anyio.run(ask_server, trap.cwd, head)
    said = capsysbinary.readouterr()
    assert sprung(trap) == []
    assert trap.git_state() == before
    assert checker.OUTSIDE.encode() not in said.out + said.err
    assert checker.OUTSIDE not in repr(replies)
    kept = [path for path in (Path(trap.root) / ".ragit").rglob("*") if path.is_file()]
    assert [path for path in kept if checker.OUTSIDE.encode() in path.read_bytes()] == []
    # Where the repository can be read at all, it was: nothing here passes because nothing happened.
    indexed = codes["ingest --all"] == 0 and any(
        reply["ok"] and reply["data"].get("hits") for reply in replies
    )
    assert indexed or trap.variant == "bare", codes


@pytest.mark.parametrize(
    ("variant", "command"), [("config", "status"), ("hooks", "status"), ("bare", "status")]
)
def test_the_traps_spring_for_plain_git(checker: Any, variant: str, command: str) -> None:
    built = checker.Trap(variant)
    try:
        subprocess.run(
            ["git", command], cwd=built.cwd, env=built.env, capture_output=True, check=False, timeout=60
        )
        assert sprung(built)
    finally:
        built.close()


def test_a_directory_with_the_name_of_a_program_is_not_searched_for_it(tmp_path: Path) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\necho ran > '{tmp_path}/ran'\n", encoding="utf-8")
    fake.chmod(0o755)
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True, timeout=60)
    subprocess.run(
        [sys.executable, "-P", "-m", "ragit_mcp.cli", "status"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f".:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert not (tmp_path / "ran").exists()

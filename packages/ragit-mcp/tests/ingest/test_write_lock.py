"""One writer at a time, however the one before ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.ingest.files import ensure_directories
from ragit_mcp.ingest.lock import write_lock
from ragit_mcp.store import read_writer_state
from ragit_mcp.store.writer_state import classify, process_is_alive, read_transactions

Bench = Any

HOLDING = """
import sys
from ragit_mcp.ingest.lock import write_lock
with write_lock(sys.argv[1], command="holder", head_sha=None, wait_seconds=0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path) -> str:
    ensure_directories(str(tmp_path))
    return str(tmp_path)


@pytest.fixture
def holder(root: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def taking(root: str, wait: float = 0.0, **options: Any) -> Any:
    return write_lock(root, command="test", head_sha="a" * 40, wait_seconds=wait, **options)


def code_of(root: str, **options: Any) -> str:
    with pytest.raises(RagitError) as caught, taking(root, **options):
        pass
    return caught.value.code


def left_behind(root: str, **members: Any) -> Path:
    path = Path(root, ".ragit/runtime/store-write.lock")
    owner = {
        "schemaVersion": 1, "token": "t", "pid": 2**22 + 1, "hostname": socket.gethostname(),
        "startedAt": "2026-01-01T00:00:00Z", "command": "ragit ingest", **members,
    }  # fmt: skip
    path.write_text(json.dumps(owner), encoding="utf-8")
    return path


def test_the_lock_says_who_holds_it_and_is_gone_afterwards(root: str) -> None:
    with taking(root) as lock:
        state = read_writer_state(root)
        assert (state.state, lock.left_over) == ("active", None)
        shown = state.to_json()["owner"]
        assert shown["pid"] == os.getpid()
        assert shown["headSha"] == "a" * 40
        assert "token" not in shown
    assert read_writer_state(root).to_json() == {"state": "missing", "owner": None}


def test_a_second_writer_is_told_that_it_may_retry(root: str, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(RagitError) as caught, taking(root):
        pass
    assert (caught.value.code, caught.value.retryable) == ("STORE_WRITE_BUSY", True)
    assert caught.value.details["pid"] == holder.pid


def test_a_second_writer_in_the_same_process_is_kept_out_too(root: str) -> None:
    with taking(root):
        assert code_of(root) == "STORE_WRITE_BUSY"


def test_a_second_writer_waits_as_long_as_it_was_told(root: str, holder: subprocess.Popen[str]) -> None:
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            assert holder.stdin is not None
            holder.stdin.close()
            holder.wait(20)

    with taking(root, wait=5.0, clock=lambda: sum(waits), pause=pause) as lock:
        assert lock.waited
    assert len(waits) == 3
    assert code_of_after_deadline(root) == "STORE_WRITE_BUSY"


def code_of_after_deadline(root: str) -> str:
    waits: list[float] = []
    with taking(root):
        return code_of(root, wait=1.0, clock=lambda: sum(waits), pause=waits.append)


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_killed_writer_blocks_nobody_and_is_explained(root: str, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait(20)
    state = read_writer_state(root)
    assert state.state == "stale"
    with taking(root) as lock:
        assert lock.left_over is not None
        assert lock.left_over.pid == holder.pid
    assert read_writer_state(root).state == "missing"


def test_a_lock_of_another_kind_is_explained_and_never_stolen(root: str) -> None:
    path = left_behind(root)
    content = path.read_bytes()
    assert read_writer_state(root).state == "stale"
    assert code_of(root) == "STORE_WRITE_LOCK_STALE"
    assert path.read_bytes() == content
    left_behind(root, pid=os.getpid())
    assert code_of(root) == "STORE_WRITE_BUSY"


@pytest.mark.parametrize("mechanism", [None, "os-lock"])
def test_a_lock_of_another_machine_is_respected(root: str, mechanism: str | None) -> None:
    left_behind(root, hostname="elsewhere.example", mechanism=mechanism)
    assert read_writer_state(root).state == "unknown"
    assert code_of(root) == "STORE_WRITE_BUSY"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"token": 1}', b"[" * 10_000])
def test_a_lock_that_cannot_be_read_is_respected(root: str, content: bytes) -> None:
    Path(root, ".ragit/runtime/store-write.lock").write_bytes(content)
    assert read_writer_state(root).state == "unknown"
    assert code_of(root) == "STORE_WRITE_BUSY"


def test_only_the_owner_removes_the_lock(root: str) -> None:
    with taking(root):
        left_behind(root, token="somebody else's")
    assert Path(root, ".ragit/runtime/store-write.lock").exists()


def test_an_ingest_after_a_killed_one_says_so(workbench: Bench) -> None:
    workbench.commit({"docs/a.md": "# A\n\nA.\n"})
    workbench.ingest()
    left_behind(str(workbench.path), mechanism="os-lock")
    workbench.commit({"docs/a.md": "# A\n\nB.\n"})
    result = workbench.ingest()
    assert any("earlier ingest" in warning for warning in result.warnings)
    assert not any("earlier ingest" in warning for warning in workbench.ingest().warnings)


def test_an_ingest_while_another_one_writes_is_told(workbench: Bench) -> None:
    workbench.commit({"docs/a.md": "# A\n\nA.\n"})
    workbench.ingest()
    with taking(str(workbench.path)), pytest.raises(RagitError) as caught:
        workbench.ingest(lock_wait_seconds=0.0)
    assert caught.value.code == "STORE_WRITE_BUSY"


def test_processes_are_told_from_the_dead() -> None:
    assert process_is_alive(os.getpid())
    assert not process_is_alive(0)
    assert not process_is_alive(-5)
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait(20)
    assert not process_is_alive(done.pid)


# -- records of ingests


@pytest.mark.parametrize(
    ("phase", "status", "expected"),
    [
        ("prepared", "running", "precommit-incomplete"),
        ("store-written", "running", "precommit-incomplete"),
        ("store-verified", "failed-precommit", "precommit-incomplete"),
        ("manifest-committed", "running", "finalization-pending"),
        ("manifest-committed", "failed-postcommit", "finalization-pending"),
        ("completed", "completed", "completed"),
        ("completed", "running", "inconsistent"),
        ("prepared", "completed", "inconsistent"),
        ("prepared", "failed-postcommit", "inconsistent"),
        ("manifest-committed", "failed-precommit", "inconsistent"),
        ("nonsense", "running", "invalid"),
        ("prepared", "nonsense", "invalid"),
    ],
)
def test_every_record_has_a_class(phase: str, status: str, expected: str) -> None:
    assert classify({"schemaVersion": 1, "phase": phase, "status": status}) == expected


def test_records_are_summed_up(workbench: Bench) -> None:
    assert read_transactions(workbench.path).to_json()["summary"] == {
        "completed": 0, "precommitIncomplete": 0, "finalizationPending": 0, "inconsistent": 0, "invalid": 0,
    }  # fmt: skip
    commit = workbench.commit({"docs/a.md": "# A\n\nA.\n"})
    workbench.ingest()
    (workbench.path / ".ragit/runtime/transactions/x.json").write_bytes(b"{")
    found = read_transactions(workbench.path)
    assert (found.completed, found.invalid, found.pending) == (1, 1, ())
    assert found.last_completed is not None
    assert found.last_completed["targetHeadSha"] == commit
    workbench.commit({"docs/a.md": "# A\n\nB.\n"})
    workbench.ingest()
    found = read_transactions(workbench.path)
    assert (found.completed, found.invalid) == (2, 0)

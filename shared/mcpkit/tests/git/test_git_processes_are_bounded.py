"""Time, output and processes: whatever git does, the caller gets an answer and nothing is left running."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from mcpkit.git import GitError, Limits, Repository, git_version
from mcpkit.git import process as process_module
from mcpkit.git.process import find_git, run_git
from mcpkit.threads import run_in_thread

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script stands for git")

Git = Callable[..., bytes]
WaitUntil = Callable[[Callable[[], bool]], None]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """`fake_git(body)` puts a shell script in git's place; `$PIDS` names a file for process ids."""
    find_git()  # the real one is found, and GitPython imported with it, before the other takes its place
    run_git(["version"])

    def install(body: str) -> Path:
        script, pids = tmp_path / "fake-git", tmp_path / "pids"
        script.write_text(f"#!/bin/sh\nPIDS='{pids}'\necho $$ >> \"$PIDS\"\n{body}\n", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", str(script))
        return pids

    yield install
    process_module._find_git.cache_clear()


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        call()
    return caught.value.kind


def running(pids: Path) -> list[int]:
    """Which of the processes that wrote their ids still run; one nobody waited for yet does not."""
    found = []
    for line in pids.read_text(encoding="ascii").split():
        try:
            if psutil.Process(int(line)).status() != psutil.STATUS_ZOMBIE:
                found.append(int(line))
        except psutil.NoSuchProcess:
            continue
    return found


HANGS = 'sleep 1000 &\necho $! >> "$PIDS"\nwait'


def test_a_git_that_hangs_is_ended_with_all_it_started(
    fake_git: Callable[[str], Path], wait_until: WaitUntil
) -> None:
    pids = fake_git(HANGS)
    assert kind_of(lambda: run_git(["x"], limits=Limits(timeout=0.5))) == "timeout"
    assert len(pids.read_text(encoding="ascii").split()) == 2
    wait_until(lambda: running(pids) == [])


def test_a_git_that_ignores_the_polite_signals_is_ended_too(
    fake_git: Callable[[str], Path], wait_until: WaitUntil
) -> None:
    pids = fake_git("trap '' TERM INT HUP PIPE\nwhile :; do sleep 1; done")
    assert kind_of(lambda: run_git(["x"], limits=Limits(timeout=0.5))) == "timeout"
    wait_until(lambda: running(pids) == [])


def test_a_git_that_closes_its_output_and_stays_is_ended(
    fake_git: Callable[[str], Path], wait_until: WaitUntil
) -> None:
    pids = fake_git("exec >&- 2>&-\nexec sleep 1000")
    assert kind_of(lambda: run_git(["x"], limits=Limits(timeout=0.5))) == "timeout"
    wait_until(lambda: running(pids) == [])


def test_a_cancellation_ends_git_at_once(fake_git: Callable[[str], Path], wait_until: WaitUntil) -> None:
    pids = fake_git(HANGS)
    cancelled = threading.Event()
    outcome: list[str] = []
    worker = threading.Thread(
        target=lambda: outcome.append(kind_of(lambda: run_git(["x"], cancel=cancelled.is_set)))
    )
    worker.start()
    wait_until(lambda: pids.exists() and len(pids.read_text(encoding="ascii").split()) == 2)
    cancelled.set()
    worker.join(20)
    assert outcome == ["cancelled"]
    wait_until(lambda: running(pids) == [])


def test_what_was_cancelled_before_is_not_started(fake_git: Callable[[str], Path]) -> None:
    pids = fake_git("exit 0")
    assert kind_of(lambda: run_git(["x"], cancel=lambda: True)) == "cancelled"
    assert not pids.exists()


@pytest.mark.anyio
async def test_a_cancelled_task_takes_its_git_with_it(
    fake_git: Callable[[str], Path], wait_until: WaitUntil
) -> None:
    pids = fake_git(HANGS)
    async with anyio.create_task_group() as group:
        group.start_soon(run_in_thread, lambda cancel: run_git(["x"], cancel=cancel))
        await anyio.to_thread.run_sync(
            wait_until, lambda: pids.exists() and len(pids.read_text(encoding="ascii").split()) == 2
        )
        group.cancel_scope.cancel()
    await anyio.to_thread.run_sync(wait_until, lambda: running(pids) == [])


@pytest.mark.anyio
async def test_a_task_gets_the_answer_of_its_git(fake_git: Callable[[str], Path]) -> None:
    fake_git("echo answer")
    answer = await run_in_thread(lambda cancel: run_git(["x"], cancel=cancel))
    assert (answer.code, answer.output) == (0, b"answer\n")


def test_an_answer_that_never_ends_is_cut_off(fake_git: Callable[[str], Path], wait_until: WaitUntil) -> None:
    pids = fake_git("exec yes")
    assert kind_of(lambda: run_git(["x"], limits=Limits(output_bytes=100_000))) == "output_too_large"
    wait_until(lambda: running(pids) == [])


def test_an_answer_of_exactly_the_limit_is_whole(fake_git: Callable[[str], Path]) -> None:
    fake_git("printf 1234567890")
    assert run_git(["x"], limits=Limits(output_bytes=10)).output == b"1234567890"
    assert kind_of(lambda: run_git(["x"], limits=Limits(output_bytes=9))) == "output_too_large"


def test_complaints_without_end_are_drained_and_only_the_first_are_kept(
    fake_git: Callable[[str], Path],
) -> None:
    fake_git("head -c 5000000 /dev/zero | tr '\\0' e >&2\necho done\nexit 3")
    answer = run_git(["x"])
    assert (answer.code, answer.output) == (3, b"done\n")
    assert len(answer.errors) == process_module._STDERR_KEPT


def test_a_git_that_does_not_read_its_input_does_not_block_the_caller(
    fake_git: Callable[[str], Path],
) -> None:
    fake_git("exit 1")
    assert run_git(["x"], data=b"x" * 10_000_000).code == 1


def test_input_and_output_of_any_size_flow_at_the_same_time(fake_git: Callable[[str], Path]) -> None:
    fake_git("exec cat")
    data = os.urandom(5_000_000)
    assert run_git(["x"], data=data).output == data


def test_no_descriptor_or_thread_is_left_by_any_outcome(fake_git: Callable[[str], Path]) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("counts open files through /proc")
    fake_git('case "$*" in *hang) sleep 1000;; *flood) exec yes;; *) cat;; esac')

    def once() -> None:
        run_git(["x"], data=b"data")
        kind_of(lambda: run_git(["hang"], limits=Limits(timeout=0.2)))
        kind_of(lambda: run_git(["flood"], limits=Limits(output_bytes=1000)))

    once()
    before = (len(os.listdir("/proc/self/fd")), threading.active_count())
    once()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


def test_a_caller_that_is_killed_leaves_no_batch_process(
    sha1_repository: Path, tmp_path: Path, wait_until: WaitUntil
) -> None:
    script = (
        "import os, sys, psutil\n"
        "from mcpkit.git import GitError, Repository\n"
        "with Repository.open(sys.argv[1]).blobs() as reader:\n"
        "    try: reader.header('1' * 40)\n"
        "    except GitError: pass\n"
        "    pids = [str(child.pid) for child in psutil.Process().children()]\n"
        "    open(sys.argv[2], 'w', encoding='ascii').write(chr(10).join(pids))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    pids = tmp_path / "pids"
    subprocess.run([sys.executable, "-c", script, str(sha1_repository), str(pids)], check=False, timeout=60)
    assert pids.read_text(encoding="ascii")
    wait_until(lambda: running(pids) == [])


class TestWhichGit:
    def test_a_machine_without_git_is_told_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("GIT_PYTHON_GIT_EXECUTABLE", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert kind_of(git_version) == "git_missing"

    def test_a_named_git_that_is_not_there_is_told(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", str(tmp_path / "none"))
        assert kind_of(git_version) == "git_missing"

    @pytest.mark.parametrize("version", ["2.31.9", "1.9", "2.9.5"])
    def test_an_old_git_is_refused(self, fake_git: Callable[[str], Path], version: str) -> None:
        fake_git(f"echo git version {version}")
        process_module._version_of.cache_clear()
        assert kind_of(git_version) == "git_too_old"

    @pytest.mark.parametrize(
        ("words", "version"),
        [
            ("2.32.0", (2, 32, 0)),
            ("2.39.5 (Apple Git-154)", (2, 39, 5)),
            ("2.45.1.windows.1", (2, 45, 1)),
            ("2.50", (2, 50)),
            ("3.0.0-rc1", (3, 0, 0)),
        ],
    )
    def test_versions_are_understood_as_vendors_write_them(
        self, fake_git: Callable[[str], Path], words: str, version: tuple[int, ...]
    ) -> None:
        fake_git(f"echo 'git version {words}'")
        process_module._version_of.cache_clear()
        assert git_version() == version
        process_module._version_of.cache_clear()

    @pytest.mark.parametrize("body", ["echo something else", "exit 1", "echo git version x; exit 0"])
    def test_a_program_that_is_no_git_is_not_used(self, fake_git: Callable[[str], Path], body: str) -> None:
        fake_git(body)
        process_module._version_of.cache_clear()
        assert kind_of(git_version) == "git_missing"

    def test_a_missing_gitpython_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process_module, "_starter", None)
        monkeypatch.setitem(sys.modules, "git.cmd", None)
        assert kind_of(lambda: run_git(["version"])) == "gitpython_missing"

    def test_importing_gitpython_leaves_the_environment_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process_module, "_starter", None)
        before = dict(os.environ)
        run_git(["version"])
        assert dict(os.environ) == before


def test_many_threads_may_ask_at_once(sha1_repository: Path, commit_files: Callable[..., str]) -> None:
    oid = commit_files(sha1_repository, {"a": b"a"})
    opened = Repository.open(sha1_repository)
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(opened.resolve())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == [oid] * 8

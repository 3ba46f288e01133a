"""Whatever fails, and wherever it is killed: a reader has the older state or the newer one, never half of one."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.ingest import generation
from ragit_mcp.store.writer_state import read_transactions

Bench = Any

OLD = ["The anvil stands in the yard."]
NEW = ["The bellows stands in the yard.", "A second passage."]
OLDER = {"docs/one.md": "# Note\n\nThe anvil stands in the yard.\n"}
NEWER = {"docs/one.md": "# Note\n\nThe bellows stands in the yard.\n\n# More\n\nA second passage.\n"}


class Faults:
    """Makes the n-th operation of a kind fail; counts them all."""

    def __init__(self, at: int, error: int = errno.ENOSPC) -> None:
        self.at = at
        self.error = error
        self.count = 0

    def pass_or_fail(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise OSError(self.error, "made to fail")

    @property
    def reached(self) -> bool:
        return self.count >= self.at


def code_of(call: Callable[[], object]) -> str | None:
    """The code of the error that a call ends with; None if it succeeds."""
    try:
        call()
    except RagitError as error:
        return error.code
    return None


def state_of(bench: Bench, first: str, second: str) -> tuple[list[str] | str, list[str]]:
    """What a reader has of the two commits."""
    return code_of(lambda: bench.texts(second)) or bench.texts(second), bench.texts(first)


def check_old_or_new(bench: Bench, first: str, second: str, *, succeeded: bool) -> None:
    newer, older = state_of(bench, first, second)
    assert older == OLD
    if succeeded:
        assert newer == NEW
    else:
        assert newer in ("SNAPSHOT_NOT_INDEXED", NEW)


def check_recovery(bench: Bench, first: str, second: str) -> None:
    bench.ingest()
    assert state_of(bench, first, second) == (NEW, OLD)
    assert len(bench.generations()) == 1
    assert not list((bench.path / ".ragit").rglob("*.tmp"))
    found = read_transactions(bench.path)
    assert (found.pending, found.invalid) == ((), 0)
    with bench.store() as store:
        store.check()


@pytest.fixture
def prepared(make_workbench: Callable[[str], Bench]) -> Callable[[str], tuple[Bench, str, str]]:
    """Repositories with one indexed commit and one that is not."""

    def make(name: str) -> tuple[Bench, str, str]:
        bench = make_workbench(name)
        first = bench.commit(OLDER)
        bench.ingest()
        return bench, first, bench.commit(NEWER)

    return make


def run_until_nothing_fails(
    prepared: Callable[[str], tuple[Bench, str, str]],
    install: Callable[[Faults], Any],
    error: int,
) -> int:
    """Fail the n-th operation for n = 1.. until the ingest succeeds without reaching it; how often one failed."""
    for at in range(1, 2000):
        bench, first, second = prepared(f"fault-{at}")
        faults = Faults(at, error)
        with install(faults):
            code = code_of(bench.ingest)
        # The latter where git could not be started.
        assert code in {None, "INGEST_STORE_WRITE_UNVERIFIED", "REPOSITORY_UNUSABLE"}
        check_old_or_new(bench, first, second, succeeded=code is None)
        check_recovery(bench, first, second)
        if not faults.reached:
            return at - 1
    raise AssertionError("it never succeeded")


class _Patched:
    """Functions of `os` that go through the faults, while the block lasts."""

    def __init__(
        self, faults: Faults, names: tuple[str, ...], only: Callable[[tuple[Any, ...]], bool]
    ) -> None:
        self._faults = faults
        self._only = only
        self._real = {name: getattr(os, name) for name in names}

    def __enter__(self) -> None:
        for name, real in self._real.items():
            setattr(os, name, self._wrapped(real))

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _wrapped(self, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._only(arguments):
                self._faults.pass_or_fail()
            return real(*arguments, **named)

        return call


def anything(_: tuple[Any, ...]) -> bool:
    return True


def opened_for_writing(arguments: tuple[Any, ...]) -> bool:
    return len(arguments) > 1 and bool(arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("names", "only"),
    [
        (("write", "fsync"), anything),
        (("replace", "rename", "mkdir"), anything),
        (("open",), opened_for_writing),
    ],
    ids=["write and fsync", "rename", "open"],
)
def test_any_failing_operation_on_files_leaves_old_or_new(
    prepared: Callable[[str], tuple[Bench, str, str]], names: tuple[str, ...], only: Callable[[Any], bool]
) -> None:
    failed = run_until_nothing_fails(prepared, lambda faults: _Patched(faults, names, only), errno.EIO)
    assert failed > 3


class _FaultyFile(apsw.VFSFile):
    faults: Faults | None = None

    def __init__(self, filename: Any, flags: list[int]) -> None:
        super().__init__("", filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._fail(apsw.FullError)
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self._fail(apsw.IOError)
        super().xTruncate(size)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._fail(apsw.IOError)
        return super().xRead(amount, offset)

    def _fail(self, kind: type[Exception]) -> None:
        if _FaultyFile.faults is not None:
            try:
                _FaultyFile.faults.pass_or_fail()
            except OSError as error:
                raise kind("made to fail") from error


class _FaultyFiles(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("ragit-faults", "")

    def xOpen(self, name: Any, flags: list[int]) -> _FaultyFile:
        return _FaultyFile(name, flags)


@pytest.fixture
def faulty_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Faults], Any]]:
    """Lets SQLite's reads and writes of the new generation go through the faults."""
    files = _FaultyFiles()

    class Installed:
        def __init__(self, faults: Faults) -> None:
            self._faults = faults

        def __enter__(self) -> None:
            _FaultyFile.faults = self._faults
            monkeypatch.setattr(generation, "database_vfs", "ragit-faults")

        def __exit__(self, *_: object) -> None:
            _FaultyFile.faults = None
            monkeypatch.setattr(generation, "database_vfs", None)

    yield Installed
    files.unregister()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_any_failing_operation_on_the_database_leaves_old_or_new(
    prepared: Callable[[str], tuple[Bench, str, str]], faulty_database: Callable[[Faults], Any]
) -> None:
    assert run_until_nothing_fails(prepared, faulty_database, errno.ENOSPC) > 3


def test_a_full_disk_is_told_as_such(
    prepared: Callable[[str], tuple[Bench, str, str]], faulty_database: Callable[[Faults], Any]
) -> None:
    bench, _, _ = prepared("full")
    for at in range(1, 200):
        with faulty_database(Faults(at)), pytest.raises(RagitError) as caught:
            bench.ingest()
        if caught.value.details["reason"] == "disk_full":
            assert (caught.value.code, caught.value.retryable) == ("INGEST_STORE_WRITE_UNVERIFIED", True)
            return
    raise AssertionError("no write was reached")


# -- killed

INGESTING = """
import sys
from ragit_mcp.ingest import ingest
print("ready", flush=True)
ingest(sys.argv[1])
"""


def start_ingest(bench: Bench) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", INGESTING, str(bench.path)],
        env={**os.environ, **bench.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill_at_random(make: Callable[[str], Bench], kills: int, seed: int) -> int:
    """Kill ingests of one repository at random moments until so many were killed; how many were started."""
    bench = make(f"killed-{seed}")
    texts = {f"docs/{number}.md": f"# T{number}\n\n" + f"word{number} text. " * 40 for number in range(40)}
    bench.commit(texts)
    with start_ingest(bench) as process:
        assert process.wait(60) == 0
    chance = random.Random(seed)
    killed = started = 0
    indexed = [bench.git("rev-parse", "HEAD")]
    span = 1.0
    while killed < kills:
        started += 1
        assert started <= kills * 4, "hardly an ingest is still running when it is killed"
        commit = bench.commit({"docs/7.md": f"# T7\n\nchange {started}\n"})
        with start_ingest(bench) as process:
            timer = threading.Timer(chance.uniform(0, span), process.send_signal, [signal.SIGKILL])
            timer.start()
            code = process.wait(60)
            timer.cancel()
            timer.join()
        killed += code != 0
        # Kills that come too late teach nothing, those that come too early little: aim at the ingest itself.
        span = max(0.05, span * (0.9 if code == 0 else 1.1))
        for known in indexed:
            assert len(bench.texts(known)) == 40
        outcome = code_of(lambda: bench.texts(commit))  # noqa: B023
        if outcome is None:
            assert f"change {started}" in bench.texts(commit)
            indexed.append(commit)
        else:
            assert (outcome, code != 0) == ("SNAPSHOT_NOT_INDEXED", True)
        if chance.random() < 0.5:
            bench.ingest()
            assert f"change {started}" in bench.texts(commit)
            if commit not in indexed:
                indexed.append(commit)
            assert len(bench.generations()) == 1
        indexed = indexed[-3:]
    bench.ingest()
    with bench.store() as store:
        store.check()
    return started


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_an_ingest_killed_at_a_random_moment_leaves_old_or_new(
    make_workbench: Callable[[str], Bench],
) -> None:
    assert kill_at_random(make_workbench, kills=4, seed=1) >= 4


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_fifty_ingests_killed_at_random_moments_leave_old_or_new(
    make_workbench: Callable[[str], Bench],
) -> None:
    started = kill_at_random(make_workbench, kills=50, seed=2)
    print(f"50 ingests killed of {started} started")


@pytest.mark.slow
def test_readers_and_a_writer_at_the_same_time_see_whole_snapshots(workbench: Bench) -> None:
    commits = [workbench.commit({"docs/one.md": "# T\n\nversion 0\n"})]
    workbench.ingest()
    failures: list[BaseException] = []
    finished = threading.Event()

    def read() -> None:
        try:
            while not finished.is_set():
                for number, commit in enumerate(list(commits)):
                    assert workbench.texts(commit) == [f"version {number}"]
        except BaseException as error:  # noqa: BLE001 - reported by the test
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(1, 8):
        commit = workbench.commit({"docs/one.md": f"# T\n\nversion {number}\n"})
        workbench.ingest()
        commits.append(commit)
    finished.set()
    for thread in threads:
        thread.join()
    assert failures == []

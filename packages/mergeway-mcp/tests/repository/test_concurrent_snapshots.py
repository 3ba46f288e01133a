"""Many threads may ask at once, give up half-way, and always see whole files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository
from mergeway_mcp.repository.reading import FileSystem

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = (
    "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: [d/*.yaml], fields: {id: string}}\n"
)


class GivenUpError(Exception):
    """What a caller raises from its checkpoint."""


@pytest.fixture
def root(write_repository: Write) -> Path:
    files = {f"d/{number:02}.yaml": f"id: '{number}'\nv: 0\nw: 0\n" for number in range(20)}
    return write_repository({"mergeway.yaml": CONFIG, **files})


def test_readers_see_whole_files_while_writers_replace_them(root: Path) -> None:
    repository = Repository(str(root))
    done = threading.Event()

    def write() -> None:
        for value in range(1, 120):
            for number in range(0, 20, 7):
                new = root / f"new-{number}"
                new.write_text(f"id: '{number}'\nv: {value}\nw: {value}\n", encoding="utf-8")
                os.replace(new, root / f"d/{number:02}.yaml")
        done.set()

    def read() -> int:
        newest = looks = 0
        while not done.is_set() or not looks:
            looks += 1
            snapshot = repository.snapshot()
            records = snapshot.export()["K"]
            assert len(records) == 20
            assert all(record["v"] == record["w"] for record in records)
            value = snapshot.get("K", "0")["fields"]["v"]
            assert value >= newest
            newest = value
        return newest

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        pool.submit(write).result()
        for reader in readers:
            reader.result()
    assert repository.snapshot().get("K", "0")["fields"] == {"id": "0", "v": 119, "w": 119}


def test_a_request_never_gets_a_state_from_before_it_began(root: Path) -> None:
    repository = Repository(str(root))
    counter = iter(range(1, 10_000))
    lock = threading.Lock()

    def change_and_look() -> None:
        for _ in range(25):
            with lock:
                value = next(counter)
                new = root / "new"
                new.write_text(f"id: '0'\nv: {value}\nw: {value}\n", encoding="utf-8")
                os.replace(new, root / "d/00.yaml")
            assert repository.snapshot().get("K", "0")["fields"]["v"] >= value

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(change_and_look) for _ in range(4)]:
            future.result()


def test_giving_up_between_files_leaves_the_repository_usable(root: Path) -> None:
    repository = Repository(str(root))
    for files in range(30):
        left = files

        def checkpoint() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise GivenUpError

        try:
            repository.snapshot(checkpoint)
        except GivenUpError:
            continue
        break
    else:
        raise AssertionError("the checkpoint was never reached to the end")
    assert len(repository.snapshot().objects("K")) == 20


def test_a_warm_request_can_be_given_up_too(root: Path) -> None:
    repository = Repository(str(root))
    repository.snapshot()

    def checkpoint() -> None:
        raise GivenUpError

    with pytest.raises(GivenUpError):
        repository.snapshot(checkpoint)
    assert len(repository.snapshot().objects("K")) == 20


def test_a_request_that_waits_for_another_can_be_given_up(root: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow_stat(path: str) -> os.stat_result:
        entered.set()
        assert leave.wait(60)
        return os.stat(path)

    repository = Repository(str(root), system=FileSystem(stat=slow_stat))

    def checkpoint() -> None:
        raise GivenUpError

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(repository.snapshot)
        assert entered.wait(60)
        with pytest.raises(GivenUpError):
            repository.snapshot(checkpoint)
        leave.set()
        assert len(first.result().objects("K")) == 20


def test_a_snapshot_once_taken_does_not_change(root: Path) -> None:
    repository = Repository(str(root))
    before = repository.snapshot()
    (root / "d/00.yaml").write_text("id: '0'\nv: 9\nw: 9\n", encoding="utf-8")
    (root / "d/01.yaml").unlink()
    repository.snapshot()
    assert before.get("K", "0")["fields"]["v"] == 0
    assert len(before.objects("K")) == 20

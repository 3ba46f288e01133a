"""Loading keeps the garbage collector still, and leaves it as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError
from mergeway_mcp.repository.reading import FileSystem

Write = Callable[[Mapping[str, str | bytes]], Path]

CONFIGURATION = (
    "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n"
)


@pytest.fixture(params=[True, False], ids=["collecting", "not collecting"])
def collecting(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the host of the engine lets the collector run."""
    before = gc.isenabled()
    wanted: bool = request.param
    (gc.enable if wanted else gc.disable)()
    yield wanted
    (gc.enable if before else gc.disable)()


def test_the_collector_is_as_before_after_a_load(write_repository: Write, collecting: bool) -> None:
    root = write_repository({"mergeway.yaml": CONFIGURATION, "d/a.yaml": "id: a\n"})
    Repository(str(root)).snapshot()
    assert gc.isenabled() is collecting


def test_the_collector_is_as_before_after_a_load_that_fails(
    write_repository: Write, collecting: bool
) -> None:
    root = write_repository({"mergeway.yaml": CONFIGURATION, "d/a.yaml": "name: without an id\n"})
    with pytest.raises(RepositoryError):
        Repository(str(root)).snapshot()
    assert gc.isenabled() is collecting


def test_a_large_load_is_set_aside_and_still_goes_when_its_files_do(write_repository: Write) -> None:
    import tracemalloc

    records = "".join(f"- {{id: r{number}, note: some text}}\n" for number in range(2_500))
    files = {f"d/{name}.yaml": "items:\n" + records.replace("id: r", f"id: {name}") for name in "abcde"}
    root = write_repository({"mergeway.yaml": CONFIGURATION, **files})
    repository = Repository(str(root))
    frozen = gc.get_freeze_count()
    tracemalloc.start()
    try:
        repository.snapshot()
        assert gc.get_freeze_count() - frozen >= 12_500
        loaded = tracemalloc.get_traced_memory()[0]
        for name in "abcd":
            (root / f"d/{name}.yaml").unlink()
        repository.snapshot()
        assert tracemalloc.get_traced_memory()[0] < loaded / 2
    finally:
        tracemalloc.stop()
        gc.unfreeze()


def test_after_one_edit_no_other_file_is_read_and_each_is_asked_for_once(write_repository: Write) -> None:
    root = write_repository(
        {"mergeway.yaml": CONFIGURATION} | {f"d/{number:02}.yaml": f"id: r{number}\n" for number in range(20)}
    )
    asked: list[str] = []
    opened: list[int] = []
    later = 10**18  # every file is old by then, so that none is read again for its youth
    system = FileSystem()

    def stat(path: str) -> object:
        asked.append(Path(path).name)
        return system.stat(path)

    def fstat(descriptor: int) -> object:
        opened.append(descriptor)
        return system.fstat(descriptor)

    watched = system._replace(stat=stat, fstat=fstat, now_ns=lambda: system.now_ns() + later)  # type: ignore[arg-type]
    repository = Repository(str(root), system=watched)
    repository.snapshot()
    (root / "d/07.yaml").write_text("id: changed\n", encoding="utf-8")
    asked.clear()
    opened.clear()
    assert repository.snapshot().get("K", "changed")["fields"] == {"id": "changed"}
    assert len(opened) == 2  # one file, its status before and after the reading
    untouched = [
        name for name in asked if name.endswith(".yaml") and name not in {"07.yaml", "mergeway.yaml"}
    ]
    assert sorted(untouched) == sorted(set(untouched))
    assert len(untouched) == 19

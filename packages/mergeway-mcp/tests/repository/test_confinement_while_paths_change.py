"""Confinement holds, and refuses nobody by mistake, while paths are turned into links or replaced by new files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError
from mergeway_mcp.repository.confinement import Confinement
from mergeway_mcp.repository.reading import FileReplaced, FileSystem, ReadFault, read_regular_file

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = (
    "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*.yaml'], fields: {id: string}}\n"
)


@pytest.fixture
def root(write_repository: Write) -> Path:
    return write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: inside\n"})


@pytest.fixture
def outside(root: Path, links_work: bool) -> Path:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    folder = root.parent / "outside"
    folder.mkdir()
    (folder / "a.yaml").write_text("id: secret\n", encoding="utf-8")
    return folder


def turn_the_file(root: Path, outside: Path) -> None:
    (root / "d/a.yaml").unlink()
    (root / "d/a.yaml").symlink_to(outside / "a.yaml")


def turn_the_folder(root: Path, outside: Path) -> None:
    (root / "d").rename(root / "e")
    (root / "d").symlink_to(outside)


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="this system cannot open relative to a folder")
@pytest.mark.parametrize("turn", [turn_the_file, turn_the_folder])
def test_a_link_put_in_place_after_the_path_was_resolved_is_not_followed(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, turn: Callable[[Path, Path], None]
) -> None:
    confinement = Confinement(str(root), FileSystem())
    resolve = os.path.realpath

    def resolve_and_lose_the_race(path: str) -> str:
        real = resolve(path)
        turn(root, outside)
        return real

    monkeypatch.setattr(os.path, "realpath", resolve_and_lose_the_race)
    with pytest.raises(ReadFault):
        confinement.require_opened_inside(str(root / "d/a.yaml"), os.stat(outside / "a.yaml"))


def test_a_file_replaced_while_it_is_opened_is_served_as_it_is_now(root: Path) -> None:
    pending = [b"id: second\n", b"id: third\n"]

    def fstat_and_save_anew(descriptor: int) -> os.stat_result:
        status = os.fstat(descriptor)
        if pending and status.st_size == (root / "d/a.yaml").stat().st_size:
            (root / "new").write_bytes(pending.pop(0))
            try:
                (root / "new").replace(root / "d/a.yaml")
            except PermissionError:
                pytest.skip("a file in use cannot be replaced here")
        return status

    repository = Repository(str(root), confine=True, system=FileSystem(fstat=fstat_and_save_anew))
    pending_before = list(pending)
    pending.clear()
    repository.load_config()
    pending.extend(pending_before)
    assert [entry["id"] for entry in repository.snapshot().objects("K")] == ["third"]


def test_a_file_that_is_always_another_is_refused_after_a_few_attempts(root: Path) -> None:
    opened = 0

    def never_the_same(_path: str, _status: os.stat_result) -> None:
        nonlocal opened
        opened += 1
        raise FileReplaced

    with pytest.raises(ReadFault):
        read_regular_file(str(root / "d/a.yaml"), system=FileSystem(), check=never_the_same)
    assert 1 < opened < 20


def test_links_within_the_root_are_served_until_what_they_name_is_moved_out(
    root: Path, links_work: bool
) -> None:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    (root / "d/b.yaml").symlink_to("../other/b.yaml")
    (root / "other").mkdir()
    (root / "other/b.yaml").write_text("id: linked\n", encoding="utf-8")
    repository = Repository(str(root), confine=True)
    assert [entry["id"] for entry in repository.snapshot().objects("K")] == ["inside", "linked"]
    (root / "other").rename(root.parent / "moved")
    (root / "other").symlink_to("../moved")
    with pytest.raises(RepositoryError):
        repository.snapshot()

"""Writing: old content or new content, never half, and nothing left lying about."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpkit import files
from mcpkit.files import FileAccessError, atomic_write, atomic_write_below

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, links and directory descriptors")

OLD = b"old content"
NEW = b"new content, rather longer" * 100


def test_a_new_file_is_private_and_whole(tmp_path: Path) -> None:
    target = tmp_path / "config.json"
    atomic_write(target, NEW)
    assert target.read_bytes() == NEW
    if os.name != "nt":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


@posix_only
def test_looser_permissions_are_tightened_and_the_umask_does_not_matter(tmp_path: Path) -> None:
    target = tmp_path / "config.json"
    target.write_bytes(OLD)
    target.chmod(0o666)
    previous = os.umask(0o777)
    try:
        atomic_write(target, NEW)
        atomic_write(tmp_path / "public", NEW, mode=0o644)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644


@posix_only
def test_a_link_is_replaced_and_its_target_left_alone(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(OLD)
    (tmp_path / "link").symlink_to("victim")
    atomic_write(tmp_path / "link", NEW)
    assert (tmp_path / "victim").read_bytes() == OLD
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("below", [False, True])
def test_what_is_worth_nothing_after_a_loss_of_power_is_replaced_but_not_forced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: bool
) -> None:
    forced: list[int] = []
    really = os.fsync

    def forcing(file: int) -> None:
        forced.append(file)
        really(file)

    monkeypatch.setattr(os, "fsync", forcing)

    def write(*, durable: bool) -> None:
        if below:
            atomic_write_below(tmp_path, "owner.json", NEW, durable=durable)
        else:
            atomic_write(tmp_path / "owner.json", NEW, durable=durable)

    (tmp_path / "owner.json").write_bytes(OLD)
    write(durable=False)
    assert forced == []
    assert (tmp_path / "owner.json").read_bytes() == NEW
    assert [entry.name for entry in tmp_path.iterdir()] == ["owner.json"]
    write(durable=True)
    assert forced != []


def test_a_bare_name_is_written_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    atomic_write("plain", NEW)
    assert (tmp_path / "plain").read_bytes() == NEW


@pytest.mark.parametrize("name", ["", ".", "sub/..", "a\0b"])
def test_a_name_that_cannot_be_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileAccessError) as caught:
        atomic_write(os.path.join(tmp_path, name) if name else name, NEW)
    assert caught.value.kind == "bad_path"


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError) as caught:
        atomic_write(tmp_path / "none" / "file", NEW)
    assert caught.value.kind in {"not_found", "write_failed"}


def test_a_directory_in_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(FileAccessError) as caught:
        atomic_write(tmp_path / "dir", NEW)
    assert caught.value.kind == "write_failed"
    assert [entry.name for entry in tmp_path.iterdir()] == ["dir"]


class TestBelowARoot:
    def test_a_file_below_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        atomic_write_below(tmp_path, "sub/file", NEW)
        atomic_write_below(tmp_path, "sub/file", OLD)
        assert (tmp_path / "sub" / "file").read_bytes() == OLD

    @posix_only
    @pytest.mark.parametrize("descriptors", [True, False])
    def test_nothing_is_written_through_a_link_or_outside(
        self, tmp_path: Path, descriptors: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_HAS_DIRECTORY_DESCRIPTORS", descriptors)
        root, other = tmp_path / "root", tmp_path / "other"
        root.mkdir()
        other.mkdir()
        (root / ".ragit").symlink_to(other)
        for path, kinds in (
            (".ragit/x", {"link_refused"}),
            ("../other/x", {"outside_root"}),
            (".", {"bad_path"}),
        ):
            with pytest.raises(FileAccessError) as caught:
                atomic_write_below(root, path, NEW)
            assert caught.value.kind in kinds
        assert list(other.iterdir()) == []


class FaultyOs:
    """Lets system calls through until the n-th, which fails; with `persistent`, so do all that follow."""

    NAMES = ("open", "write", "fchmod", "fsync", "close", "replace", "unlink")

    def __init__(self, fail_at: int, *, persistent: bool) -> None:
        self.fail_at, self.persistent = fail_at, persistent
        self.calls = 0
        self.failed = False

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self.fail_at or (self.persistent and self.calls > self.fail_at):
                self.failed = True
                if name == "close":
                    real(*args, **kwargs)  # a failing close still gives the descriptor back
                raise OSError(errno.ENOSPC if name == "write" else errno.EIO, "injected")
            return real(*args, **kwargs)

        return call


@contextlib.contextmanager
def faults(fail_at: int, *, persistent: bool) -> Iterator[FaultyOs]:
    faulty = FaultyOs(fail_at, persistent=persistent)
    with pytest.MonkeyPatch.context() as patch:
        for name in FaultyOs.NAMES:
            if hasattr(os, name):
                patch.setattr(os, name, faulty.wrap(name, getattr(os, name)))
        yield faulty


@pytest.mark.parametrize("persistent", [False, True], ids=["one call fails", "all later calls fail"])
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
@pytest.mark.parametrize("descriptors", [True, False], ids=["by descriptor", "by path"])
def test_whatever_call_fails_the_file_is_old_or_new_and_never_half(
    tmp_path: Path, existing: bool, persistent: bool, descriptors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if descriptors and not files._HAS_DIRECTORY_DESCRIPTORS:
        pytest.skip("the platform has no directory descriptors")
    monkeypatch.setattr(files, "_HAS_DIRECTORY_DESCRIPTORS", descriptors)
    monkeypatch.setattr(files, "_CHUNK", 1000)  # several writes
    outcomes: set[bytes | None] = set()
    for fail_at in range(1, 100):
        directory = tmp_path / str(fail_at)
        directory.mkdir()
        target = directory / "file"
        if existing:
            target.write_bytes(OLD)
        with faults(fail_at, persistent=persistent) as faulty:
            try:
                atomic_write(target, NEW)
                succeeded = True
            except FileAccessError:
                succeeded = False
        content = target.read_bytes() if target.exists() else None
        outcomes.add(content)
        assert content in {NEW, OLD if existing else None}
        if succeeded:
            assert content == NEW
        if not persistent:
            assert [entry.name for entry in directory.iterdir()] == (["file"] if content is not None else [])
        if not faulty.failed:
            assert succeeded
            assert outcomes == {NEW, OLD if existing else None}
            assert fail_at > 5
            return
    pytest.fail("the write never got through without a fault")


def test_a_write_that_takes_only_part_of_the_bytes_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    atomic_write(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW


@posix_only
def test_an_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path / "file", NEW)
    assert list(tmp_path.iterdir()) == []

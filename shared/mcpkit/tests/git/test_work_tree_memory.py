"""A remembered work tree answers as one that is looked at for the first time, and reads only what has changed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpkit.git import Repository
from mcpkit.git.memory import StateMemory, is_at_rest, stamp_of
from mcpkit.git.worktree import StateLimits, WorkTreeState, read_work_tree_state

Git = Callable[..., bytes]
CommitFiles = Callable[..., str]

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
NOTHING_READ = StateLimits(hashed_bytes=0)
SECOND = 10**9


def an_hour_later() -> int:
    """The clock of a memory for which every file of the test has been at rest for long."""
    return time.time_ns() + 3_600 * SECOND


@pytest.fixture
def memory() -> StateMemory:
    return StateMemory(an_hour_later)


def state_of(path: Path, memory: StateMemory, limits: StateLimits | None = None) -> WorkTreeState:
    repository = Repository.open(path)
    found = read_work_tree_state(repository, environ=NOBODY, memory=memory, limits=limits)
    if limits is None:
        assert found == read_work_tree_state(repository, environ=NOBODY)
    return found


def kinds(state: WorkTreeState) -> dict[bytes, str]:
    return {change.path: change.kind for change in state.changes}


def test_a_copied_checkout_is_hashed_once(
    tmp_path: Path, repository: Path, commit_files: CommitFiles, memory: StateMemory
) -> None:
    # A copy's files have other inodes and times than the index remembers.
    commit_files(repository, {"a.md": b"a\n", "dir/b.md": b"bb\n"})
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    assert not state_of(copy, StateMemory(an_hour_later), NOTHING_READ).complete
    assert state_of(copy, memory) == WorkTreeState(())
    assert state_of(copy, memory, NOTHING_READ) == WorkTreeState(())


def test_only_the_edited_file_is_read_again(
    tmp_path: Path, repository: Path, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"large.md": b"x" * 10_000, "small.md": b"a\n"})
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    state_of(copy, memory)
    (copy / "small.md").write_bytes(b"edited\n")
    found = state_of(copy, memory, StateLimits(hashed_bytes=len(b"edited\n")))
    assert kinds(found) == {b"small.md": "modified"}
    assert found.complete


@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell when a file was changed")
def test_an_edit_that_keeps_size_and_time_is_noticed(
    tmp_path: Path, repository: Path, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"a.md": b"one\n"})
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    assert not state_of(copy, memory).dirty
    before = (copy / "a.md").stat()
    (copy / "new").write_bytes(b"two\n")
    os.utime(copy / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(copy / "new", copy / "a.md")
    assert kinds(state_of(copy, memory)) == {b"a.md": "modified"}


def test_every_step_of_a_working_day_is_noticed(
    repository: Path, git: Git, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"a.md": b"a\n", "b.md": b"b\n", "dir/c.md": b"c\n"})
    assert kinds(state_of(repository, memory)) == {}
    (repository / "a.md").write_bytes(b"a longer a\n")
    assert kinds(state_of(repository, memory)) == {b"a.md": "modified"}
    git(repository, "add", "a.md")
    assert kinds(state_of(repository, memory)) == {b"a.md": "modified"}
    git(repository, "commit", "--quiet", "-m", "a")
    assert kinds(state_of(repository, memory)) == {}
    (repository / "dir" / "c.md").unlink()
    (repository / "new.md").write_bytes(b"new\n")
    assert kinds(state_of(repository, memory)) == {b"dir/c.md": "deleted", b"new.md": "untracked"}
    git(repository, "checkout", "--quiet", "--", "dir/c.md")
    git(repository, "rm", "--cached", "--quiet", "b.md")
    assert kinds(state_of(repository, memory)) == {b"b.md": "deleted", b"new.md": "untracked"}
    git(repository, "reset", "--quiet", "--hard", "HEAD~1")
    assert kinds(state_of(repository, memory)) == {b"new.md": "untracked"}
    git(repository, "reset", "--quiet", "--soft", "HEAD@{1}")
    assert kinds(state_of(repository, memory)) == {b"a.md": "modified", b"new.md": "untracked"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit and seldom links")
def test_a_changed_mode_and_a_linked_directory_are_noticed(
    repository: Path, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"run.sh": b"true\n", "dir/c.md": b"c\n"})
    assert kinds(state_of(repository, memory)) == {}
    (repository / "run.sh").chmod(0o755)
    assert kinds(state_of(repository, memory)) == {b"run.sh": "modified"}
    (repository / "run.sh").chmod(0o644)
    (repository / "dir").rename(repository / ".git" / "elsewhere")
    (repository / "dir").symlink_to(repository / ".git" / "elsewhere")
    assert kinds(state_of(repository, memory)) == {b"dir": "untracked", b"dir/c.md": "deleted"}


def test_the_index_is_parsed_again_only_when_it_was_written(
    repository: Path, git: Git, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"a.md": b"a\n"})
    opened = Repository.open(repository)
    first = memory.index(opened.layout.git_dir, opened.object_format)
    assert memory.index(opened.layout.git_dir, opened.object_format) is first
    (repository / "b.md").write_bytes(b"b\n")
    git(repository, "add", "b.md")
    assert [entry.path for entry in memory.index(opened.layout.git_dir, opened.object_format).entries] == [
        b"a.md",
        b"b.md",
    ]


def test_a_split_index_is_never_remembered(
    repository: Path, git: Git, commit_files: CommitFiles, memory: StateMemory
) -> None:
    commit_files(repository, {"a.md": b"a\n"})
    git(repository, "update-index", "--split-index")
    opened = Repository.open(repository)
    first = memory.index(opened.layout.git_dir, opened.object_format)
    assert first.split
    assert memory.index(opened.layout.git_dir, opened.object_format) is not first


def test_a_file_that_was_just_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    status = path.stat()
    written = max(status.st_mtime_ns, status.st_ctime_ns)
    assert not is_at_rest(stamp_of(status), written)
    assert not is_at_rest(stamp_of(status), written + 2 * SECOND)
    assert is_at_rest(stamp_of(status), written + 2 * SECOND + 1)
    asked = [written, written + SECOND, written + 3 * SECOND, written + 4 * SECOND]
    memory = StateMemory(iter(asked).__next__)
    reads: list[int] = []
    for second in range(len(asked)):

        def hash_file(second: int = second) -> tuple[str, bool]:
            reads.append(second)
            return "id", False

        assert memory.content(os.fsencode(path), "sha1", status, hash_file) == ("id", False)
    assert reads == [0, 1, 2]


def test_a_file_that_cannot_be_read_is_tried_again(tmp_path: Path, memory: StateMemory) -> None:
    status = tmp_path.stat()
    assert memory.content(b"/x", "sha1", status, lambda: None) is None
    assert memory.content(b"/x", "sha1", status, lambda: ("", False)) == ("", False)
    assert memory.content(b"/x", "sha1", status, lambda: ("id", True)) == ("id", True)
    assert memory.content(b"/x", "sha1", status, lambda: None) == ("id", True)
    assert memory.content(b"/x", "sha256", status, lambda: ("other", True)) == ("other", True)

"""Find a repository by looking, before git is asked anything.

git's own discovery would read the configuration of whatever it meets. Here the directories above a path are searched for
`.git`, a directory or a file that names one, with the rules of gitrepository-layout(5). A bare repository is accepted
only where it was asked for, because a checkout can carry one among its files.

With `within`, all places the repository keeps data in must lie inside named directories: git directory, common
directory, object directories, alternates, and the targets of links among refs and objects.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mcpkit.files import FileAccessError, read_regular
from mcpkit.git.errors import GitError

RepositoryKind = Literal["main", "linked_worktree", "submodule", "separate", "bare"]

_SMALL_FILE: Final = 64 * 1024
_MAX_ALTERNATES: Final = 64
_MAX_SCANNED: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RepositoryLayout:
    """Where a repository keeps what. All paths are absolute and real (links resolved).

    Attributes:
        kind: `main` (`.git` is a directory), `linked_worktree`, `submodule` (git directory below another's `modules`),
            `separate` (a `.git` file that is neither) or `bare`.
        work_tree: top directory of the checkout; None for a bare repository.
        git_dir: this checkout's own git directory.
        common_dir: git directory shared by all linked worktrees; equals `git_dir` elsewhere.
        linked_back: a linked worktree's git directory names this work tree in return. False for a `.git` file that
            merely points at somebody else's repository; True for all other kinds.
        object_dirs: object directory first, then its alternates.
    """

    kind: RepositoryKind
    work_tree: str | None
    git_dir: str
    common_dir: str
    linked_back: bool
    object_dirs: tuple[str, ...]


def discover(
    path: str | os.PathLike[str],
    *,
    bare: bool = False,
    within: Sequence[str | os.PathLike[str]] | None = None,
) -> RepositoryLayout:
    """Find the repository that holds `path`.

    Args:
        path: an existing directory, or a file in one.
        bare: `path` may itself be a bare repository (or a git directory).
        within: directories that must hold everything the repository consists of.

    Raises:
        GitError: `not_a_repository`, `bare_repository`, `outside_root`, `unsupported_repository`.
    """
    start = os.path.realpath(path)
    if not os.path.isdir(start):
        start = os.path.dirname(start)
    if not os.path.isdir(start):
        raise GitError("not_a_repository")
    layout = _search(start, bare=bare)
    if within is not None:
        _require_within(layout, within)
    return layout


def is_git_directory(path: str) -> bool:
    """Whether a directory has what makes a git directory: a HEAD that can be one, objects and refs."""
    try:
        common = _common_directory(path)
    except GitError:
        return False
    head = os.path.join(path, "HEAD")
    if os.path.islink(head):
        plausible = os.readlink(head).startswith("refs/")  # how git once stored a symbolic HEAD
    else:
        content = _small_file(head)
        plausible = content is not None and re.match(rb"ref:\s*refs/|[0-9a-f]{40}", content) is not None
    return plausible and all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))


def _search(start: str, *, bare: bool) -> RepositoryLayout:
    directory = start
    while True:
        entry = os.path.join(directory, ".git")
        if os.path.isdir(entry) and is_git_directory(entry):
            return _describe("main", directory, os.path.realpath(entry))
        if os.path.isfile(entry):
            return _follow_git_file(directory, entry)
        if is_git_directory(directory):
            if bare and directory == start:
                return _describe("bare", None, directory)
            raise GitError("bare_repository")
        parent = os.path.dirname(directory)
        if parent == directory:
            raise GitError("not_a_repository")
        directory = parent


def _follow_git_file(work_tree: str, entry: str) -> RepositoryLayout:
    content = _small_file(entry)
    named = re.fullmatch(rb"gitdir: ?([^\0\r\n]+)[\r\n]*", content or b"")
    if named is None:
        raise GitError("unsupported_repository", "the .git file does not name a git directory")
    git_dir = os.path.realpath(os.path.join(work_tree, os.fsdecode(named[1])))
    if not is_git_directory(git_dir):
        raise GitError("unsupported_repository", "the .git file names a git directory that is not there")
    kind: RepositoryKind = "separate"
    if _common_directory(git_dir) != git_dir:
        kind = "linked_worktree"
    elif "modules" in git_dir.replace("\\", "/").split("/"):
        kind = "submodule"
    return _describe(kind, work_tree, git_dir)


def _describe(kind: RepositoryKind, work_tree: str | None, git_dir: str) -> RepositoryLayout:
    common = _common_directory(git_dir)
    linked_back = True
    if kind == "linked_worktree" and work_tree is not None:
        back = (_small_file(os.path.join(git_dir, "gitdir")) or b"").strip(b"\r\n")
        named = os.path.realpath(os.path.join(git_dir, os.fsdecode(back)))
        linked_back = bool(back) and os.path.normcase(named) == os.path.normcase(
            os.path.join(work_tree, ".git")
        )
    return RepositoryLayout(kind, work_tree, git_dir, common, linked_back, tuple(_object_directories(common)))


def _common_directory(git_dir: str) -> str:
    place = os.path.join(git_dir, "commondir")
    if not os.path.lexists(place):
        return git_dir
    content = (_small_file(place) or b"").strip(b"\r\n")
    if not content or b"\0" in content:
        raise GitError("unsupported_repository", "the repository's commondir file is unreadable")
    return os.path.realpath(os.path.join(git_dir, os.fsdecode(content)))


def _object_directories(common_dir: str) -> Iterator[str]:
    pending = [os.path.realpath(os.path.join(common_dir, "objects"))]
    seen: set[str] = set()
    while pending:
        directory = pending.pop(0)
        if directory in seen:
            continue
        seen.add(directory)
        if len(seen) > _MAX_ALTERNATES:
            raise GitError(
                "unsupported_repository", "the repository has too many alternate object directories"
            )
        yield directory
        listed = os.path.join(directory, "info", "alternates")
        content = _small_file(listed)
        if content is None and os.path.lexists(listed):
            raise GitError("unsupported_repository", "the list of alternate object directories is unreadable")
        for line in (content or b"").splitlines():
            if not line or line.startswith(b"#"):
                continue
            if line.startswith(b'"') or b"\0" in line:
                raise GitError("unsupported_repository", "an alternate object directory has an unusual name")
            pending.append(os.path.realpath(os.path.join(directory, os.fsdecode(line))))


def _require_within(layout: RepositoryLayout, allowed: Sequence[str | os.PathLike[str]]) -> None:
    bases = [os.path.normcase(os.path.realpath(base)) for base in allowed]

    def inside(path: str) -> bool:
        for base in bases:
            try:
                if os.path.commonpath([os.path.normcase(path), base]) == base:
                    return True
            except ValueError:  # different drives
                continue
        return False

    places = [layout.git_dir, layout.common_dir, *layout.object_dirs]
    if layout.work_tree is not None:
        places.append(layout.work_tree)
    for directory in {layout.git_dir, layout.common_dir}:
        places += [
            os.path.realpath(os.path.join(directory, name))
            for name in ("HEAD", "refs", "packed-refs", "config")
        ]
    if not layout.linked_back or not all(inside(place) for place in places):
        raise GitError("outside_root")
    left = _MAX_SCANNED
    for directory in {
        *layout.object_dirs,
        os.path.join(layout.common_dir, "refs"),
        os.path.join(layout.git_dir, "refs"),
    }:
        for entry in _entries_below(directory):
            left -= 1
            if left < 0:
                raise GitError(
                    "too_many_entries", "the repository holds too many loose objects to be checked; pack it"
                )
            if entry.is_symlink() and not inside(os.path.realpath(entry.path)):
                raise GitError("outside_root")


def _entries_below(directory: str) -> Iterator[os.DirEntry[str]]:
    pending = [directory]
    while pending:
        try:
            with os.scandir(pending.pop()) as scan:
                for entry in scan:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue  # gone, or not for us: then not for git either


def _small_file(path: str) -> bytes | None:
    try:
        return read_regular(path, max_bytes=_SMALL_FILE)
    except FileAccessError:
        return None

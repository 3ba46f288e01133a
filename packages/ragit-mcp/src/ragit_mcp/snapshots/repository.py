"""The repository behind a snapshot: found without a program of its own being run, its failures with a code of ours."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from mcpkit.files import FileAccessError, locate_below
from mcpkit.git import CancelCheck, GitError, Limits, Repository, parse_commit
from mcpkit.git.memory import StateMemory
from mcpkit.git.worktree import WorkTreeState, read_work_tree_state
from ragit_mcp.errors import SnapshotError
from ragit_mcp.store.layout import CACHE_DIR, MANIFEST_DIR, STORE_DIR, store_unavailable

__all__ = [
    "coded_git_errors",
    "open_repository",
    "refuse_links",
    "refuse_tracked_index",
    "work_tree_root",
]

_RAGIT: Final = ".ragit"
# What a checkout could bring and nobody but ragit may write.
_OURS: Final = tuple(f"{path}/".encode() for path in (STORE_DIR, MANIFEST_DIR, CACHE_DIR))
_TREE_BYTES: Final = 64 << 20


def open_repository(
    path: str | os.PathLike[str], *, limits: Limits | None = None, cancel: CancelCheck | None = None
) -> Repository:
    """The repository whose work tree holds a path.

    Raises:
        SnapshotError: `REPOSITORY_UNUSABLE`; `details.reason` is the kind of the git error.
    """
    with coded_git_errors():
        return Repository.open(path, limits=limits, cancel=cancel)


def work_tree_root(repository: Repository) -> str:
    """The top directory of the work tree, below which `.ragit` lies.

    Raises:
        SnapshotError: `REPOSITORY_UNUSABLE` for a repository without a work tree.
    """
    root = repository.layout.work_tree
    if root is None:
        raise _unusable(GitError("bare_repository"))
    return root


@contextlib.contextmanager
def coded_git_errors() -> Iterator[None]:
    """Report a failing question to git as `REPOSITORY_UNUSABLE`; git's own words stay behind."""
    try:
        yield
    except GitError as error:
        raise _unusable(error) from error


def refuse_links(root: str | os.PathLike[str]) -> None:
    """Make sure that `.ragit` is a directory of this repository and no link to somewhere else.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `link`.
    """
    for place in (_RAGIT, STORE_DIR, MANIFEST_DIR, CACHE_DIR, f"{_RAGIT}/runtime"):
        try:
            locate_below(root, place)
        except FileAccessError as error:
            if error.kind in {"link_refused", "outside_root"}:
                raise store_unavailable("link") from None
            if error.kind != "not_found":
                raise store_unavailable("unreadable") from None


def refuse_tracked_index(repository: Repository, commit: str | None) -> None:
    """Make sure that the checked-out commit brings no store, manifest or cache: it could be forged.

    Names are compared without case, since a file system may do so too.

    Args:
        repository: the repository.
        commit: HEAD's commit; None while there is none.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `tracked`; `REPOSITORY_UNUSABLE`.
    """
    if commit is None:
        return
    with coded_git_errors():
        with repository.blobs(max_bytes=_TREE_BYTES) as reader:
            tree = parse_commit(commit, reader.read(commit, expect="commit")).tree
            raw = reader.read(tree, expect="tree")
        names = [
            name for name in _tree_names(raw, repository.object_format) if name.lower() == _RAGIT.encode()
        ]
        for name in names:
            for entry in repository.list_tree(commit, sizes=False, path=name):
                path = entry.path.lower()
                if path == _RAGIT.encode() or path.startswith(_OURS) or path + b"/" in _OURS:
                    raise store_unavailable("tracked", resolved_sha=commit)


def _tree_names(raw: bytes, object_format: str) -> Iterator[bytes]:
    """Names of the entries of a tree object (mode, space, name, NUL, binary id)."""
    size = 20 if object_format == "sha1" else 32
    position = 0
    while position < len(raw):
        space = raw.index(b" ", position)
        end = raw.index(b"\0", space)
        yield raw[space + 1 : end]
        position = end + 1 + size


def read_state(
    repository: Repository, *, memory: StateMemory | None = None, head: str | None = None
) -> WorkTreeState:
    """Whether the work tree differs from HEAD; see `mcpkit.git.worktree`."""
    with coded_git_errors():
        return read_work_tree_state(repository, memory=memory, head=head)


def _unusable(error: GitError) -> SnapshotError:
    return SnapshotError(
        "REPOSITORY_UNUSABLE",
        f"The repository cannot be used: {error.reason}.",
        details={"reason": error.kind},
    )

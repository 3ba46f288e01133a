"""Which commit is read: HEAD's, or the one that was named; never another one instead (contract A1).

Without `at` the snapshot is HEAD's. HEAD is read again after the manifest was loaded: if it moved meanwhile, everything
found so far, errors included, belongs to the past, and the selection starts over once. With `at` the commit was named
and HEAD does not matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpkit.git import GitError, Head, Repository
from mcpkit.git.worktree import WorkTreeState
from ragit_mcp.errors import RagitError, SnapshotError
from ragit_mcp.snapshots.manifest import Manifest, indexed_commits, manifest_path
from ragit_mcp.snapshots.memory import SnapshotMemory
from ragit_mcp.snapshots.repository import (
    coded_git_errors,
    read_state,
    refuse_links,
    work_tree_root,
)
from ragit_mcp.store.layout import store_unavailable
from ragit_mcp.store.membership import Membership
from ragit_mcp.store.reader import Store, open_store

__all__ = [
    "Selection",
    "SnapshotInfo",
    "SnapshotStatus",
    "inspect_snapshot",
    "resolve_reference",
    "select_snapshot",
]

SnapshotStatus = Literal["indexed", "missing", "invalid", "store-unavailable", "unavailable"]

_ABBREVIATED: Final = re.compile(r"[0-9a-fA-F]{4,64}", re.ASCII)
_DIGITS: Final = {"sha1": 40, "sha256": 64}
_ECHOED: Final = 200
_MATCHES_SHOWN: Final = 50
# Commits looked at for the hint that names an indexed ancestor.
_MAX_HISTORY: Final = 200_000


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """What a reply says of its snapshot.

    Attributes:
        requested_ref: `HEAD`, or the text that named the commit.
        resolved_sha: the commit; None while there is none.
        selection: `head-exact` without `at`, else `explicit-exact`.
        status: whether it is indexed.
        branch: short name of the branch; None when detached.
        detached: HEAD names a commit and no branch.
        worktree_dirty: the work tree differs from HEAD.
    """

    requested_ref: str
    resolved_sha: str | None
    selection: Literal["head-exact", "explicit-exact"]
    status: SnapshotStatus
    branch: str | None
    detached: bool
    worktree_dirty: bool

    def to_json(self) -> dict[str, Any]:
        """The member `snapshot` of a reply."""
        return {
            "requestedRef": self.requested_ref,
            "resolvedSha": self.resolved_sha,
            "selection": self.selection,
            "status": self.status,
            "branch": self.branch,
            "detached": self.detached,
            "worktreeDirty": self.worktree_dirty,
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """A snapshot that has a valid manifest.

    Attributes:
        root: top directory of the work tree.
        commit: the commit.
        manifest: its manifest, without the lists of documents, chunks and artifacts.
        info: what the reply says of it.
        work_tree: the state of the work tree.
        warnings: what the reply has to warn of.
    """

    root: str
    commit: str
    manifest: Manifest
    info: SnapshotInfo
    work_tree: WorkTreeState
    warnings: tuple[str, ...]

    def membership(self, store: Store, scope: str = "durable") -> Membership:
        """The passages of the snapshot.

        Args:
            store: an open generation of this repository's store.
            scope: one of `SCOPES`, or `all`.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`; an ingest of the same commit may just have replaced manifest and
                store, so a caller that keeps a store open selects once more before it gives up.
        """
        reference = self.manifest.membership
        if reference is None:
            raise store_unavailable("membership", resolved_sha=self.commit)
        try:
            return store.membership(self.commit, reference.digest, scope)
        except RagitError as error:
            raise _about(error, self.commit) from None

    def open_store(self) -> Store:
        """The store, open; errors name this snapshot.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`.
        """
        try:
            return open_store(self.root)
        except RagitError as error:
            raise _about(error, self.commit) from None


@dataclass(frozen=True, slots=True)
class Inspection:
    """The snapshot of HEAD as `status` and `doctor` show it; problems are part of it.

    Attributes:
        info: its status, whatever that is.
        error: why it cannot be read; None if it is indexed.
        manifests: number of manifest files.
        warnings: what there is to warn of.
    """

    info: SnapshotInfo
    error: RagitError | None
    manifests: int
    warnings: tuple[str, ...]


def select_snapshot(
    repository: Repository,
    *,
    at: str | None = None,
    before_recheck: Callable[[], None] | None = None,
    memory: SnapshotMemory | None = None,
) -> Selection:
    """Select a snapshot and load its manifest.

    Args:
        repository: of `open_repository`.
        at: `HEAD`, or 4 or more digits of a commit's id; None for HEAD with a look whether it moves.
        before_recheck: called between loading and looking at HEAD again.
        memory: of earlier selections in this repository; nothing is remembered if None.

    Raises:
        SnapshotError: `SNAPSHOT_REF_INVALID`, `SNAPSHOT_REF_AMBIGUOUS`, `SNAPSHOT_NOT_INDEXED`,
            `SNAPSHOT_MANIFEST_INVALID`, `SNAPSHOT_SCHEMA_UNSUPPORTED`, `SNAPSHOT_STORE_UNAVAILABLE`,
            `REPOSITORY_STATE_CHANGED`, `REPOSITORY_UNUSABLE`.
    """
    root = work_tree_root(repository)
    memory = memory or SnapshotMemory()
    if at is not None:
        commit = resolve_reference(repository, at)
        head = _read_head(repository)
        manifest = _load(repository, root, commit, head, memory)
    else:
        head, manifest = _load_head(repository, root, before_recheck, memory)
        commit = manifest.commit_sha
    state = read_state(repository, memory=memory.work_tree, head=head.oid)
    info = SnapshotInfo(
        requested_ref="HEAD" if at is None else at,
        resolved_sha=commit,
        selection="head-exact" if at is None else "explicit-exact",
        status="indexed",
        branch=head.branch,
        detached=head.detached,
        worktree_dirty=state.dirty,
    )
    return Selection(root, commit, manifest, info, state, work_tree_warnings(state))


def inspect_snapshot(repository: Repository) -> Inspection:
    """The snapshot of HEAD and what is wrong with it; the first of missing, invalid, store-unavailable that holds.

    Raises:
        SnapshotError: `REPOSITORY_UNUSABLE` only.
    """
    root = work_tree_root(repository)
    head = _read_head(repository)
    state = read_state(repository)
    status: SnapshotStatus = "indexed"
    error: RagitError | None = None
    try:
        manifest = _load(repository, root, head.oid, head, SnapshotMemory())
        selection = Selection(root, manifest.commit_sha, manifest, _EMPTY_INFO, state, ())
        with selection.open_store() as store:
            selection.membership(store)
    except RagitError as found:
        if found.code == "REPOSITORY_UNUSABLE":
            raise
        error = found
        status = _STATUS_OF_CODE.get(found.code, "unavailable")
    info = SnapshotInfo(
        requested_ref="HEAD",
        resolved_sha=head.oid,
        selection="head-exact",
        status=status,
        branch=head.branch,
        detached=head.detached,
        worktree_dirty=state.dirty,
    )
    return Inspection(info, error, len(indexed_commits(root)), work_tree_warnings(state))


def resolve_reference(repository: Repository, reference: str) -> str:
    """The commit that `at` names.

    Args:
        repository: the repository.
        reference: `HEAD`, or 4 or more hexadecimal digits of a commit's id; no branch, tag or expression.

    Raises:
        SnapshotError: `SNAPSHOT_REF_INVALID`, `SNAPSHOT_REF_AMBIGUOUS`, `REPOSITORY_UNUSABLE`.
    """
    if reference == "HEAD":
        commit = _read_head(repository).oid
        if commit is None:
            raise _invalid_reference(reference)
        return commit
    if not _ABBREVIATED.fullmatch(reference) or len(reference) > _DIGITS[repository.object_format]:
        raise _invalid_reference(reference)
    prefix = reference.lower()
    try:
        commits = repository.commits_with_prefix(prefix)
    except GitError as error:
        if error.kind not in {"missing_object", "git_failed"}:
            with coded_git_errors():
                raise
        commits = []
    if not commits:
        raise _invalid_reference(reference)
    if len(commits) > 1:
        raise SnapshotError(
            "SNAPSHOT_REF_AMBIGUOUS",
            "Several commits begin with these digits: give more of them.",
            details={"ref": reference, "matches": commits[:_MATCHES_SHOWN]},
            recovery=f"git rev-parse --disambiguate={prefix}",
        )
    return commits[0]


def work_tree_warnings(state: WorkTreeState) -> tuple[str, ...]:
    """What a reply says about a work tree that differs from its snapshot."""
    if not state.dirty:
        return ()
    first = "The work tree has changes that are not committed; they are not part of this result."
    return (first, *(f"{warning.reason}." for warning in state.warnings))


_EMPTY_INFO: Final = SnapshotInfo("HEAD", None, "head-exact", "unavailable", None, False, False)
_STATUS_OF_CODE: Final[dict[str, SnapshotStatus]] = {
    "SNAPSHOT_NOT_INDEXED": "missing",
    "SNAPSHOT_MANIFEST_INVALID": "invalid",
    "SNAPSHOT_SCHEMA_UNSUPPORTED": "invalid",
    "SNAPSHOT_STORE_UNAVAILABLE": "store-unavailable",
}


def _load_head(
    repository: Repository,
    root: str,
    before_recheck: Callable[[], None] | None,
    memory: SnapshotMemory,
) -> tuple[Head, Manifest]:
    for _ in range(2):
        head = _read_head(repository)
        found: Manifest | RagitError
        try:
            found = _load(repository, root, head.oid, head, memory)
        except RagitError as error:
            found = error
        if before_recheck is not None:
            before_recheck()
        if _read_head(repository) != head:
            continue
        if isinstance(found, RagitError):
            raise found
        return head, found
    raise SnapshotError(
        "REPOSITORY_STATE_CHANGED",
        "HEAD moved while the snapshot was selected: retry when the repository is at rest.",
    )


def _load(
    repository: Repository, root: str, commit: str | None, head: Head, memory: SnapshotMemory
) -> Manifest:
    if commit is None:
        raise SnapshotError(
            "SNAPSHOT_NOT_INDEXED",
            "The repository has no commit yet, so there is nothing to read: commit first.",
            details={"resolvedSha": None},
            recovery="git status",
        )
    try:
        refuse_links(root)
        memory.refuse_tracked_index(repository, head.oid)
        manifest = memory.manifest(root, commit)
    except RagitError as error:
        raise _about(error, commit) from None
    if manifest is None:
        raise _not_indexed(repository, root, commit)
    return manifest


def _not_indexed(repository: Repository, root: str, commit: str) -> SnapshotError:
    details: dict[str, Any] = {"resolvedSha": commit, "manifestPath": manifest_path(commit)}
    recovery = "ragit ingest --all"
    ancestor = nearest_indexed_ancestor(repository, root, commit)
    if ancestor is not None:
        details["nearestIndexedAncestor"] = ancestor
        recovery = f"ragit ingest --since {ancestor}"
    return SnapshotError(
        "SNAPSHOT_NOT_INDEXED",
        "This commit is not indexed: index it first.",
        details=details,
        recovery=recovery,
    )


def nearest_indexed_ancestor(repository: Repository, root: str | os.PathLike[str], commit: str) -> str | None:
    """The first ancestor, in git's order, that has a manifest file; a hint and no more."""
    indexed = indexed_commits(root)
    if not indexed:
        return None
    try:
        history = repository.rev_list([commit], max_count=_MAX_HISTORY, order="date")
    except GitError:
        return None
    return next((oid for oid, _ in history if oid in indexed and oid != commit), None)


def _read_head(repository: Repository) -> Head:
    with coded_git_errors():
        return repository.head()


def _invalid_reference(reference: str) -> SnapshotError:
    return SnapshotError(
        "SNAPSHOT_REF_INVALID",
        "No commit of this repository has this id: give HEAD or 4 or more digits of a commit's id.",
        details={"ref": reference[:_ECHOED]},
    )


def _about(error: RagitError, commit: str) -> RagitError:
    """The error with the commit it is about."""
    if "resolvedSha" in error.details:
        error.details["resolvedSha"] = commit
    return error

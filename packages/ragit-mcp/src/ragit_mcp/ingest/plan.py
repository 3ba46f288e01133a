"""Which documents the snapshot will have, on which base, before anything is read or written (contract A9).

* `all`: the documents that the globs select. No base.
* `since`: the documents of a base snapshot, which must be an ancestor's, and what was added since.
* `files`, `paths`: the documents of HEAD's own snapshot, or of its first parent's, and those named.

Whatever is taken over from a base is taken as HEAD has it: a document that changed is read anew, one that is gone is
left out. A snapshot never holds a text that its commit does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mcpkit.git import Repository, TreeEntry
from ragit_mcp.config import Config
from ragit_mcp.corpus import (
    CandidateFilter,
    Placement,
    check_explicit_path,
    document_id,
    is_markdown,
    path_from_git,
)
from ragit_mcp.corpus.selection import FileChoice, suggest_include
from ragit_mcp.errors import IngestError, RagitError
from ragit_mcp.ingest.documents import Candidate
from ragit_mcp.ingest.request import IngestRequest
from ragit_mcp.snapshots.manifest import Manifest, manifest_path, read_manifest
from ragit_mcp.snapshots.repository import coded_git_errors
from ragit_mcp.snapshots.selection import resolve_reference
from ragit_mcp.store.reader import Store, StoredDocument

__all__ = ["Base", "Plan", "make_plan", "snapshot_key", "snapshot_of"]

_REGULAR_MODES: Final = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True)
class Base:
    """A snapshot that is continued.

    Attributes:
        commit: its commit.
        digest: its membership.
        documents: what it consists of.
    """

    commit: str
    digest: str
    documents: tuple[StoredDocument, ...]


@dataclass(slots=True)
class Plan:
    """What is to be indexed.

    Attributes:
        commit: HEAD's commit.
        commit_time: its time, seconds since the epoch.
        parent: its first parent.
        base: the snapshot that is continued.
        planned: the documents that the request is about.
        carried: documents taken over from the base.
        deleted: ids of documents of the base that are gone.
        outside: number of documents that the include globs leave out.
        suggestion: the command that would include them.
        irregular: number of planned names that are no regular files.
        named: the paths of mode `paths`.
        choice: the globs of mode `files`.
        filter: the configured globs.
    """

    commit: str
    commit_time: int
    parent: str | None
    base: Base | None = None
    planned: list[Candidate] = field(default_factory=list)
    carried: list[Candidate] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    outside: int = 0
    suggestion: str | None = None
    irregular: int = 0
    named: frozenset[str] | None = None
    choice: FileChoice | None = None
    filter: CandidateFilter | None = None

    @property
    def candidates(self) -> list[Candidate]:
        """Every document that the snapshot is to have, ordered by path."""
        found = {candidate.path: candidate for candidate in (*self.carried, *self.planned)}
        return [found[path] for path in sorted(found)]

    def concerns(self, path: str, placement: Placement | None = None) -> bool:
        """Whether a file is one that the request is about.

        Args:
            path: its repository path.
            placement: where it stands among the globs, if that is known.
        """
        if self.named is not None:
            return path in self.named
        if self.choice is not None:
            return self.choice.matches(path)
        if placement is None and self.filter is not None:
            placement = self.filter.place(path)
        return placement is Placement.SELECTED


def make_plan(
    repository: Repository,
    root: str,
    request: IngestRequest,
    config: Config,
    commit: str,
    store: Store | None,
) -> Plan:
    """Plan an ingest of a commit.

    Args:
        repository: the repository.
        root: its root.
        request: what is asked for.
        config: the configuration.
        commit: HEAD's commit.
        store: the current generation; None if there is none.

    Raises:
        IngestError: `INGEST_BASE_NOT_ANCESTOR`, `INGEST_BASE_NOT_INDEXED`, `INGEST_GLOB_INVALID`,
            `INGEST_PATH_INVALID`.
        SnapshotError: of the reference or of the base's manifest; `REPOSITORY_UNUSABLE`.
    """
    with coded_git_errors():
        found = repository.commit(commit)
    plan = Plan(commit, found.committer.time, found.parents[0] if found.parents else None)
    plan.filter = CandidateFilter(
        doc_globs=config.ingest.doc_globs, include=config.ingest.include, exclude=config.ingest.exclude
    )
    base_commit = None
    if request.mode == "since":
        base_commit = _since_base(repository, request.since or "", commit)
        plan.base = snapshot_of(root, store, base_commit, required=True)
    elif request.mode == "files":
        plan.choice = FileChoice(request.files or "")
    elif request.mode == "paths":
        plan.named = frozenset(check_explicit_path(path) for path in request.paths)
        if not plan.named:
            raise IngestError("INGEST_PATH_INVALID", "No path is named.", details={"reason": "empty"})
    if request.mode in {"files", "paths"}:
        plan.base = _partial_base(root, store, commit, plan.parent)
    with coded_git_errors():
        entries = repository.list_tree(commit, sizes=False)
        added = None if base_commit is None else set(_added_paths(repository, base_commit, commit))
    documents = [(path_from_git(entry.path), entry) for entry in entries if _could_be_document(entry)]
    _place(plan, documents, added, config)
    _carry_over(plan, documents)
    return plan


def snapshot_of(root: str, store: Store | None, commit: str, *, required: bool = False) -> Base | None:
    """The snapshot of a commit, if it is indexed and the store holds it.

    Args:
        root: the repository's root.
        store: the current generation.
        commit: the commit.
        required: a damaged manifest is an error, as is a snapshot that is not there.

    Raises:
        IngestError: `INGEST_BASE_NOT_INDEXED`.
        SnapshotError: `SNAPSHOT_MANIFEST_INVALID`, `SNAPSHOT_SCHEMA_UNSUPPORTED`.
    """
    key = snapshot_key(root, store, commit, required=required)
    if key is not None and store is not None:
        return Base(*key, tuple(store.snapshot_documents(*key)))
    if required:
        raise _not_indexed(commit)
    return None


def snapshot_key(
    root: str, store: Store | None, commit: str, *, required: bool = False
) -> tuple[str, str] | None:
    """Commit and digest of an indexed commit's snapshot, if the store holds it; arguments as `snapshot_of`.

    Raises:
        SnapshotError: as `snapshot_of`.
    """
    manifest: Manifest | None = None
    try:
        manifest = read_manifest(root, commit)
    except RagitError:
        if required:
            raise
    reference = manifest.membership if manifest is not None else None
    if store is None or reference is None or not store.has_snapshot(commit, reference.digest):
        return None
    return commit, reference.digest


def _since_base(repository: Repository, reference: str, commit: str) -> str:
    base = resolve_reference(repository, reference)
    with coded_git_errors():
        if not repository.is_ancestor(base, commit):
            raise IngestError(
                "INGEST_BASE_NOT_ANCESTOR",
                "The base is not an ancestor of HEAD: name one, or index everything.",
                details={"baseSha": base, "headSha": commit},
            )
    return base


def _partial_base(root: str, store: Store | None, commit: str, parent: str | None) -> Base:
    """HEAD's own snapshot, else its first parent's; a damaged manifest of HEAD's is told and not passed over."""
    for candidate in (commit, parent):
        if candidate is not None and read_manifest(root, candidate) is not None:
            found = snapshot_of(root, store, candidate, required=True)
            if found is not None:
                return found
    raise _not_indexed(commit)


def _not_indexed(commit: str) -> IngestError:
    return IngestError(
        "INGEST_BASE_NOT_INDEXED",
        "The snapshot to continue is not indexed: index everything once.",
        details={"baseSha": commit, "manifestPath": manifest_path(commit)},
    )


def _added_paths(repository: Repository, base: str, commit: str) -> Iterator[str]:
    for entry in repository.diff_names(base, commit):
        if entry.status != "D":
            yield path_from_git(entry.path)


def _could_be_document(entry: TreeEntry) -> bool:
    return entry.path[-4:].lower().endswith((b".md", b".mdx"))


def _place(
    plan: Plan, documents: Iterable[tuple[str, TreeEntry]], added: set[str] | None, config: Config
) -> None:
    """Sort the commit's Markdown files into planned ones and those outside the globs."""
    outside: list[str] = []
    found: set[str] = set()
    for path, entry in documents:
        placement = plan.filter.place(path) if plan.filter is not None else Placement.NOT_A_DOCUMENT
        if placement is Placement.OUTSIDE and entry.mode in _REGULAR_MODES:
            outside.append(path)
        if not plan.concerns(path, placement) or (added is not None and path not in added):
            continue
        explicit = plan.named is not None or plan.choice is not None
        found.add(path)
        if entry.mode not in _REGULAR_MODES:
            if plan.named is not None:
                raise IngestError(
                    "INGEST_PATH_INVALID",
                    "A named path is a symbolic link or a submodule in this commit; only regular files are indexed.",
                    details={"reason": "not_regular"},
                )
            plan.irregular += 1
            continue
        plan.planned.append(Candidate(path, entry.oid, explicit=explicit))
    if plan.named is not None:
        _require_known(plan, plan.named - found)
    plan.outside = len(outside)
    plan.suggestion = suggest_include(outside, config.ingest.include)


def _require_known(plan: Plan, missing: frozenset[str]) -> None:
    """A named path that the commit lacks is a deletion, if the base had it, and a mistake otherwise."""
    of_base = {document.document_id for document in plan.base.documents} if plan.base is not None else set()
    if any(document_id(path) not in of_base for path in missing):
        raise IngestError(
            "INGEST_PATH_INVALID",
            "A named path is not in HEAD's commit: commit it first.",
            details={"reason": "not_found"},
        )


def _carry_over(plan: Plan, documents: Iterable[tuple[str, TreeEntry]]) -> None:
    if plan.base is None:
        return
    planned = {candidate.path for candidate in plan.planned}
    here = {document_id(path): (path, entry) for path, entry in documents if is_markdown(path)}
    for document in plan.base.documents:
        if document.artifact is not None:
            continue
        found = here.get(document.document_id)
        if found is None or found[1].mode not in _REGULAR_MODES:
            plan.deleted.append(document.document_id)
        elif found[0] not in planned:
            path, entry = found
            unchanged = entry.oid == document.blob_id
            if unchanged or plan.named is not None or plan.choice is not None or _still_selected(plan, path):
                plan.carried.append(Candidate(path, entry.oid))
            else:
                plan.deleted.append(document.document_id)


def _still_selected(plan: Plan, path: str) -> bool:
    return plan.filter is not None and plan.filter.place(path) is Placement.SELECTED

"""What an ingest is asked for, what it tells meanwhile, and what it answers (contract A9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.embedding.vectors import FloatArray

__all__ = ["Embedder", "IngestRequest", "IngestResult", "Mode", "Progress", "ProgressListener", "Stage"]

Mode = Literal["all", "since", "files", "paths"]
Stage = Literal["planning", "reading", "embedding", "verifying", "publishing", "done"]


class Embedder(Protocol):
    """What ingest needs of `ragit_mcp.embedding.Embedder`."""

    @property
    def contract(self) -> EmbeddingContract:
        """The terms of the vectors."""

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """One row a text."""


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What is to be indexed; always of HEAD's commit.

    Attributes:
        mode: `all` selects by the configured globs; `since` takes over the snapshot of a base and what changed;
            `files` and `paths` take over the snapshot of HEAD, or of its first parent, and what is named.
        since: the base of mode `since`, as `at`: HEAD or digits of a commit's id.
        files: globs of mode `files`, separated by commas; `!` in front takes away.
        paths: repository paths of mode `paths`.
        scope: scopes that are indexed; information for artifacts.
        dry_run: only say what would be done.
        strict_clean: fail if documents in the work tree differ from the commit; otherwise warn.
        lock_wait_seconds: how long another writer is waited for.
        command: what the write lock says of its owner.
    """

    mode: Mode = "all"
    since: str | None = None
    files: str | None = None
    paths: tuple[str, ...] = ()
    scope: Literal["durable", "all"] = "durable"
    dry_run: bool = False
    strict_clean: bool = False
    lock_wait_seconds: float = 10.0
    command: str = "ragit ingest"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest is.

    Attributes:
        stage: what it does.
        files_done: documents read.
        files_total: documents to be read; those already in the store are not among them.
        chunks_embedded: new chunks that have their vector.
        chunks_new: new chunks met so far.
    """

    stage: Stage
    files_done: int = 0
    files_total: int = 0
    chunks_embedded: int = 0
    chunks_new: int = 0


ProgressListener = Callable[[Progress], None]


@dataclass(slots=True)
class IngestResult:
    """What was done; `to_json` is the command's data.

    Attributes:
        mode: `apply` or `dry-run`.
        processed: documents of the plan that are in the snapshot.
        skipped: documents of the plan that are not.
        masked: secrets hidden in the documents of the plan.
        commit_sha: the commit.
        manifest_path: repository path of its manifest.
        search_ready: the snapshot can be searched now.
        planned_files: the documents of the plan, as shown.
        deleted_document_ids: documents of the base that the snapshot no longer has.
        dirty_candidates: documents that differ in the work tree, as shown.
        would_fail: a dry run that would fail if applied.
        full_snapshot: mode `all`.
        scope: as requested.
        bound_artifact_ids: artifacts in the snapshot.
        admission: decisions about documents, see `AdmissionReport.to_json`.
        doc_authority: what documents of their types lack.
        warnings: what the user should know.
        documents: document versions in the snapshot.
        chunks: places in the snapshot.
        new_documents: documents that had to be read.
        new_chunks: chunks that had to be embedded.
        unchanged: the snapshot was there already and nothing was written.
    """

    mode: Literal["apply", "dry-run"]
    commit_sha: str
    manifest_path: str
    scope: str
    full_snapshot: bool
    processed: int = 0
    skipped: int = 0
    masked: int = 0
    search_ready: bool = False
    planned_files: list[str] = field(default_factory=list)
    deleted_document_ids: list[str] = field(default_factory=list)
    dirty_candidates: list[str] = field(default_factory=list)
    would_fail: bool = False
    bound_artifact_ids: list[str] = field(default_factory=list)
    admission: dict[str, Any] = field(default_factory=dict)
    doc_authority: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    documents: int = 0
    chunks: int = 0
    new_documents: int = 0
    new_chunks: int = 0
    unchanged: bool = False

    def to_json(self) -> dict[str, Any]:
        """The data of the reply: the contract's members in its order, then ours."""
        return {
            "mode": self.mode,
            "processed": self.processed,
            "skipped": self.skipped,
            "masked": self.masked,
            "commitSha": self.commit_sha,
            "manifestPath": self.manifest_path,
            "searchReady": self.search_ready,
            "plannedFiles": self.planned_files,
            "deletedDocumentIds": self.deleted_document_ids,
            "dirtyCandidates": self.dirty_candidates,
            "wouldFail": self.would_fail,
            "fullSnapshot": self.full_snapshot,
            "scope": self.scope,
            "boundArtifactIds": self.bound_artifact_ids,
            "admission": self.admission,
            "docAuthority": self.doc_authority,
            "warnings": self.warnings,
            "documents": self.documents,
            "chunks": self.chunks,
            "newDocuments": self.new_documents,
            "newChunks": self.new_chunks,
            "unchanged": self.unchanged,
        }

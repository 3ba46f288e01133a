"""From a blob to a document that may be indexed: decoded, decided about, masked, cut into chunks.

Admission and masking see the whole document before anything else does; what comes out holds no secret, in its path
neither. Content comes from the object database only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import mcpkit
from mcpkit.git import GitError, Repository
from ragit_mcp.corpus import (
    CHUNKER_VERSION,
    Chunk,
    DocumentRefused,
    decode_document,
    document_id,
    read_document,
    version_id,
)
from ragit_mcp.safety import Action, AdmissionMode, Decision, Outcome, Reason, decide, masked_text, outcome_of
from ragit_mcp.store.terms import ANALYSIS_VERSION

__all__ = ["Candidate", "PreparedDocument", "Refusal", "decision_of", "prepare_documents", "recipe_of"]

#: Version of what this module makes of a document's bytes.
READER_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document of the commit that is to be in the snapshot.

    Attributes:
        path: its repository path.
        blob_id: git's id of its content.
        explicit: somebody named it.
    """

    path: str
    blob_id: str
    explicit: bool = False

    @property
    def version_id(self) -> str:
        """Id of this content of it."""
        return version_id(self.path, self.blob_id)


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document version ready to be stored; artifacts take the same form.

    Attributes:
        version_id: id of this content of it.
        document_id: id of the document.
        path: its repository path, masked.
        doc_type: its type.
        title: its title.
        blob_id: git's id of its content.
        hash: SHA-256 of its content.
        line_count: lines of the file.
        chunks: its chunks; none if it is blocked.
        masked_count: secrets hidden in it.
        outcome: `indexed` or `blocked`.
        notes: what was found, for later reports: `action`, `reasons`, `violations`.
        scope: scope of all of its chunks.
        artifact: what is to be kept of the artifact it was made from.
    """

    version_id: str
    document_id: str
    path: str
    doc_type: str
    title: str | None
    blob_id: str
    hash: str
    line_count: int
    chunks: tuple[Chunk, ...]
    masked_count: int
    outcome: str = "indexed"
    notes: dict[str, Any] = field(default_factory=dict)
    scope: str = "durable"
    artifact: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that cannot be a document.

    Attributes:
        reason: `too_large`, `not_text`, `too_many_chunks` or `missing_object`.
    """

    reason: str


def recipe_of(mode: AdmissionMode) -> str:
    """What a stored document version depends on beside its content; another recipe reads it anew."""
    return f"{CHUNKER_VERSION}.{READER_VERSION}.{ANALYSIS_VERSION}-{mcpkit.__version__}-{mode.value}"


def prepare_documents(
    repository: Repository, candidates: Sequence[Candidate], *, mode: AdmissionMode, max_bytes: int
) -> Iterator[tuple[Candidate, PreparedDocument | Refusal]]:
    """Read documents from the object database, in order.

    Args:
        repository: the repository.
        candidates: the documents.
        mode: under `enforce` a blocked document has no chunks; under `report-only` it is indexed masked.
        max_bytes: `ingest.max_file_bytes`.

    Raises:
        GitError: a failing git; a missing or too large object is an answer, not an error.
    """
    with repository.blobs(max_bytes=max_bytes) as reader:
        contents = reader.read_many((candidate.blob_id for candidate in candidates), max_bytes=max_bytes)
        for candidate, (_, content) in zip(candidates, contents, strict=True):
            if isinstance(content, GitError):
                too_large = content.kind == "object_too_large"
                yield candidate, Refusal("too_large" if too_large else content.kind)
                continue
            try:
                yield candidate, prepare_document(candidate, content, mode=mode, max_bytes=max_bytes)
            except DocumentRefused as refused:
                yield candidate, Refusal(refused.reason)


def prepare_document(
    candidate: Candidate, content: bytes, *, mode: AdmissionMode, max_bytes: int
) -> PreparedDocument:
    """Make a document of a file's bytes.

    Raises:
        DocumentRefused: it cannot be one.
    """
    source = decode_document(content, max_bytes=max_bytes)
    decision = decide(candidate.path, source.text)
    masked_path = masked_text(candidate.path).text
    notes: dict[str, Any] = {
        "action": decision.action.value,
        "reasons": [reason.value for reason in decision.reasons],
        "violations": [],
    }
    blocked = outcome_of(decision, mode, explicit=False) is not Outcome.INDEX
    document = read_document(masked_path, "" if blocked else decision.text)
    if not blocked:
        notes["violations"] = [
            {"kind": violation.kind, "message": violation.message} for violation in document.violations
        ]
    return PreparedDocument(
        version_id=candidate.version_id,
        document_id=document_id(candidate.path),
        path=masked_path,
        doc_type=document.doc_type,
        title=document.title,
        blob_id=candidate.blob_id,
        hash=hashlib.sha256(content).hexdigest(),
        line_count=document.line_count,
        chunks=() if blocked else document.chunks,
        masked_count=decision.masked_count,
        outcome="blocked" if blocked else "indexed",
        notes=notes,
    )


def decision_of(notes: dict[str, Any], masked_count: int) -> Decision:
    """The decision that was made about a stored document; its text is no longer known."""
    try:
        action = Action(notes["action"])
        reasons = tuple(Reason(reason) for reason in notes["reasons"])
    except (KeyError, ValueError, TypeError):
        return Decision(Action.ALLOW, (), "", masked_count)
    return Decision(action, reasons, "", masked_count)

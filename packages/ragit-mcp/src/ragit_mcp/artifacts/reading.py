"""The artifacts of a repository, and the passages that the scopes session, harness and evidence serve.

Reading is bounded, follows no link and never fails: a file that is no artifact is left out and counted. What comes from
here is masked once more before it is shown, like everything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from mcpkit.files import FileAccessError, read_below, walk_below
from ragit_mcp.artifacts.records import ArtifactRecord

__all__ = ["ARTIFACTS_DIR", "ArtifactCollection", "ArtifactPassage", "artifact_passages", "read_artifacts"]

ARTIFACTS_DIR: Final = ".ragit/artifacts"
_MAX_FILES: Final = 20_000
_MAX_BYTES: Final = 512 * 1024
_MAX_DEPTH: Final = 2

PassageScope = Literal["session", "harness", "evidence"]
_SERVED_STATUSES: Final = frozenset({"reviewed", "promoted"})
_EVIDENCE_STATUSES: Final = frozenset({"captured", "reviewed"})
_EVIDENCE_TITLE: Final = "Evidence"


@dataclass(frozen=True, slots=True)
class ArtifactCollection:
    """What lies in the artifact directory.

    Attributes:
        records: the artifacts, by id.
        unreadable: number of files that are no artifact.
    """

    records: tuple[ArtifactRecord, ...]
    unreadable: int

    def count(self, scope: str) -> int:
        """Artifacts of a scope, whatever their status."""
        return sum(record.artifact_scope == scope for record in self.records)

    @property
    def pending(self) -> int:
        """Artifacts that no ingest has bound to a commit yet."""
        return sum(record.binding_status == "pending" for record in self.records)

    def find(self, artifact_id: str) -> ArtifactRecord | None:
        """The artifact with an id."""
        return next((record for record in self.records if record.artifact_id == artifact_id), None)


@dataclass(frozen=True, slots=True)
class ArtifactPassage:
    """One candidate of a search.

    Attributes:
        record: the artifact.
        scope: the scope that serves it.
        text: what is searched and shown.
        section_title: heading of the hit.
        source_type: `artifact` or `evidence`; the type of its citation.
        source_id: artifact id, for evidence with the evidence's id after a colon.
        source_version: the artifact's content hash.
        source_sha: commit of the citation, if there is one.
    """

    record: ArtifactRecord
    scope: PassageScope
    text: str
    section_title: str
    source_type: Literal["artifact", "evidence"]
    source_id: str
    source_version: str
    source_sha: str | None


def read_artifacts(root: str | os.PathLike[str]) -> ArtifactCollection:
    """The artifacts of a repository.

    Args:
        root: the repository's root.
    """
    records: dict[str, ArtifactRecord] = {}
    unreadable = 0
    try:
        for file in walk_below(root, ARTIFACTS_DIR, max_entries=_MAX_FILES, max_depth=_MAX_DEPTH):
            if not file.path.endswith(".json"):
                continue
            record = _read(root, file.path)
            if record is None:
                unreadable += 1
            else:
                records[record.artifact_id] = record
    except FileAccessError as error:
        unreadable += error.kind != "not_found"
    return ArtifactCollection(tuple(records[key] for key in sorted(records)), unreadable)


def artifact_passages(records: Iterable[ArtifactRecord], scope: str) -> list[ArtifactPassage]:
    """The passages that a scope serves, in the order of ids (contract A4, A13).

    Artifacts appear in their own scope once reviewed or promoted. The scope evidence serves each excerpt of captured and
    reviewed artifacts. `all` is all of them. What has the search policy `none` appears nowhere.

    Args:
        records: of `read_artifacts`.
        scope: `durable` (no artifact at all), `session`, `harness`, `evidence` or `all`.
    """
    passages: list[ArtifactPassage] = []
    searched = [record for record in records if record.search_policy != "none"]
    for served in ("session", "harness"):
        if scope in {served, "all"}:
            passages += [
                _whole(record, served)
                for record in searched
                if record.artifact_scope == served and record.status in _SERVED_STATUSES
            ]
    if scope in {"evidence", "all"}:
        passages += [
            passage
            for record in searched
            if record.status in _EVIDENCE_STATUSES
            for passage in _excerpts(record)
        ]
    return passages


def _whole(record: ArtifactRecord, scope: PassageScope) -> ArtifactPassage:
    return ArtifactPassage(
        record=record,
        scope=scope,
        text=record.text,
        section_title=record.title,
        source_type="artifact",
        source_id=record.artifact_id,
        source_version=record.provenance.content_hash,
        source_sha=record.source_sha,
    )


def _excerpts(record: ArtifactRecord) -> list[ArtifactPassage]:
    return [
        ArtifactPassage(
            record=record,
            scope="evidence",
            text=evidence.excerpt,
            section_title=_EVIDENCE_TITLE,
            source_type="evidence",
            source_id=f"{record.artifact_id}:{evidence.evidence_id}",
            source_version=record.provenance.content_hash,
            source_sha=record.source_sha,
        )
        for evidence in record.evidence_refs
        if evidence.excerpt.strip()
    ]


def _read(root: str | os.PathLike[str], path: str) -> ArtifactRecord | None:
    try:
        record = ArtifactRecord.from_json(json.loads(read_below(root, path, max_bytes=_MAX_BYTES)))
    except (FileAccessError, ValueError, RecursionError):
        return None
    # A file under another artifact's name would answer for it.
    return record if record.path == path else None

"""Artifacts: what sessions and the harness taught, kept on disk and served after a review (contract A16).

    .ragit/artifacts/session/<artifactId>.json
    .ragit/artifacts/harness/<kind>/<artifactId>.json

records       what an artifact is, and which changes of status there are
reading       all artifacts of a repository; the passages that the scopes session, harness and evidence serve
input         checking the JSON documents that commands take
extraction    which artifacts a transcript holds: heuristics of ours
capture       session materialize, artifact review, harness capture; the only module here that writes

An artifact is served in the scope of its kind once it was reviewed; its evidence may be served before that, as evidence.
Readers import `reading` and can reach no writer.
"""

from __future__ import annotations

from ragit_mcp.artifacts.reading import (
    ArtifactCollection,
    ArtifactPassage,
    artifact_passages,
    read_artifacts,
)
from ragit_mcp.artifacts.records import ArtifactRecord, EvidenceRef, Provenance

__all__ = [
    "ArtifactCollection",
    "ArtifactPassage",
    "ArtifactRecord",
    "EvidenceRef",
    "Provenance",
    "artifact_passages",
    "read_artifacts",
]

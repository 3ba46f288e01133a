"""What a hit is quoted by: an id that changes whenever the cited content or its place does (contract A13, F6)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["Citation", "SourceType", "citation_id"]

SourceType = Literal["document", "artifact", "evidence"]
_DIGITS: Final = 24


def citation_id(source_type: str, source_id: str, source_version: str) -> str:
    """`cite-` and 24 hexadecimal digits of SHA-256 over the three, separated by NUL."""
    joined = f"{source_type}\0{source_id}\0{source_version}".encode("utf-8", "surrogatepass")
    return f"cite-{hashlib.sha256(joined).hexdigest()[:_DIGITS]}"


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a hit comes from.

    Attributes:
        source_type: `document`, `artifact` or `evidence`.
        source_id: chunk id, artifact id, or artifact and evidence id with a colon.
        source_version: id of the document version, or the artifact's content hash.
        source_sha: the commit it was read from; None for an artifact that no commit is known of.
        path: path as it is shown.
        line_start: first line in the file, from 1; None for artifacts, which have no lines.
        line_end: last line.
    """

    source_type: SourceType
    source_id: str
    source_version: str
    source_sha: str | None
    path: str
    line_start: int | None
    line_end: int | None

    @property
    def id(self) -> str:
        """The citation's id."""
        return citation_id(self.source_type, self.source_id, self.source_version)

    def to_json(self) -> dict[str, Any]:
        """The member `citation` of a hit."""
        return {
            "id": self.id,
            "sourceType": self.source_type,
            "sourceId": self.source_id,
            "sourceVersion": self.source_version,
            "sourceSha": self.source_sha,
            "path": self.path,
            "lineStart": self.line_start,
            "lineEnd": self.line_end,
        }

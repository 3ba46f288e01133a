"""A passage that was found, and the three ways to show it (contract A13, A14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from ragit_mcp.retrieval.citations import Citation
from ragit_mcp.retrieval.scoring import ScoreBreakdown
from ragit_mcp.safety import masked_text

__all__ = ["VIEWS", "Hit", "View", "delivered_text", "excerpt", "rounded"]

View = Literal["minimal", "default", "full"]
VIEWS: Final[tuple[View, ...]] = ("minimal", "default", "full")

_EXCERPT_CHARACTERS: Final[dict[View, int]] = {"minimal": 120, "default": 200}
_DECIMALS: Final = 6
_WHITE_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage at one place, with its score.

    Attributes:
        key: what makes it the same hit: chunk id, artifact id, or the id of the evidence.
        path: the path as it is shown.
        section_title: title of its section.
        text: the whole passage.
        scope: the scope that serves it.
        citation: where it comes from.
        score: its score.
        artifact_id: the artifact it belongs to; None for a document.
        artifact_kind: that artifact's kind.
        authority: label of the authority behind it.
        confidence: how sure its author was, 0 to 1.
    """

    key: str
    path: str
    section_title: str
    text: str
    scope: str
    citation: Citation
    score: ScoreBreakdown
    artifact_id: str | None = None
    artifact_kind: str | None = None
    authority: str = "promoted_durable"
    confidence: float = 1.0

    @property
    def family(self) -> str:
        """What counts as one source when a context pack spreads over sources."""
        if self.citation.source_type == "document":
            return f"document:{self.path}"
        return f"{self.citation.source_type}:{self.artifact_id or self.citation.source_id}"

    @property
    def order(self) -> tuple[float, str, str, str, str]:
        """Hits are sorted by this; among equal scores names decide, never the order of rows."""
        return (
            -round(self.score.final, _DECIMALS),
            self.path,
            self.section_title,
            self.citation.id,
            self.key,
        )

    def to_json(self, view: View, *, explain: bool = False) -> dict[str, Any]:
        """The hit as a reply shows it."""
        shown: dict[str, Any] = {
            "path": self.path,
            "sectionTitle": self.section_title,
            "scoreFinal": rounded(self.score.final),
            "citation": self.citation.to_json(),
            "scope": self.scope,
            "originType": self.citation.source_type,
            "artifactId": self.artifact_id,
            "artifactKind": self.artifact_kind,
            "authority": self.authority,
            "confidence": rounded(self.confidence),
        }
        if explain:
            shown["scoreBreakdown"] = rounded(self.score.to_json())
        if view != "minimal":
            shown["scoreVector"] = rounded(self.score.vector)
            shown["scoreKeyword"] = rounded(self.score.keyword)
        shown["text" if view == "full" else "excerpt"] = delivered_text(self.text, view)
        return shown


def delivered_text(text: str, view: View) -> str:
    """What a view delivers of a passage: all of it, or an excerpt.

    Secrets are hidden first: what is left of one that an excerpt cuts in two would not look like a secret any more.
    """
    masked = masked_text(text).text
    return masked if view == "full" else excerpt(masked, _EXCERPT_CHARACTERS[view])


def excerpt(text: str, characters: int) -> str:
    """The beginning of a text on one line; `...` where it was cut."""
    line = _WHITE_SPACE.sub(" ", text).strip()
    return line if len(line) <= characters else f"{line[:characters]}..."


def rounded(value: Any) -> Any:
    """Every number in a JSON value with six decimals."""
    if isinstance(value, float):
        return round(value, _DECIMALS) + 0.0  # no negative zero
    if isinstance(value, dict):
        return {key: rounded(member) for key, member in value.items()}
    return value

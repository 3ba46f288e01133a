"""The arithmetic of a score (contract A13): how relevance, authority and age become one number from 0 to 1.

    retrieval = alpha * vector + (1 - alpha) * keyword          mode `hybrid`
    retrieval = keyword                                         mode `keyword`: a passage that has no vector
    final     = 0.80 * retrieval + 0.15 * authority + 0.05 * recency

`vector` and `keyword` are scaled to 0..1 before they come here; see `fusion`. Every contribution is its score times its
weight, and contributions add up to what they contribute to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = [
    "AUTHORITY_WEIGHT",
    "RECENCY_WEIGHT",
    "RETRIEVAL_WEIGHT",
    "Mode",
    "ScoreBreakdown",
    "authority_score",
    "recency_score",
]

Mode = Literal["hybrid", "keyword"]

RETRIEVAL_WEIGHT: Final = 0.80
AUTHORITY_WEIGHT: Final = 0.15
RECENCY_WEIGHT: Final = 0.05

_DAYS_TO_OLD: Final = 30
_LEAST_RECENCY: Final = 0.2
_SECONDS_A_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """One hit's score and where it comes from; all scores 0 to 1.

    Attributes:
        mode: whether the passage has a vector.
        alpha: share of the vector in a hybrid score.
        vector: scaled similarity.
        keyword: scaled keyword score.
        authority: how far the source's word goes.
        recency: how fresh it is.
        cosine: the similarity before it was scaled; None where there is none.
        bm25: the keyword score before it was scaled; None where it was not computed.
    """

    mode: Mode
    alpha: float
    vector: float
    keyword: float
    authority: float
    recency: float
    cosine: float | None = None
    bm25: float | None = None

    @property
    def vector_weight(self) -> float:
        """Weight of the vector in the retrieval score."""
        return self.alpha if self.mode == "hybrid" else 0.0

    @property
    def keyword_weight(self) -> float:
        """Weight of the keywords in the retrieval score."""
        return 1 - self.alpha if self.mode == "hybrid" else 1.0

    @property
    def retrieval(self) -> float:
        """Relevance to the question."""
        return self.vector_weight * self.vector + self.keyword_weight * self.keyword

    @property
    def final(self) -> float:
        """The score that hits are ordered by."""
        return (
            RETRIEVAL_WEIGHT * self.retrieval
            + AUTHORITY_WEIGHT * self.authority
            + RECENCY_WEIGHT * self.recency
        )

    def to_json(self) -> dict[str, Any]:
        """The member `scoreBreakdown` of a hit."""
        vector = _part(self.vector, self.vector_weight)
        keyword = _part(self.keyword, self.keyword_weight)
        if self.cosine is not None:
            vector["cosine"] = self.cosine
        if self.bm25 is not None:
            keyword["bm25"] = self.bm25
        return {
            "mode": self.mode,
            "retrieval": {
                **_part(self.retrieval, RETRIEVAL_WEIGHT),
                "inputs": {"vector": vector, "keyword": keyword},
            },
            "authority": _part(self.authority, AUTHORITY_WEIGHT),
            "recency": _part(self.recency, RECENCY_WEIGHT),
            "final": self.final,
        }


def authority_score(scope: str, label: str, *, tier: str | None = None, status: str | None = None) -> float:
    """How far a passage's word goes: 1 for the repository's documents, least for mere evidence.

    Args:
        scope: the scope that serves it.
        label: authority of its record.
        tier: tier of the artifact, if it is one.
        status: status of the artifact, if it is one.
    """
    if label == "promoted_durable" or scope == "durable" or tier == "durable" or status == "promoted":
        return 1.0
    if label == "reviewed_harness" or scope == "harness":
        return 0.9
    return {"session": 0.8, "evidence": 0.4}.get(scope, 0.6)


def recency_score(updated: float | None, snapshot_time: float) -> float:
    """How fresh an artifact is at the snapshot's commit, falling from 1 to 0.2 within a month.

    The clock is the commit's, not the wall's: the same commit gives the same ranking next year (contract F10).

    Args:
        updated: seconds since the epoch of the artifact's last change; None if that is unknown.
        snapshot_time: seconds since the epoch of the snapshot's commit.
    """
    if updated is None:
        return _LEAST_RECENCY
    days = max(0.0, snapshot_time - updated) / _SECONDS_A_DAY
    return max(_LEAST_RECENCY, 1 - min(days / _DAYS_TO_OLD, 1 - _LEAST_RECENCY))


def _part(score: float, weight: float) -> dict[str, Any]:
    return {"score": score, "weight": weight, "contribution": score * weight}

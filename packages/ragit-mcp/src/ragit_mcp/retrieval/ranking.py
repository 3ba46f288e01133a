"""All passages of a snapshot and scope, ordered for one question.

Every passage has a score; nothing is cut off before both similarities and keywords are known, so a passage that only its
words or only its meaning give away is found alike. What is far from the top is scored quickly and not touched again:
texts are read, and scores computed to the last digit, for as many passages as somebody asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ragit_mcp.artifacts import ArtifactPassage
from ragit_mcp.corpus import show_path
from ragit_mcp.retrieval.citations import Citation
from ragit_mcp.retrieval.fusion import Scale
from ragit_mcp.retrieval.hits import Hit
from ragit_mcp.retrieval.keywords import KeywordScores
from ragit_mcp.retrieval.scoring import Mode, ScoreBreakdown, authority_score, recency_score
from ragit_mcp.retrieval.similarity import exact_similarities, scan
from ragit_mcp.store import SCOPES, Membership, Store

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Ranking", "ScoredArtifact"]

# Passages whose quick score comes this close to the last one asked for are scored exactly too: quick scores are good to
# about six digits.
_MARGIN: Final = 1e-4
# Passages scored exactly beyond those asked for, and most of those that share one score.
_SPARE: Final = 32
_MOST_TIED: Final = 2_000


@dataclass(frozen=True, slots=True)
class ScoredArtifact:
    """A passage from outside the store.

    Attributes:
        passage: the passage.
        cosine: its similarity; None where it has no vector and ranks by keywords alone.
        bm25: its keyword score.
    """

    passage: ArtifactPassage
    cosine: float | None
    bm25: float


class Ranking:
    """The order of a snapshot's passages for one question.

    Args:
        store: the open generation.
        members: the passages of the snapshot that the scope serves.
        alpha: share of the vectors, 0 to 1.
        vector: the question's vector of unit length; None for keywords only.
        keywords: keyword scores; None for vectors only.
        artifacts: passages from outside the store.
        sharpness: see `fusion`.
    """

    def __init__(
        self,
        store: Store,
        members: Membership,
        *,
        alpha: float,
        vector: npt.NDArray[np.float32] | None,
        keywords: KeywordScores | None,
        artifacts: Sequence[ScoredArtifact] = (),
        sharpness: float = 1.0,
    ) -> None:
        import numpy as np

        self._store = store
        self._members = members
        self._alpha = alpha
        self._vector = vector
        self._keywords = keywords
        nothing = np.zeros(members.row_limit + 1, dtype=np.float64)
        self._block = store.vectors() if vector is not None else None
        cosines = nothing if vector is None or self._block is None else scan(self._block, members, vector)
        scores = nothing if keywords is None else keywords.scores
        self._bm25 = scores
        self._vector_scale = Scale(max([self._best_similarity(cosines), *_known(artifacts)]), sharpness)
        self._keyword_scale = Scale(
            max([float(scores.max(initial=0.0)), *(artifact.bm25 for artifact in artifacts)])
        )
        quick = alpha * self._vector_scale.many(cosines) + (1 - alpha) * self._keyword_scale.many(scores)
        self._quick = quick[members.rows]
        self._artifacts = self._artifact_hits(artifacts)

    def first(self, count: int) -> list[Hit]:
        """The best passages in order, at most `count`."""
        found = self._document_hits(count) + self._artifacts
        return sorted(found, key=lambda hit: hit.order)[:count]

    def _best_similarity(self, cosines: npt.NDArray[np.float64]) -> float:
        """The greatest similarity, to the last digit: it scales all others."""
        import numpy as np

        if self._vector is None or self._block is None or not len(self._members):
            return 0.0
        best = float(cosines.max())
        if best <= 0:
            return 0.0
        (near,) = np.nonzero(cosines >= best - _MARGIN)
        return float(exact_similarities(self._block, near[:_MOST_TIED], self._vector).max())

    def _document_hits(self, count: int) -> list[Hit]:
        places = self._candidates(count)
        members = self._members
        rows = members.rows[places]
        cosines: Sequence[float] | npt.NDArray[np.float64] = [0.0] * len(places)
        if self._vector is not None and self._block is not None:
            cosines = exact_similarities(self._block, rows, self._vector)
        scored = [
            (self._breakdown("hybrid", float(cosine), float(self._bm25[row])), int(place))
            for place, row, cosine in zip(places, rows, cosines, strict=True)
        ]
        # Names decide between equal scores, and only the best are worth reading: the cut keeps all equals.
        scored.sort(key=lambda entry: -round(entry[0].final, 6))
        if len(scored) > count:
            last = round(scored[count - 1][0].final, 6)
            scored = [entry for entry in scored if round(entry[0].final, 6) >= last]
        return self._read(scored)

    def _candidates(self, count: int) -> npt.NDArray[np.int64]:
        """Places among which the best `count` certainly are, in document order."""
        import numpy as np

        quick = self._quick
        (positive,) = np.nonzero(quick > 0)
        wanted = count + _SPARE
        if len(positive) <= wanted:
            return positive
        last = np.partition(quick, len(quick) - wanted)[len(quick) - wanted]
        (found,) = np.nonzero((quick >= max(last - _MARGIN, 0.0)) & (quick > 0))
        if len(found) > wanted + _MOST_TIED:
            # Thousands of equals: of those on the edge the first in the order of documents.
            clear = found[quick[found] > last + _MARGIN]
            edge = found[quick[found] <= last + _MARGIN]
            found = np.sort(np.concatenate([clear, edge[: wanted + _MOST_TIED - len(clear)]]))
        return found

    def _read(self, scored: Sequence[tuple[ScoreBreakdown, int]]) -> list[Hit]:
        members = self._members
        places = [place for _, place in scored]
        chunks = self._store.chunks(members.rows[places].tolist())
        documents = self._store.documents(members.documents[places].tolist())
        hits: list[Hit] = []
        for (score, place), chunk in zip(scored, chunks, strict=True):
            document = documents[int(members.documents[place])]
            path = show_path(document.path)
            key = document.chunk_id(chunk.content_id, int(members.ordinals[place]))
            citation = Citation(
                "document",
                key,
                document.version_id,
                members.commit_id,
                path,
                int(members.first_lines[place]),
                int(members.last_lines[place]),
            )
            scope = SCOPES[int(members.scopes[place])]
            hits.append(Hit(key, path, chunk.section_title, chunk.text, scope, citation, score))
        return hits

    def _artifact_hits(self, artifacts: Sequence[ScoredArtifact]) -> list[Hit]:
        hits: dict[str, Hit] = {}
        for artifact in artifacts:
            hit = self._artifact_hit(artifact)
            # The contract's key of an artifact that several scopes serve; the first one, in the scopes' order, stays.
            if hit.score.retrieval > 0:
                hits.setdefault(hit.key, hit)
        return list(hits.values())

    def _artifact_hit(self, artifact: ScoredArtifact) -> Hit:
        passage, record = artifact.passage, artifact.passage.record
        mode: Mode = "keyword" if artifact.cosine is None else "hybrid"
        score = self._breakdown(
            mode,
            artifact.cosine or 0.0,
            artifact.bm25,
            authority=authority_score(
                passage.scope, record.authority, tier=record.tier, status=record.status
            ),
            recency=recency_score(_seconds(record.updated_at), self._members.commit_time),
        )
        path = show_path(record.path)
        return Hit(
            key=passage.source_id,
            path=path,
            section_title=passage.section_title,
            text=passage.text,
            scope=passage.scope,
            citation=Citation(
                passage.source_type,
                passage.source_id,
                passage.source_version,
                passage.source_sha,
                path,
                None,
                None,
            ),
            score=score,
            artifact_id=record.artifact_id,
            artifact_kind=record.kind,
            authority=record.authority,
            confidence=record.confidence,
        )

    def _breakdown(
        self, mode: Mode, cosine: float, bm25: float, *, authority: float = 1.0, recency: float = 1.0
    ) -> ScoreBreakdown:
        return ScoreBreakdown(
            mode=mode,
            alpha=self._alpha,
            vector=self._vector_scale.one(cosine),
            keyword=self._keyword_scale.one(bm25),
            authority=authority,
            recency=recency,
            cosine=cosine if self._vector is not None and mode == "hybrid" else None,
            bm25=bm25 if self._keywords is not None else None,
        )


def _known(artifacts: Sequence[ScoredArtifact]) -> list[float]:
    return [artifact.cosine for artifact in artifacts if artifact.cosine is not None]


def _seconds(time: str) -> float | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None

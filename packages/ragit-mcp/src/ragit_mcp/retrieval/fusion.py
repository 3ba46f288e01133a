"""How similarities and keyword scores are made comparable before they are added.

A cosine and a BM25 score have nothing in common but their direction, and how they are distributed differs from question
to question. Reciprocal rank fusion throws the distances away: a passage far ahead of all others gains no more than one
that is ahead by a hair. Here each is divided by the best of the snapshot, so that both run from 0 to 1 and keep their
proportions; alpha then says what share each has (a convex combination, which Bruch, Gai and Ingber, "An Analysis of
Fusion Functions for Hybrid Retrieval", 2023, found to be better than rank fusion and to need few examples to set).

    vector  = (cosine / best cosine) ^ sharpness
    keyword = BM25 / best BM25

Models that read a text as a whole crowd its rivals closely below the best one, and what little sets them apart means
much; means of word vectors spread them widely. Sharpness makes the two comparable, so that one alpha serves both. It
changes no order among similarities. The best is that of snapshot and scope: other snapshots have no say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Scale", "sharpness_of"]

# Chosen on the tuning half of the frozen questions, with alpha at its default: 3 for all-MiniLM-L6-v2 (2 to 4 differ
# little), 1 for wordllama.
_CONTEXTUAL: Final = 3.0
_STATIC: Final[Mapping[str, float]] = MappingProxyType({"wordllama": 1.0, "local-placeholder": 1.0})


def sharpness_of(provider: str) -> float:
    """The sharpness that suits a provider's models: 1 where a text is the mean of its words."""
    return _STATIC.get(provider, _CONTEXTUAL)


@dataclass(frozen=True, slots=True)
class Scale:
    """From raw scores to 0..1.

    Attributes:
        best: the raw score that becomes 1; 0 where nothing scored.
        sharpness: exponent of the share of the best.
    """

    best: float
    sharpness: float = 1.0

    def one(self, raw: float) -> float:
        """The scaled score of one passage."""
        if self.best <= 0 or raw <= 0:
            return 0.0
        return float(min(raw / self.best, 1.0) ** self.sharpness)

    def many(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The scaled scores of many."""
        import numpy as np

        if self.best <= 0:
            return np.zeros_like(raw)
        scaled = np.clip(raw / self.best, 0.0, 1.0)
        return scaled if self.sharpness == 1 else scaled**self.sharpness

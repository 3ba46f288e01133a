"""How similarities and keyword scores are made comparable before they are added.

A cosine and a BM25 score have nothing in common but their direction, and how they are distributed differs from question
to question and from model to model. Reciprocal rank fusion throws the distances away: a passage far ahead of all others
gains no more than one that is ahead by a hair. Here each is divided by the best of the snapshot, so that both run from 0
to 1 and keep their proportions; alpha then says what share each has (a convex combination, which Bruch, Gai and Ingber,
"An Analysis of Fusion Functions for Hybrid Retrieval", 2023, found to be better than rank fusion and to need few examples
to set alpha).

The best is that of snapshot and scope, so the scores of a question never depend on other snapshots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """From raw scores to 0..1.

    Attributes:
        best: the raw score that becomes 1; 0 where nothing scored.
    """

    best: float

    def one(self, raw: float) -> float:
        """The scaled score of one passage."""
        if self.best <= 0 or raw <= 0:
            return 0.0
        return min(raw / self.best, 1.0)

    def many(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The scaled scores of many."""
        import numpy as np

        if self.best <= 0:
            return np.zeros_like(raw)
        return np.clip(raw / self.best, 0.0, 1.0)

"""The reference's ranking formula (contract A13), kept to be compared with: cosine and the share of matched words.

It re-ranks what the vectors found: the nearest `max(20 * topK, 100)` passages, by alpha of cosine and the rest of the
share of the question's words that the passage has. Words are lower-cased runs of letters and digits.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

__all__ = ["ALPHA", "candidate_count", "keyword_share", "retrieval_score"]

#: The reference's default share of the vectors.
ALPHA: Final = 0.7


def keyword_share(question: str, text: str) -> float:
    """The share of the question's words, repeated ones counted, that occur in the text; 0 for no words."""
    asked = _words(question)
    there = set(_words(text))
    return sum(word in there for word in asked) / len(asked) if asked else 0.0


def retrieval_score(cosine: float, share: float, alpha: float = ALPHA) -> float:
    """The formula."""
    return alpha * cosine + (1 - alpha) * share


def candidate_count(top_k: int) -> int:
    """How many of the nearest passages are ranked again."""
    return max(20 * top_k, 100)


def _words(text: str) -> Sequence[str]:
    return "".join(character if _kept(character) else " " for character in text.lower()).split()


def _kept(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "LN"

"""Which words of a passage are shown as found: those of the question, as a pattern."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["found_words"]

_MAX_WORDS: Final = 64
_WORD: Final = re.compile(r"\w+")
# Scripts written without blanks between words: there two characters are enough to be recognised.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
# Words that say nothing about what was found.
_COMMON: Final = frozenset([
    "a",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "by",
    "can",
    "do",
    "does",
    "for",
    "from",
    "has",
    "have",
    "how",
    "i",
    "in",
    "is",
    "it",
    "its",
    "of",
    "on",
    "or",
    "that",
    "the",
    "this",
    "to",
    "was",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "you",
])


def found_words(question: str) -> re.Pattern[str] | None:
    """A pattern for the words of a question, in any case; None if it has none worth showing."""
    parts: dict[str, None] = {}
    for word in _WORD.findall(question.lower())[: 4 * _MAX_WORDS]:
        if _UNSPACED.search(word):
            pieces = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            parts.update(dict.fromkeys(map(re.escape, pieces)))
        elif word not in _COMMON:
            # The beginning is enough: "masked" shows where "mask" was asked for.
            parts[rf"\b{re.escape(word)}\w*"] = None
    chosen = list(parts)[:_MAX_WORDS]
    return re.compile("|".join(chosen), re.IGNORECASE) if chosen else None

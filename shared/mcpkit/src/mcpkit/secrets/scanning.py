"""Reading a text in linear time, with the work counted.

Every rule walks the text through a `Scanner`, and a `Scanner` offers only steps whose cost is known beforehand: a
literal search (the distance moved), a run of one character class (its length) and a pattern inside a window of fixed
size. Each step adds its cost to `work`, so that a test can prove a bound for hostile text by counting, not by timing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["WINDOW", "Scanner", "any_of", "fold"]

WINDOW: Final = 512
"""Characters a pattern may look at from one place, and the longest value that may be judged harmless."""


def any_of(literals: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of the literals, common beginnings factored out: at each position few are tried."""
    return re.compile(_alternatives(sorted(set(literals))))


def _alternatives(literals: list[str]) -> str:
    """The literals (sorted) as a regular expression; one that begins another makes the longer one superfluous."""
    by_first: dict[str, list[str]] = {}
    for literal in literals:
        if not literal:
            return ""
        by_first.setdefault(literal[0], []).append(literal[1:])
    branches = [re.escape(first) + _alternatives(rest) for first, rest in by_first.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def fold(text: str) -> str:
    """Lower-case `text` and keep every position: U+0130 is the only character whose lower case is longer."""
    return text.replace("\u0130", "i").lower()


class Scanner:
    """A text, its lower-cased twin of equal length, and the number of characters looked at so far.

    Args:
        text: any string; lone surrogates and control characters are fine.
    """

    __slots__ = ("_absent", "folded", "size", "text", "work")

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = fold(text)
        self.size = len(text)
        self.work = 0
        # Literal -> where a search for it last failed: none lies beyond, so that a repeated search costs nothing.
        self._absent: dict[tuple[str, bool], int] = {}

    def find(self, word: str, start: int, *, folded: bool = False) -> int:
        """Position of `word` at or after `start`, -1 if there is none; `folded` ignores case (give lower case)."""
        if start >= self._absent.get((word, folded), self.size + 1):
            self.work += 1
            return -1
        at = (self.folded if folded else self.text).find(word, start)
        if at < 0:
            self._absent[word, folded] = start
        self.work += (self.size if at < 0 else at) - start + 1
        return at

    def present(self, words: Iterable[str], *, folded: bool = False) -> list[str]:
        """Those of the words that the text holds; far cheaper than a `find` for each."""
        text = self.folded if folded else self.text
        found = [word for word in words if word in text]
        self.work += self.size * len(found)
        return found

    def run(self, pattern: re.Pattern[str], start: int) -> int:
        """End of the run matched at `start`. `pattern` is one possessive repeat of disjoint alternatives."""
        found = pattern.match(self.text, start)
        end = start if found is None else found.end()
        self.work += end - start + 1
        return end

    def match(self, pattern: re.Pattern[str], start: int, window: int = WINDOW) -> re.Match[str] | None:
        """Match `pattern` at `start`, seeing at most `window` characters."""
        limit = min(self.size, start + window)
        found = pattern.match(self.text, start, limit)
        self.work += (limit if found is None else found.end()) - start + 1
        return found

    def before(self, position: int, count: int) -> str:
        """At most `count` characters before `position`."""
        self.work += count
        return self.text[max(0, position - count) : position]

    def line_end(self, start: int) -> int:
        """Position of the first line break at or after `start`, or the end of the text."""
        return self.run(_REST_OF_LINE, start)


_REST_OF_LINE: Final = re.compile(r"[^\r\n]*+")

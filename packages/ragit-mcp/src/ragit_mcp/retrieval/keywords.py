"""BM25 over one snapshot: which passages have the question's words, and how much that says.

The index answers which chunks of the whole generation have a word; the numbers that make a score of it (how many
passages there are, how many have the word, how long they are) are counted over the snapshot and scope alone, so no other
snapshot can change them. The formula is BM25 after Robertson and Walker (1994) in the form with several fields (BM25F,
Robertson, Zaragoza and Taylor 2004): occurrences in the text, damped by its length, and in headings and path add up to
one weighted frequency, which then saturates.

A word that most passages have tells them apart badly and is the dearest to look up; it is left out as long as another
word remains.
"""

from __future__ import annotations

import functools
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragit_mcp.store import FREQUENCIES, Field, Membership, Store, query_terms, text_terms

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["KeywordIndex", "KeywordScores", "LooseText", "chosen_terms"]

#: Saturation: how soon a further occurrence adds nothing.
K1: Final = 1.2
#: How much a long text is held against its words, 0 to 1.
B: Final = 0.5
#: A word in a heading above the passage counts like this many occurrences in a text of average length.
HEADING_WEIGHT: Final = 1.0
#: A word in the document's path counts like this many.
PATH_WEIGHT: Final = 0.5

#: Distinct words of a question that are looked up; the rest of a very long one is left to the vectors.
MAX_TERMS: Final = 96
#: A word in more than this share of the passages is left out,
COMMON_SHARE: Final = 0.5
#: unless there are so few passages that a share means little.
_FEW_PASSAGES: Final = 50
# What is kept of looked-up words, in entries (16 bytes each).
_KEPT_POSTINGS: Final = 1_000_000
# The index knows "at least n times"; this is the frequency that is assumed between one mark and the next.
_ASSUMED: Final = dict(zip(FREQUENCIES, (2.0, 3.5, 6.5, 11.0), strict=True))


# Words that ask or join and say nothing about the subject.
_ORDINARY: Final = (
    "a an and any are as at be been being but by can could did do does doing done for from get got had has have having "
    "how i if in into is it its just let like make may me might must my of on one or our out over s should so some t "
    "than that the their them then there these they thing this those to too up us want was way we were what when where "
    "which while who whom whose why will with would you your"
)


@dataclass(frozen=True, slots=True)
class LooseText:
    """A text outside the store that competes with the passages in it: an artifact's.

    Attributes:
        frequencies: how often each term occurs in it.
        heading_terms: terms of its heading.
        length: number of terms.
    """

    frequencies: Mapping[str, int]
    heading_terms: frozenset[str]
    length: int

    @classmethod
    def of(cls, text: str, heading: str) -> LooseText:
        """The text with its heading, analysed as the index analyses passages."""
        terms = text_terms(text)
        return cls(Counter(terms), frozenset(text_terms(heading)), len(terms))

    def weighted_frequency(self, term: str, average_length: float) -> float:
        """The term's frequency over text and heading, damped by the text's length."""
        share = self.length / max(average_length, 1.0)
        return self.frequencies.get(term, 0) / (1 - B + B * share) + HEADING_WEIGHT * (
            term in self.heading_terms
        )


@dataclass(frozen=True, slots=True)
class KeywordScores:
    """Keyword scores for one question.

    Attributes:
        scores: for every chunk row number its BM25 score; 0 where no word of the question occurs.
        loose: scores of the texts outside the store, in their order.
    """

    scores: npt.NDArray[np.float64]
    loose: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Postings:
    """The snapshot's chunks that have a word, with weighted frequencies."""

    rows: npt.NDArray[np.int64]
    frequencies: npt.NDArray[np.float64]


def chosen_terms(question: str) -> list[str]:
    """The distinct terms of a question that are looked up, in order; ordinary words only if there are no others."""
    terms = list(dict.fromkeys(query_terms(question)))
    ordinary = _ordinary_terms()
    telling = [term for term in terms if term not in ordinary]
    return (telling or terms)[:MAX_TERMS]


@functools.cache
def _ordinary_terms() -> frozenset[str]:
    """The ordinary words as the index spells them."""
    return frozenset(query_terms(_ORDINARY))


class KeywordIndex:
    """The inverted index of a generation, seen from one snapshot and scope.

    Looked-up words are kept, so that a server pays for a common word once. Usable from several threads.

    Args:
        store: the open generation.
        members: the passages of the snapshot and scope.
    """

    def __init__(self, store: Store, members: Membership) -> None:
        self._store = store
        self._members = members
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Postings] = OrderedDict()
        self._kept = 0

    def score(self, question: str, loose: Sequence[LooseText] = ()) -> KeywordScores:
        """BM25 of every chunk of the snapshot, 0 in all other rows, and of texts that compete with them.

        Args:
            question: any text.
            loose: texts outside the store; they count as passages.
        """
        import numpy as np

        members = self._members
        passages = len(members.unique_rows) + len(loose)
        average = self._average_length
        if not average and loose:
            average = sum(text.length for text in loose) / len(loose)
        found: list[tuple[_Postings, list[float]]] = []
        for term in chosen_terms(question) if passages else ():
            postings = self._postings(term)
            frequencies = [text.weighted_frequency(term, average) for text in loose]
            if len(postings.rows) or any(frequencies):
                found.append((postings, frequencies))
        telling = [
            (postings, frequencies)
            for postings, frequencies in found
            if passages < _FEW_PASSAGES
            or len(postings.rows) + np.count_nonzero(frequencies) <= COMMON_SHARE * passages
        ]
        scores = np.zeros(members.row_limit + 1, dtype=np.float64)
        loose_scores = np.zeros(len(loose), dtype=np.float64)
        for postings, frequencies in telling or found:
            having = len(postings.rows) + int(np.count_nonzero(frequencies))
            weight = math.log1p((passages - having + 0.5) / (having + 0.5))
            scores[postings.rows] += weight * _saturated(postings.frequencies)
            loose_scores += weight * _saturated(np.asarray(frequencies, dtype=np.float64))
        return KeywordScores(scores, tuple(loose_scores.tolist()))

    @functools.cached_property
    def _average_length(self) -> float:
        rows = self._members.unique_rows
        return float(self._members.lengths[rows].sum()) / len(rows) if len(rows) else 0.0

    def _postings(self, term: str) -> _Postings:
        with self._lock:
            known = self._known.get(term)
            if known is not None:
                self._known.move_to_end(term)
                return known
        postings = self._look_up(term)
        with self._lock:
            if term not in self._known:
                self._known[term] = postings
                self._kept += len(postings.rows)
                while self._kept > _KEPT_POSTINGS and len(self._known) > 1:
                    _, dropped = self._known.popitem(last=False)
                    self._kept -= len(dropped.rows)
        return postings

    def _look_up(self, term: str) -> _Postings:
        import numpy as np

        members = self._members
        weighted = np.zeros(members.row_limit + 1, dtype=np.float64)
        rows = members.restrict(self._store.term_rows(term))
        common = len(members.unique_rows) >= _FEW_PASSAGES and len(rows) > COMMON_SHARE * len(
            members.unique_rows
        )
        weighted[rows] = 1.0
        for least in () if common else FREQUENCIES:
            more = members.restrict(self._store.term_rows(term, at_least=least))
            if not len(more):
                break
            weighted[more] = _ASSUMED[least]
        lengths = members.lengths[rows]
        weighted[rows] /= 1 - B + B * lengths / max(self._average_length, 1.0)
        for field, weight in ((Field.HEADINGS, HEADING_WEIGHT), (Field.PATH, PATH_WEIGHT)):
            weighted[members.restrict(self._store.term_rows(term, field))] += weight
        (found,) = weighted.nonzero()
        return _Postings(found, weighted[found])


def _saturated(frequencies: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return frequencies * (K1 + 1) / (frequencies + K1)

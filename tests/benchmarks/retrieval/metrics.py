"""How well a ranking answers a question, judged by lines: recall@5, MRR@10, nDCG@10 and paired bootstrap intervals.

A ranking is a list of `Span`s, best first; what should be found is a list of `Passage`s. Both name a file and its lines,
so that rankers which cut the documents differently are judged by the same rule. The formulas are the usual ones: recall
and reciprocal rank by set and position, discounted gain after Järvelin and Kekäläinen (2002) with the grade as gain and a
base-2 logarithm, as trec_eval computes `ndcg`; the interval is Efron's percentile bootstrap over questions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

#: A hit and a passage meet when they share at least this part of the shorter one.
OVERLAP: Final = 0.5
#: Passages of this grade or better answer their need; lower ones only help and count for the gain alone.
ANSWERS: Final = 2
#: Where the three figures are cut off.
RECALL_DEPTH: Final = 5
RANK_DEPTH: Final = 10
RESAMPLES: Final = 10_000
SEED: Final = 20261130


class Span(NamedTuple):
    """A run of lines in a document.

    Attributes:
        path: The document, relative to its corpus, with forward slashes.
        first: First line, counted from 1.
        last: Last line, included.
    """

    path: str
    first: int
    last: int


class Passage(NamedTuple):
    """Lines that somebody judged to be relevant to a question.

    Attributes:
        span: Where they are.
        grade: 3 answers the need, 2 answers it in part or more briefly, 1 only helps.
        need: Which part of the question it serves, from 1. Passages of one need stand in for each other; a question
            that needs several passages together has several needs.
    """

    span: Span
    grade: int
    need: int = 1


class Scores(NamedTuple):
    """The three figures of one question or their means over many, each from 0 to 1."""

    recall: float
    reciprocal_rank: float
    ndcg: float


class Interval(NamedTuple):
    """The mean difference between two rankers over the same questions and where it lies.

    Attributes:
        difference: Mean of ours minus theirs.
        low: Lower end of the interval.
        high: Upper end.
    """

    difference: float
    low: float
    high: float

    @property
    def ours_is_better(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0

    @property
    def ours_is_worse(self) -> bool:
        """Whether the whole interval lies below zero: then the other ranker is better beyond chance."""
        return self.high < 0


def meets(hit: Span, wanted: Span) -> bool:
    """Whether two spans share at least `OVERLAP` of the lines of the shorter one.

    A chunk that holds a short passage meets it, and so does a chunk out of the middle of a long passage; one that only
    touches its edge does not.
    """
    if hit.path != wanted.path:
        return False
    shared = min(hit.last, wanted.last) - max(hit.first, wanted.first) + 1
    shorter = min(hit.last - hit.first, wanted.last - wanted.first) + 1
    return shared >= OVERLAP * shorter


def recall(ranking: Sequence[Span], passages: Sequence[Passage], depth: int = RECALL_DEPTH) -> float:
    """The share of a question's needs that the first `depth` hits answer.

    Raises:
        ValueError: if no passage answers any need: the question is broken.
    """
    needs = {passage.need for passage in passages if passage.grade >= ANSWERS}
    if not needs:
        raise ValueError("a question needs a passage of grade 2 or 3")
    met = {
        passage.need
        for passage in passages
        if passage.grade >= ANSWERS and any(meets(hit, passage.span) for hit in ranking[:depth])
    }
    return len(met) / len(needs)


def reciprocal_rank(ranking: Sequence[Span], passages: Sequence[Passage], depth: int = RANK_DEPTH) -> float:
    """One over the position, from 1, of the first hit that answers a need; 0 if none of the first `depth` does."""
    for position, hit in enumerate(ranking[:depth], 1):
        if any(passage.grade >= ANSWERS and meets(hit, passage.span) for passage in passages):
            return 1 / position
    return 0.0


def gains(ranking: Sequence[Span], passages: Sequence[Passage], depth: int = RANK_DEPTH) -> list[int]:
    """The gain of each of the first `depth` hits: the grade of the passage it brings, 0 if none or nothing new.

    A passage is credited once, to the first hit that meets it, and a hit is credited one passage, the best of those not
    credited yet. So overlapping chunks of one passage gain nothing by being many, and no ranking exceeds the ideal one.
    """
    left = sorted(passages, key=lambda passage: -passage.grade)
    found = []
    for hit in ranking[:depth]:
        best = next((passage for passage in left if meets(hit, passage.span)), None)
        if best is not None:
            left.remove(best)
        found.append(0 if best is None else best.grade)
    return found


def ndcg(ranking: Sequence[Span], passages: Sequence[Passage], depth: int = RANK_DEPTH) -> float:
    """Discounted gain of the first `depth` hits as a share of that of the ideal order of all passages.

    Raises:
        ValueError: if there are no passages.
    """
    if not passages:
        raise ValueError("a question needs passages")
    ideal = sorted((passage.grade for passage in passages), reverse=True)[:depth]
    return _discounted(gains(ranking, passages, depth)) / _discounted(ideal)


def score(ranking: Sequence[Span], passages: Sequence[Passage]) -> Scores:
    """All three figures of one ranking at their usual depths."""
    return Scores(recall(ranking, passages), reciprocal_rank(ranking, passages), ndcg(ranking, passages))


def mean(scores: Iterable[Scores]) -> Scores:
    """The mean of each figure, every question counting the same.

    Raises:
        ValueError: if there are no scores.
    """
    listed = list(scores)
    if not listed:
        raise ValueError("there is nothing to take the mean of")
    return Scores(*(math.fsum(column) / len(listed) for column in zip(*listed, strict=True)))


def paired_bootstrap(
    ours: Mapping[str, float],
    theirs: Mapping[str, float],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = SEED,
) -> Interval:
    """The percentile interval of the mean difference, questions drawn with replacement.

    The two rankers are compared on each drawn question, so that a hard question does not widen the interval. The same
    numbers and seed give the same interval.

    Args:
        ours: One figure for each question, by the question's id.
        theirs: The same figure of the other ranker.
        resamples: How many draws.
        level: The share of draws inside the interval.
        seed: Where the draws start.

    Raises:
        ValueError: if the two do not cover the same questions, or there are none.
    """
    if not ours or ours.keys() != theirs.keys():
        raise ValueError("both rankers must have a figure for the same questions, at least one")
    differences = [ours[question] - theirs[question] for question in sorted(ours)]
    count = len(differences)
    draws = random.Random(seed)
    means = sorted(math.fsum(draws.choices(differences, k=count)) / count for _ in range(resamples))
    outside = (1 - level) / 2
    return Interval(math.fsum(differences) / count, _quantile(means, outside), _quantile(means, 1 - outside))


def _discounted(gained: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(position + 1) for position, gain in enumerate(gained, 1))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share of the ordered values lies, interpolated linearly."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.benchmarks.retrieval.metrics import (
    Passage,
    Scores,
    Span,
    gains,
    mean,
    meets,
    ndcg,
    paired_bootstrap,
    recall,
    reciprocal_rank,
    score,
)

GOOD = Passage(Span("guide.md", 10, 14), 3)
PARTLY = Passage(Span("guide.md", 30, 34), 2)
HELPS = Passage(Span("notes.md", 1, 4), 1)
JUNK = Span("other.md", 10, 14)

spans = st.builds(
    lambda path, first, length: Span(path, first, first + length),
    st.sampled_from(["a.md", "b.md"]),
    st.integers(1, 30),
    st.integers(0, 12),
)
passage_lists = st.lists(
    st.builds(Passage, spans, st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=6
)


@pytest.mark.parametrize(
    ("hit", "met"),
    [
        (Span("guide.md", 10, 14), True),
        (Span("guide.md", 1, 40), True),
        (Span("guide.md", 12, 12), True),
        (Span("guide.md", 12, 40), True),  # three of five lines
        (Span("guide.md", 13, 40), False),  # two of five
        (Span("guide.md", 9, 10), True),  # one of its own two
        (Span("guide.md", 8, 10), False),  # one of its own three
        (Span("guide.md", 15, 20), False),
        (Span("other.md", 10, 14), False),
    ],
)
def test_spans_meet_when_they_share_half_of_the_shorter_one(hit: Span, met: bool) -> None:
    assert meets(hit, GOOD.span) is met
    assert meets(GOOD.span, hit) is met


def test_a_ranking_is_scored_as_computed_by_hand() -> None:
    ranking = [JUNK, PARTLY.span, GOOD.span]
    found = score(ranking, [GOOD, PARTLY, HELPS])
    assert found.recall == 1
    assert found.reciprocal_rank == 1 / 2
    # (0/1 + 2/1.5850 + 3/2) / (3/1 + 2/1.5850 + 1/2)
    assert found.ndcg == pytest.approx(2.7618595 / 4.7618595, abs=1e-7)


def test_what_only_helps_answers_nothing() -> None:
    assert recall([HELPS.span], [GOOD, HELPS]) == 0
    assert reciprocal_rank([HELPS.span, GOOD.span], [GOOD, HELPS]) == 1 / 2
    assert gains([HELPS.span], [GOOD, HELPS]) == [1]


def test_recall_counts_the_needs_and_not_the_passages() -> None:
    either = [GOOD, Passage(Span("twin.md", 1, 5), 3)]
    assert recall([GOOD.span], either) == 1
    both = [GOOD, Passage(Span("twin.md", 1, 5), 3, need=2)]
    assert recall([GOOD.span], both) == 1 / 2
    assert recall([Span("twin.md", 1, 5), GOOD.span], both) == 1


def test_hits_below_the_cut_do_not_count() -> None:
    sixth = [JUNK] * 5 + [GOOD.span]
    assert recall(sixth, [GOOD]) == 0
    assert reciprocal_rank(sixth, [GOOD]) == 1 / 6
    eleventh = [JUNK] * 10 + [GOOD.span]
    assert reciprocal_rank(eleventh, [GOOD]) == 0
    assert ndcg(eleventh, [GOOD]) == 0


def test_a_passage_gains_once_however_many_hits_bring_it() -> None:
    assert gains([Span("guide.md", 10, 12), Span("guide.md", 12, 14)], [GOOD]) == [3, 0]


def test_a_hit_is_credited_the_best_passage_it_brings() -> None:
    everything = Span("guide.md", 1, 99)
    assert gains([everything, PARTLY.span, GOOD.span], [PARTLY, GOOD]) == [3, 2, 0]


def test_an_empty_ranking_scores_nothing() -> None:
    assert score([], [GOOD]) == Scores(0, 0, 0)


def test_a_question_without_answers_is_refused() -> None:
    with pytest.raises(ValueError):
        recall([GOOD.span], [HELPS])
    with pytest.raises(ValueError):
        ndcg([GOOD.span], [])


@settings(deadline=None)
@given(st.lists(spans, max_size=15), passage_lists)
def test_no_ranking_exceeds_the_ideal(ranking: list[Span], passages: list[Passage]) -> None:
    assert 0 <= ndcg(ranking, passages) <= 1 + 1e-12
    assert sum(gains(ranking, passages)) <= sum(passage.grade for passage in passages)


@settings(deadline=None)
@given(st.permutations([1, 2, 3, 3, 2]))
def test_the_ideal_order_of_separate_passages_scores_one(grades: list[int]) -> None:
    passages = [Passage(Span(f"{place}.md", 1, 5), grade) for place, grade in enumerate(grades)]
    ideal = [passage.span for passage in sorted(passages, key=lambda passage: -passage.grade)]
    assert ndcg(ideal, passages) == pytest.approx(1)


def test_the_mean_counts_every_question_the_same() -> None:
    assert mean([Scores(1, 1, 1), Scores(0, 0.5, 0.25)]) == Scores(0.5, 0.75, 0.625)
    with pytest.raises(ValueError):
        mean([])


def test_a_ranker_does_not_differ_from_itself() -> None:
    figures = {"a": 0.2, "b": 0.9, "c": 0.5}
    found = paired_bootstrap(figures, figures)
    assert found == (0, 0, 0)
    assert not found.ours_is_better
    assert not found.ours_is_worse


def test_a_constant_lead_has_no_width() -> None:
    theirs = {str(number): number / 100 for number in range(40)}
    ours = {question: figure + 0.25 for question, figure in theirs.items()}
    found = paired_bootstrap(ours, theirs, resamples=200)
    assert found == pytest.approx((0.25, 0.25, 0.25))
    assert found.ours_is_better
    assert paired_bootstrap(theirs, ours, resamples=200).ours_is_worse


def test_the_interval_is_that_of_the_normal_approximation_when_there_are_many_questions() -> None:
    # 400 differences of 1 and 0, half each: the mean's standard error is 0.5 / 20.
    ours = {str(number): float(number % 2) for number in range(400)}
    found = paired_bootstrap(ours, dict.fromkeys(ours, 0.0))
    assert found.difference == 0.5
    assert found.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)


def test_the_interval_of_two_questions_is_the_one_counted_by_hand() -> None:
    # Drawing two of {0, 1} gives 0, 1/2 or 1 with 1/4, 1/2, 1/4: both ends lie in the outer quarters.
    found = paired_bootstrap({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 0.0})
    assert found == (0.5, 0, 1)
    inner = paired_bootstrap({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, level=0.4)
    assert inner == (0.5, 0.5, 0.5)


def test_the_same_numbers_give_the_same_interval_in_any_order() -> None:
    ours = {"a": 0.1, "b": 0.7, "c": 0.4}
    theirs = {"a": 0.3, "b": 0.2, "c": 0.4}
    assert paired_bootstrap(ours, theirs) == paired_bootstrap(
        dict(reversed(ours.items())), dict(reversed(theirs.items()))
    )


def test_rankers_are_compared_on_the_same_questions_only() -> None:
    with pytest.raises(ValueError):
        paired_bootstrap({"a": 1.0}, {"b": 1.0})
    with pytest.raises(ValueError):
        paired_bootstrap({}, {})


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_an_interval_stays_within_the_differences(differences: list[float]) -> None:
    ours = {str(place): difference for place, difference in enumerate(differences)}
    found = paired_bootstrap(ours, dict.fromkeys(ours, 0.0), resamples=50)
    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9
    assert found.difference == pytest.approx(statistics.fmean(differences), abs=1e-12)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 5), max_size=14, unique=True), st.lists(st.integers(1, 3), min_size=6, max_size=6)
)
def test_trec_eval_agrees(order: list[int], grades: list[int]) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="foreign check: needs pytrec-eval-terrier")
    passages = [Passage(Span(f"{place}.md", 1, 5), grade) for place, grade in enumerate(grades)]
    ranking = [Span(f"{place}.md", 1, 5) for place in order]
    judged = {"q": {passage.span.path: passage.grade for passage in passages}}
    run = {"q": {hit.path: 1.0 / (place + 1) for place, hit in enumerate(ranking)}}
    found = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)["q"]
    assert ndcg(ranking, passages) == pytest.approx(found["ndcg_cut_10"], abs=1e-4)
    answering = {
        "q": {passage.span.path: int(passage.grade >= 2) for passage in [*passages, GOOD]}
    }  # never none
    found = pytrec_eval.RelevanceEvaluator(answering, {"recip_rank", "recall.5"}).evaluate(run)["q"]
    each_its_need = [passage._replace(need=place) for place, passage in enumerate([*passages, GOOD])]
    assert reciprocal_rank(ranking, each_its_need) == pytest.approx(found["recip_rank"], abs=1e-4)
    assert recall(ranking, each_its_need) == pytest.approx(found["recall_5"], abs=1e-4)
    assert math.isfinite(found["recall_5"])

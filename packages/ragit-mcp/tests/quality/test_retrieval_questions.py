from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

import pytest
from tests.benchmarks.retrieval.corpora import CORPORA
from tests.benchmarks.retrieval.metrics import ANSWERS, Span, meets
from tests.benchmarks.retrieval.questions import (
    FROZEN,
    GRADES,
    HALVES,
    KINDS,
    Question,
    copied,
    fingerprint,
    headings,
    load,
    words,
)

QUESTIONS_A_CORPUS = 15
LONGEST_PASSAGE = 45
EVERY = [question for half in HALVES for question in load(half)]

each_question = pytest.mark.parametrize("question", EVERY, ids=[question.id for question in EVERY])


@pytest.mark.parametrize("half", HALVES)
def test_a_half_is_the_one_that_was_frozen(half: str) -> None:
    assert fingerprint(half) == FROZEN[half]


@pytest.mark.parametrize("half", HALVES)
def test_each_half_asks_as_much_of_every_corpus(half: str) -> None:
    assert Counter(question.corpus for question in load(half)) == dict.fromkeys(CORPORA, QUESTIONS_A_CORPUS)


def test_both_halves_mix_the_kinds_alike_in_every_corpus() -> None:
    tune, report = (Counter((question.corpus, question.kind) for question in load(half)) for half in HALVES)
    assert tune == report
    assert {kind for _, kind in tune} == set(KINDS)


def test_there_is_no_third_half() -> None:
    with pytest.raises(ValueError):
        load("all")


def test_ids_name_corpus_half_and_number() -> None:
    for half in HALVES:
        numbers: Counter[str] = Counter()
        for question in load(half):
            numbers[question.corpus] += 1
            assert question.id == f"{question.corpus}-{half}-{numbers[question.corpus]:02}"


def test_no_two_questions_share_their_wording() -> None:
    assert len({tuple(words(question.text)) for question in EVERY}) == len(EVERY)
    for one, other in itertools.combinations(EVERY, 2):
        assert not copied(one.text, other.text), (one.id, other.id)


@each_question
def test_a_question_says_what_answers_it(question: Question) -> None:
    assert question.passages
    assert all(passage.grade in GRADES for passage in question.passages)
    needs = {passage.need for passage in question.passages}
    assert needs == set(range(1, len(needs) + 1))
    assert needs == {passage.need for passage in question.passages if passage.grade >= ANSWERS}
    assert max(passage.grade for passage in question.passages) == max(GRADES)
    assert (len(needs) > 1) == (question.kind == "multi")


@each_question
def test_passages_are_short_and_apart(question: Question) -> None:
    for passage in question.passages:
        path = PurePosixPath(passage.span.path)
        assert path.suffix == ".md"
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert 1 <= passage.span.first <= passage.span.last < passage.span.first + LONGEST_PASSAGE
    for one, other in itertools.combinations(question.passages, 2):
        assert not meets(one.span, other.span), "one hit would be credited for either"


@each_question
def test_passages_lie_in_their_documents(
    question: Question, corpus_lines: Callable[[str], dict[str, list[str]]]
) -> None:
    documents = corpus_lines(question.corpus)
    for passage in question.passages:
        lines = documents[passage.span.path]
        assert passage.span.last <= len(lines)
        assert lines[passage.span.first - 1].strip(), "a passage starts with text"
        assert lines[passage.span.last - 1].strip(), "a passage ends with text"


@each_question
def test_a_question_does_not_quote_its_answer(
    question: Question, corpus_lines: Callable[[str], dict[str, list[str]]]
) -> None:
    documents = corpus_lines(question.corpus)
    for passage in question.passages:
        lines = documents[passage.span.path]
        answer = "\n".join(lines[passage.span.first - 1 : passage.span.last])
        assert not copied(question.text, answer)
        for heading in headings(lines, passage.span):
            assert not copied(question.text, heading)
            # A heading of fewer words must not stand in the question whole, unless it is a name.
            whole = words(heading)
            if len(whole) > 1 and question.kind != "identifier":
                assert not copied(question.text, heading, len(whole)), heading


def test_a_run_of_four_common_words_is_a_copy_and_three_are_not() -> None:
    source = "Keep the proxy alive; then restart the hub."
    assert copied("May I keep the proxy alive?", source) == ["keep the proxy alive"]
    assert copied("May I keep the proxy running?", source) == []
    assert copied("ALIVE, THEN: restart the door", source) == ["alive then restart the"]


def test_an_identifier_counts_as_one_word() -> None:
    assert words("Set `c.Spawner.mem_limit` or --cover-xml-output=x") == [
        "set",
        "c.spawner.mem_limit",
        "or",
        "cover-xml-output",
        "x",
    ]


def test_the_headings_of_a_passage_are_those_above_it_and_inside_it() -> None:
    lines = [
        "# Guide",
        "## Old",
        "text",
        "```sh",
        "# no heading",
        "```",
        "## New",
        "more",
        "### Detail",
        "end",
    ]
    assert headings(lines, Span("g.md", 3, 3)) == ["Guide", "Old"]
    assert headings(lines, Span("g.md", 7, 8)) == ["Guide", "New"]
    assert headings(lines, Span("g.md", 8, 10)) == ["Guide", "New", "Detail"]
    assert headings(lines, Span("g.md", 5, 5)) == ["Guide", "Old"]


def test_the_notes_beside_the_questions_name_every_corpus_and_its_pin() -> None:
    from tests.benchmarks.retrieval.questions import FOLDER

    notes = (FOLDER / "README.md").read_text(encoding="utf-8")
    for corpus in CORPORA.values():
        assert re.search(rf"\b{corpus.name}\b", notes)
        assert corpus.licence in notes

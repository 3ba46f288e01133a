from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.artifacts.extraction import MAX_DRAFTS, ToolTrace, Turn, extract
from ragit_mcp.artifacts.records import MAX_EXCERPT


def kinds(role: str, content: str) -> set[str]:
    return {draft.kind for draft in extract([Turn("t", role, content)], [])}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("role", "content", "expected"),
    [
        ("user", "Please use tabs instead.", {"feedback"}),
        ("assistant", "Please use tabs instead.", set()),
        ("user", "Requests must be signed.", {"constraint"}),
        ("assistant", "The build failed.", {"failure"}),
        ("assistant", "The root cause is a race.", {"insight"}),
        ("user", "The root cause is a race.", set()),
        ("user", "Which one?", {"openLoop"}),
        ("assistant", "TODO: write the docs", {"openLoop"}),
        ("user", "반드시 서명하세요. 남은 할 일이 있습니다.", {"constraint", "openLoop"}),
        ("assistant", "It is a musty, requited cannoli.", set()),
        ("system", "You must. Why? Error!", set()),
        ("user", "Good morning.", set()),
        ("user", "", set()),
    ],
)
def test_what_a_sentence_says(role: str, content: str, expected: set[str]) -> None:
    assert kinds(role, content) == expected


def test_only_the_sentences_that_say_it_are_kept() -> None:
    (draft,) = extract([Turn("t", "user", "Good morning. Requests must be signed. Nice day.")], [])
    assert draft.text == "Requests must be signed."


def test_a_tool_run_counts_when_it_failed() -> None:
    good = ToolTrace("a", "ruff", "All checks passed!", None)
    silent = ToolTrace("b", "true", None, None)
    bad = ToolTrace("c", "pytest", "1 passed\n2 failed", None)
    worse = ToolTrace("d", "make", "fine", "cc: not found")
    assert [draft.trace_ids for draft in extract([], [good, silent, bad, worse])] == [("c",), ("d",)]


def test_what_was_held_back_says_nothing() -> None:
    assert extract([Turn("t", "user", None)], [ToolTrace("x", "t", None, None)]) == []


def test_the_number_of_drafts_is_bounded() -> None:
    turns = [Turn(str(n), "user", "Must it fail? Please don't.") for n in range(1000)]
    assert len(extract(turns, [])) == MAX_DRAFTS


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    for draft in extract(
        [Turn("t", "user", text), Turn("u", "assistant", text)], [ToolTrace("x", text, text, text)]
    ):
        assert len(draft.excerpt) <= MAX_EXCERPT
        assert draft.title
        assert "\n" not in draft.title


@pytest.mark.parametrize(
    "text", ["." * 200_000, "?" * 200_000, "must " * 40_000, "\n" * 200_000, "? " * 100_000]
)
@pytest.mark.timeout(20)
def test_work_does_not_explode_with_the_length_of_a_text(text: str) -> None:
    extract([Turn("t", "user", text)], [ToolTrace("x", "t", text, None)])

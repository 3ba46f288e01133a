"""Under which terms a text is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.store.terms import MAX_TERM_CHARACTERS, index_entry, query_terms, text_terms

FOUND = [
    ("Running the indexes", "index run", "stems of English words"),
    ("read max_file_bytes first", "max_file_bytes", "a name as it is"),
    ("read max_file_bytes first", "maxFileBytes", "a name in another spelling"),
    ("read max_file_bytes first", "bytes", "a part of a name"),
    ("uses sqlite-vec here", "sqlitevec", "a name joined"),
    ("parseHTTPRequest()", "http request", "humps of a name"),
    ("version 3.11.7 is needed", "3.11.7", "a version"),
    ("naïve café", "naive CAFE", "without diacritics"),
    ("ＦＵＬＬ width", "full", "compatibility forms"),
    ("항구는 정오에", "항구", "a Korean word below its particle"),
    ("항구는 정오에", "오", "one Korean syllable"),
    ("東京都の港", "京都", "a pair of characters"),
    ("東京都の港", "港", "one character"),
    ("ประเทศไทย", "ไทย", "a Thai word"),
    ("हिन्दी में लिखा", "हिन्दी", "a word with vowel signs"),
    ("слова по-русски", "РУССКИ", "Cyrillic, whatever its case"),
    ("don't panic", "dont", "an apostrophe"),
    ("email a.user@example.com", "example.com", "an address"),
]


@pytest.mark.parametrize(("text", "query", "why"), FOUND, ids=[case[2] for case in FOUND])
def test_what_is_asked_for_is_among_the_terms(text: str, query: str, why: str) -> None:
    assert set(query_terms(query)) <= set(text_terms(text)), why


@pytest.mark.parametrize("query", ["", "  ", "@ :: ( ) \" ' * ^ -", "😀🎉", "\0\x01"])
def test_a_query_without_words_has_no_terms(query: str) -> None:
    assert query_terms(query) == []


def test_operators_of_the_index_are_words_like_any_other() -> None:
    assert query_terms('NEAR(a OR b) AND NOT "c*" col:d') == [
        "near",
        "a",
        "or",
        "b",
        "and",
        "not",
        "c",
        "col",
        "d",
    ]


def test_an_entry_says_how_often_and_where() -> None:
    entry, count = index_entry("cat " * 9 + "dog dog mouse", ["The dogs"], "docs/mouse.md")
    terms = entry.split(" ")
    assert count == 12
    assert {"cat", "cat²", "cat³", "cat⁵", "cat⁹", "dog", "dog²", "mous"} <= set(terms)
    assert not {"dog³", "mous²"} & set(terms)
    assert {"theʰ", "dogʰ", "docᵖ", "mousᵖ", "mdᵖ"} <= set(terms)
    assert len(terms) == len(set(terms))


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_the_index_takes_as_they_are(text: str) -> None:
    for term in text_terms(text):
        assert 0 < len(term) <= MAX_TERM_CHARACTERS
        # FTS5's tokenizer for ASCII: letters, digits and everything beyond ASCII; anything else would split it.
        assert all(character.isalnum() or character > "\x7f" for character in term)
        assert not set("²³⁵⁹ʰᵖ") & set(term)


@given(st.text(alphabet="abcXYZ _-.東京港の항구é'", max_size=60))
def test_every_term_of_a_text_as_a_query_is_found_in_the_text(text: str) -> None:
    assert set(query_terms(text)) <= set(text_terms(text))

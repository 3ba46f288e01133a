"""The words under which a text is found.

A text is normalised (NFKC, case folded, Latin diacritics dropped) and split into words. English words are stemmed by
FTS5's Porter stemmer. A name such as `max_file_bytes`, `sqlite-vec` or `camelCase` gives its parts and, joined, itself.
Where words are not separated by spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) every character and every
pair of neighbours is a term; a query uses the pairs, and the character only where it stands alone, so that words of one
or two characters are found and longer ones are found exactly.

The index is FTS5's, without positions. What ranking needs beside presence is in it as further terms, whose suffix is a
character that normalisation removes and no word can contain:

    word      the text has the word             wordʰ   the headings have it
    word²     at least twice; also ³ ⁵ ⁹        wordᵖ   the path has it

So one look-up gives all rows for a word, a frequency or a field, and scoring is arithmetic over one snapshot's rows:
FTS5's own bm25() would count the rows of all other snapshots too.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ragit_mcp.corpus.paths import show_path

if TYPE_CHECKING:
    import apsw

__all__ = ["FREQUENCIES", "MAX_TERM_CHARACTERS", "Field", "index_entry", "query_terms", "text_terms"]

#: Version of all that is said above; a store of another one is read anew.
ANALYSIS_VERSION: Final = "1"
MAX_TERM_CHARACTERS: Final = 64
#: Least frequencies that have a term of their own.
FREQUENCIES: Final[tuple[int, ...]] = (2, 3, 5, 9)

_FREQUENCY_MARKS: Final = {2: "²", 3: "³", 5: "⁵", 9: "⁹"}
# Vowel signs and the like belong to the word though they are no letters: combining marks, Hebrew, Arabic, and the
# scripts from Devanagari to Burmese as a whole but for their full stops.
_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u109f\u1780-\u17d3"
_LETTER: Final = rf"(?:[^\W_]|[{_MARKS}])"
_WORD: Final = re.compile(rf"{_LETTER}+(?:[_.\-'’]{_LETTER}+)*")
_PART: Final = re.compile(rf"{_LETTER}+")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]+"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LATIN_BASE: Final = re.compile("[a-zA-Z][\u0300-\u036f]+")
_BEYOND_A_WORD: Final = re.compile(r"[\x00-/:-@\[-`{-\x7f]")
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:[_.\-'][A-Za-z0-9]+)*")
_CACHED_WORDS: Final = 100_000


class Field(StrEnum):
    """Where a term stands; the value is the mark that the index appends."""

    TEXT = ""
    HEADINGS = "ʰ"
    PATH = "ᵖ"


def frequency_mark(at_least: int) -> str:
    """The mark of a least frequency: `FREQUENCIES`, or 1 for none."""
    return "" if at_least == 1 else _FREQUENCY_MARKS[at_least]


def is_term(word: str) -> bool:
    """Whether the index takes a text as one word: ASCII letters and digits, and anything beyond ASCII."""
    return bool(word) and _BEYOND_A_WORD.search(word) is None


def text_terms(text: str) -> list[str]:
    """The terms of a text to be indexed, in order, repeated as often as they occur."""
    return _terms(text, whole=True)


def query_terms(text: str) -> list[str]:
    """The terms to look a query up by; of unspaced scripts the pairs, where there are any."""
    return _terms(text, whole=False)


def index_entry(text: str, heading_path: Sequence[str], path: str) -> tuple[str, int]:
    """What the inverted index holds of a chunk, and how many terms its text has.

    Args:
        text: the passage.
        heading_path: titles above it.
        path: its document's path.
    """
    counts = Counter(text_terms(text))
    entry = list(counts)
    for term, count in counts.items():
        if count > 1:
            entry.extend(term + _FREQUENCY_MARKS[least] for least in FREQUENCIES if count >= least)
    entry.extend(term + Field.HEADINGS for term in _distinct(heading_path))
    entry.extend(term + Field.PATH for term in _distinct([show_path(path)]))
    return " ".join(entry), counts.total()


def _distinct(texts: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(term for text in texts for term in text_terms(text))


def _terms(text: str, *, whole: bool) -> list[str]:
    if text.isascii():
        words = _ASCII_WORD.findall(text)
    else:
        words = _WORD.findall(_plain_latin(unicodedata.normalize("NFKC", text)))
    terms: list[str] = []
    for word in words:
        known = _known_words.get(word)
        if known is None:
            known = _terms_of_word(word, whole=whole)
            # What a word gives depends on nothing else, unless it is of an unspaced script.
            if len(_known_words) < _CACHED_WORDS and word.isascii():
                _known_words[word] = known
        terms += known
    return terms


def _terms_of_word(word: str, *, whole: bool) -> tuple[str, ...]:
    if word.isascii():
        return tuple(_spaced(word))
    terms: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        terms += _spaced(word[end : run.start()])
        end = run.end()
        characters = run[0]
        if whole or len(characters) == 1:
            terms += characters
        terms += (characters[index : index + 2] for index in range(len(characters) - 1))
    terms += _spaced(word[end:])
    return tuple(terms)


def _spaced(word: str) -> list[str]:
    """Terms of a word of a script that has spaces: its parts and, if there are several, the parts joined."""
    parts: list[str] = []
    for part in _PART.findall(word):
        plain = not part.isascii() or part.islower() or part.isupper()
        parts += [part] if plain else _CAMEL.split(part)
    terms = [_stem(part.casefold()[:MAX_TERM_CHARACTERS]) for part in parts]
    if len(parts) > 1:
        terms.append("".join(parts).casefold()[:MAX_TERM_CHARACTERS])
    return terms


def _plain_latin(text: str) -> str:
    """The text with Latin letters bare of their diacritics; other scripts keep theirs, which tell letters apart."""
    decomposed = unicodedata.normalize("NFD", text)
    if decomposed == text and not _LATIN_BASE.search(text):
        return text
    return unicodedata.normalize("NFC", _LATIN_BASE.sub(lambda found: found[0][0], decomposed))


_known_words: dict[str, tuple[str, ...]] = {}
_stems: dict[str, str] = {}
_stem_lock = threading.Lock()
_porter: apsw.FTS5Tokenizer | None = None


def _stem(word: str) -> str:
    if not word.isascii() or len(word) < 3 or word.isdigit():
        return word
    known = _stems.get(word)
    if known is None:
        known = _porter_stem(word)
        if len(_stems) < _CACHED_WORDS:
            _stems[word] = known
    return known


def _porter_stem(word: str) -> str:
    global _porter  # noqa: PLW0603 - one stemmer for the whole process
    import apsw  # heavy; only where texts are analysed

    with _stem_lock:  # the stemmer belongs to a connection, which one thread uses at a time
        if _porter is None:
            _porter = apsw.Connection(":memory:").fts5_tokenizer("porter", ["ascii"])
        found = list(_porter(word.encode("ascii"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False))
    # One word in, one word out; each token comes as a tuple of its synonyms.
    return str(found[0][0]) if len(found) == 1 else word

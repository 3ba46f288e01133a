"""The frozen questions: what a user would ask, and the lines of the documents that answer it.

They were written before there was a ranker, by somebody who never saw one. `tune` is for choosing parameters, `report`
for the figures that are shown; no question changes after its first use, see README.md beside this file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.benchmarks.retrieval.metrics import Passage, Span

FOLDER: Final = Path(__file__).parent
FORMAT: Final = "mcp-servers/retrieval-questions/1"
HALVES: Final = ("tune", "report")
#: SHA-256 of each half, see `fingerprint`: a question that changed after its first use would make figures incomparable.
FROZEN: Final = {
    "tune": "876512dec26bbf91c9cb3479e0549f1b771dd8c9215f2fc932595ded3760df1b",
    "report": "f182efd35573088910d3160b35732b535988b1d3c8687a1b220ece4581297a34",
}
KINDS: Final = ("how-to", "why", "symptom", "identifier", "yes-no", "multi")
GRADES: Final = (1, 2, 3)
#: A question may not have this many words in a row in common with its answer: it would be a quotation.
COPIED_WORDS: Final = 4

# An identifier, option or file name counts as one word: it can only be asked for by its name.
_WORD: Final = re.compile(r"[^\W_]+(?:[-_./:'’]+[^\W_]+)*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*)")


class Question(NamedTuple):
    """One question and what answers it.

    Attributes:
        id: Corpus, half and number, `hatch-tune-07`.
        corpus: Name of the corpus it is asked of, a key of `corpora.CORPORA`.
        kind: One of `KINDS`; `multi` needs several passages together.
        text: The question in a user's words.
        passages: What should be found.
    """

    id: str
    corpus: str
    kind: str
    text: str
    passages: tuple[Passage, ...]


def load(half: str) -> list[Question]:
    """The questions of one half, in the order of the file.

    Raises:
        ValueError: if there is no such half or its file is not what this module expects.
    """
    if half not in HALVES:
        raise ValueError(f"there is no half of that name; there are {', '.join(HALVES)}")
    content = json.loads((FOLDER / f"questions_{half}.json").read_text(encoding="utf-8"))
    if content["format"] != FORMAT or content["half"] != half:
        raise ValueError(f"questions_{half}.json is of another format or half")
    return [_question(entry) for entry in content["questions"]]


def fingerprint(half: str) -> str:
    """SHA-256 over the questions of one half, whatever the file's layout and line ends."""
    content = json.loads((FOLDER / f"questions_{half}.json").read_text(encoding="utf-8"))
    canonical = json.dumps(content["questions"], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def words(text: str) -> list[str]:
    """The words of a text, case folded, without punctuation."""
    return _WORD.findall(text.casefold())


def copied(question: str, source: str, length: int = COPIED_WORDS) -> list[str]:
    """The runs of `length` words that a question has in common with a text, in the question's order."""
    there = set(_runs(words(source), length))
    return [" ".join(run) for run in _runs(words(question), length) if run in there]


def headings(lines: Sequence[str], span: Span) -> list[str]:
    """The headings a passage stands under, outermost first, and those inside it; code fences are not searched."""
    above: dict[int, str] = {}
    inside: list[str] = []
    fence = ""
    for number, line in enumerate(lines[: span.last], 1):
        opening = _FENCE.match(line)
        if opening:
            marker, rest = opening.groups()
            if not fence:
                fence = marker
            elif marker[0] == fence[0] and len(marker) >= len(fence) and not rest.strip():
                fence = ""
            continue
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            continue
        level, title = len(heading[1]), heading[2]
        if (
            number <= span.first
        ):  # it ends what stood beside it, whether it opens the passage or stands above it
            above = {kept: text for kept, text in above.items() if kept < level}
        if number < span.first:
            above[level] = title
        else:
            inside.append(title)
    return [above[level] for level in sorted(above)] + inside


def _question(entry: dict[str, Any]) -> Question:
    passages = tuple(
        Passage(Span(p["path"], p["first"], p["last"]), p["grade"], p["need"]) for p in entry["passages"]
    )
    return Question(entry["id"], entry["corpus"], entry["kind"], entry["question"], passages)


def _runs(listed: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    for start in range(len(listed) - length + 1):
        yield tuple(listed[start : start + length])

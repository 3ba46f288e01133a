"""Which artifacts a transcript holds: simple rules over sentences, ours (contract F11).

    feedback     what the user wants done otherwise: only the user's words count
    constraint   what must or must not be
    failure      what went wrong: tool runs that failed, and sentences that say so
    insight      what was found out: only the assistant's words count
    openLoop     a question, or something left to do

The rules propose; a review decides. They see masked text only. English and Korean words are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ragit_mcp.artifacts.records import MAX_EXCERPT

__all__ = ["Draft", "ToolTrace", "Turn", "extract"]

Role = Literal["user", "assistant", "system", "tool"]

MAX_DRAFTS: Final = 200
_MAX_TITLE: Final = 100
_MAX_SENTENCE: Final = 2000


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said in a session; `content` is masked, or None where admission kept it out."""

    turn_id: str
    role: Role
    content: str | None


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """A tool that was run in a session; its texts are masked, or None where there are none or admission kept them out."""

    trace_id: str
    title: str
    output: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """An artifact in the making.

    Attributes:
        kind: a session kind.
        title: one line.
        text: the sentences.
        actor: `user` or `assistant`.
        excerpt: the evidence.
        turn_ids: where it was said.
        trace_ids: where it happened.
        confidence: 0 to 1: how much the words say by themselves.
    """

    kind: str
    title: str
    text: str
    actor: str
    excerpt: str
    turn_ids: tuple[str, ...]
    trace_ids: tuple[str, ...]
    confidence: float


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_FEEDBACK: Final = _words(
    r"\b(?:please|prefer|rather|instead|don'?t|do not|stop|avoid|should(?:n'?t)?|wrong|not what)\b",
    "대신",
    "하지 마",
    "말아",
    "해 ?주세요",
    "바꿔",
)
_CONSTRAINT: Final = _words(
    r"\b(?:must(?:n'?t)?|must not|never|always|only ever|at most|at least|no more than|required?|forbidden|"
    r"not allowed|cannot|has to|have to)\b",
    "반드시",
    "절대",
    "금지",
    "필수",
    "항상",
)
_FAILURE: Final = _words(
    r"\b(?:fail(?:s|ed|ure)?|error|exception|traceback|crash(?:es|ed)?|broke(?:n)?|regression|timed? ?out|panic)\b",
    "실패",
    "오류",
    "에러",
    "깨졌",
)
_INSIGHT: Final = _words(
    r"\b(?:because|turns out|root cause|the reason|found (?:out )?that|learned|it follows|in fact|explains why)\b",
    "원인",
    "때문",
    "알고 보니",
    "발견",
)
_OPEN: Final = _words(
    r"\b(?:to-?do|fixme|follow[- ]up|next step|remaining|left to do|open question|still need|not yet|later)\b",
    "나중에",
    "남은",
    "할 일",
    "미해결",
)
# A sentence ends at its mark before white space, or at a line's end.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。？！])\s+|\n")


def extract(turns: Iterable[Turn], traces: Iterable[ToolTrace]) -> list[Draft]:
    """The drafts of a session, in its order; each kind at most once a turn."""
    drafts: list[Draft] = []
    for turn in turns:
        if turn.content is not None and turn.role in {"user", "assistant"}:
            drafts += _of_turn(turn, turn.content)
    drafts += [draft for trace in traces if (draft := _of_trace(trace)) is not None]
    return drafts[:MAX_DRAFTS]


def _of_turn(turn: Turn, content: str) -> Iterator[Draft]:
    sentences = list(_sentences(content))
    user = turn.role == "user"
    rules: list[tuple[str, re.Pattern[str], bool, float]] = [
        ("feedback", _FEEDBACK, user, 0.7),
        ("constraint", _CONSTRAINT, True, 0.7 if user else 0.5),
        ("failure", _FAILURE, True, 0.5),
        ("insight", _INSIGHT, not user, 0.5),
    ]
    for kind, pattern, applies, confidence in rules:
        found = [sentence for sentence in sentences if pattern.search(sentence)] if applies else []
        if found:
            yield _draft(kind, turn, found, confidence)
    open_loops = [s for s in sentences if s.endswith(("?", "？")) or _OPEN.search(s)]
    if open_loops:
        yield _draft("openLoop", turn, open_loops, 0.6)


def _draft(kind: str, turn: Turn, sentences: Sequence[str], confidence: float) -> Draft:
    return Draft(
        kind=kind,
        title=_cut(sentences[0], _MAX_TITLE),
        text="\n".join(sentences),
        actor="user" if turn.role == "user" else "assistant",
        excerpt=_cut(sentences[0], MAX_EXCERPT),
        turn_ids=(turn.turn_id,),
        trace_ids=(),
        confidence=confidence,
    )


def _of_trace(trace: ToolTrace) -> Draft | None:
    """A tool run that failed: it says so itself, or its output does."""
    failing = [line.strip() for line in (trace.error or "").splitlines() if line.strip()]
    failing = failing or [line for line in _sentences(trace.output or "") if _FAILURE.search(line)]
    if not failing:
        return None
    return Draft(
        kind="failure",
        title=_cut(f"{trace.title}: {failing[0]}", _MAX_TITLE),
        text="\n".join((trace.title, *failing[:20])),
        actor="assistant",
        excerpt=_cut(failing[0], MAX_EXCERPT),
        turn_ids=(),
        trace_ids=(trace.trace_id,),
        confidence=0.8,
    )


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE_END.split(text):
        sentence = part.strip()[:_MAX_SENTENCE]
        if sentence:
            yield sentence


def _cut(text: str, limit: int) -> str:
    """At most so many characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3].rstrip() + "..."

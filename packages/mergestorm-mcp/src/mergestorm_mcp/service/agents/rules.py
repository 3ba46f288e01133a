"""What Vortex finds: rules over the lines that a pull request adds.

A finding is known again by its key: path, title and the text of the line, wherever the line stands. So a restack that
leaves the difference as it was raises nothing new.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mergestorm_mcp.service.agents.script import FindingRule, ReviewerScript, matches_path
from mergestorm_mcp.service.pr_reviews.diffs import ChangedFile

__all__ = ["MAX_FINDINGS", "Raised", "review"]

MAX_FINDINGS: Final = 50


@dataclass(frozen=True, slots=True)
class Raised:
    """A finding as a rule raises it.

    Attributes:
        where: `inline`, `off_diff` or `body`.
    """

    key: str
    severity: str
    path: str | None
    line: int | None
    title: str
    body: str
    specialist: str
    where: str


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    pattern: re.Pattern[str]
    severity: str
    title: str
    body: str
    specialist: str
    paths: str = "*"


_BUILT_IN: Final = (
    _BuiltIn(
        re.compile(r"^(?:<{7}|>{7})(?: |$)"),
        "error",
        "Merge conflict marker",
        "A merge was committed before its conflicts were resolved.",
        "governance",
    ),
    _BuiltIn(
        re.compile(
            r"""(?i)\b(?:password|passwd|secret|api_?key|token)\b["']?\s*[:=]\s*["'][^"'\s]{6,}["']"""
        ),
        "error",
        "Written-down credential",
        "Whoever can read the repository can read this value; take it from the environment.",
        "security",
    ),
    _BuiltIn(
        re.compile(r"(?<![\w.])eval\("),
        "error",
        "Evaluates a string as code",
        "What the string holds will run; parse it instead.",
        "security",
    ),
    _BuiltIn(
        re.compile(r"^\s*except\s*:"),
        "warning",
        "Catches everything",
        "A bare except also catches the request to stop; name the exception.",
        "architecture",
        "*.py",
    ),
    _BuiltIn(
        re.compile(r"\bFIXME\b"),
        "warning",
        "FIXME left behind",
        "The line says that it is not finished.",
        "governance",
    ),
)


def review(script: ReviewerScript, files: Iterable[ChangedFile], kind: str) -> list[Raised]:
    """The findings of one review, each key once, in the order of the files.

    Args:
        script: how the reviewer behaves in this repository.
        files: what the pull request changes.
        kind: `core`, or `seam`, which looks only for what a script asks it to.
    """
    found: dict[str, Raised] = {}
    for file in files:
        for raised in _of_file(script, file, kind):
            found.setdefault(raised.key, raised)
            if len(found) >= MAX_FINDINGS:
                return list(found.values())
    return list(found.values())


def _of_file(script: ReviewerScript, file: ChangedFile, kind: str) -> Iterator[Raised]:
    rules = [rule for rule in script.findings if rule.kind == kind and matches_path(rule.path, file.path)]
    built_in = (
        [rule for rule in _BUILT_IN if matches_path(rule.paths, file.path)]
        if script.built_in and kind == "core"
        else []
    )
    for number, text in file.added:
        for rule in rules:
            if rule.text in text:
                yield _scripted(rule, file.path, number, text)
        for own in built_in:
            if own.pattern.search(text):
                yield Raised(
                    _key(file.path, own.title, text),
                    own.severity,
                    file.path,
                    number,
                    own.title,
                    own.body,
                    own.specialist,
                    "inline",
                )


def _scripted(rule: FindingRule, path: str, number: int, text: str) -> Raised:
    placed = rule.where != "body"
    return Raised(
        key=_key(path, rule.title, text),
        severity=rule.severity,
        path=path if placed else None,
        line=number if rule.where == "inline" else None,
        title=rule.title,
        body=rule.body or f"{rule.title}: the change holds {rule.text!r}.",
        specialist="governance" if rule.kind == "core" else "seam",
        where=rule.where,
    )


def _key(path: str, title: str, text: str) -> str:
    return hashlib.sha256(f"{path}\0{title}\0{text.strip()}".encode()).hexdigest()[:16]

"""A document's body as sections: the text under each heading, with the headings above it and its lines in the file.

Text before the first heading is a section called `Introduction`, without heading path. A section without text is left
out; a body that would have no section at all (headings only, or nothing) is one section called `Body`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragit_mcp.corpus.headings import MAX_TITLE_CHARACTERS, Heading, find_headings

__all__ = ["Section", "split_sections"]

INTRODUCTION: Final = "Introduction"
WHOLE_BODY: Final = "Body"


@dataclass(frozen=True, slots=True)
class Section:
    """The text under one heading.

    Attributes:
        title: the heading's text, or `Introduction` or `Body` where there is none.
        level: the heading's level; 1 where there is none.
        heading_path: titles of the enclosing headings, outermost first, and its own; empty where there is none.
        heading_line: the heading's line in the file, from 1; None where there is none.
        first_line: line of the first character of `content`, from 1.
        last_line: line of the last character of `content`.
        content: the text, stripped, without its heading; LF line ends.
    """

    title: str
    level: int
    heading_path: tuple[str, ...]
    heading_line: int | None
    first_line: int
    last_line: int
    content: str


def split_sections(
    body: str, *, lines_before: int = 0, document_title: str | None = None
) -> tuple[list[Section], list[Heading]]:
    """Split a body at its headings.

    Args:
        body: text after the front matter, LF line ends.
        lines_before: lines of the file before the body, that is, the front matter's.
        document_title: the title that the front matter declares. It heads every heading path of a document without a
            heading of level 1, as site generators show it.

    Returns:
        The sections in order, at least one, and all headings, whose lines count from the body's start.
    """
    lines = body.split("\n")
    headings = find_headings(lines)
    root: tuple[str, ...] = ()
    if document_title and not any(heading.level == 1 for heading in headings):
        root = (" ".join(document_title.split())[:MAX_TITLE_CHARACTERS],)
    sections: list[Section] = []

    def add(
        title: str, level: int, path: tuple[str, ...], heading: int | None, span: tuple[int, int]
    ) -> None:
        section = _section(title, level, path, heading, lines, span, lines_before)
        if section is not None:
            sections.append(section)

    add(INTRODUCTION, 1, root, None, (0, headings[0].line if headings else len(lines)))
    enclosing: list[Heading] = []
    for number, heading in enumerate(headings):
        while enclosing and enclosing[-1].level >= heading.level:
            enclosing.pop()
        enclosing.append(heading)
        start = heading.line + heading.line_count
        end = headings[number + 1].line if number + 1 < len(headings) else len(lines)
        path = root + tuple(entry.title for entry in enclosing)
        add(heading.title, heading.level, path, heading.line + lines_before + 1, (start, end))
    if not sections:
        whole = _section(WHOLE_BODY, 1, root, None, lines, (0, len(lines)), lines_before)
        line = lines_before + 1
        sections.append(whole or Section(WHOLE_BODY, 1, root, None, line, line, ""))
    return sections, headings


def _section(
    title: str,
    level: int,
    path: tuple[str, ...],
    heading_line: int | None,
    lines: Sequence[str],
    span: tuple[int, int],
    lines_before: int,
) -> Section | None:
    """The section whose text is `lines[start:end]`, or None if that is blank."""
    start, end = span
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if start == end:
        return None
    content = "\n".join(lines[start:end]).strip()
    return Section(title, level, path, heading_line, lines_before + start + 1, lines_before + end, content)

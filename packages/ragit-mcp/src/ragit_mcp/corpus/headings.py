"""Where the headings of a Markdown document are: one pass over its lines.

A heading is `#` to `######` at the very start of a line, white space, text; a closing run of `#` is dropped. A single
line of text underlined with `=` or `-` is a heading of level 1 or 2 (CommonMark's setext heading, without those of
several lines). Nothing inside a fenced code block, an HTML comment or raw HTML (`pre`, `script`, `style`, `textarea`)
is a heading. Fences follow CommonMark: three or more backticks or tildes, closed by at least as many of the same;
one inside a list item is measured from the item's text and ends with the item. An open fence runs to the end.
MDX needs no rule of its own: `import`, `export` and JSX are text.

Every line is looked at once, and no pattern can backtrack over more than its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["MAX_TITLE_CHARACTERS", "Heading", "find_headings"]

#: A longer line is text: every chunk below a heading repeats its title.
MAX_TITLE_CHARACTERS: Final = 500
_MAX_LIST_DEPTH: Final = 64

_CLOSING_HASHES: Final = re.compile(r"(?:^|[ \t])#+$")
_LIST_ITEM: Final = re.compile(r"( *)([-*+]|[0-9]{1,9}[.)])(?:( +)(?=\S)|\s*$)")
_THEMATIC_BREAK: Final = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
# A first line that opens some other block than a paragraph cannot be underlined.
_NO_PARAGRAPH: Final = re.compile(r"[\s>|<#`~]|[-*+](?:\s|$)|[0-9]{1,9}[.)](?:\s|$)")
_RAW_HTML: Final = re.compile(r" {0,3}<(?:(!--)|(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document.

    Attributes:
        title: its text, stripped, inline markup as written.
        level: 1 to 6.
        line: index of its first line, counted from 0.
        line_count: 2 for an underlined heading, else 1.
    """

    title: str
    level: int
    line: int
    line_count: int = 1

    @property
    def underlined(self) -> bool:
        """Whether it is a line of text with a line of `=` or `-` below it."""
        return self.line_count == 2


@dataclass(slots=True)
class _Fence:
    character: str
    length: int
    container: int


def find_headings(lines: Sequence[str]) -> list[Heading]:
    """The headings of a document in order.

    Args:
        lines: the body's lines without their line ends.
    """
    found: list[Heading] = []
    fence: _Fence | None = None
    html_end = ""
    items: list[int] = []  # where the text of each open list item starts, outermost first
    paragraph: int | None = None  # the line that may be underlined by the next one
    after_blank = True
    for number, line in enumerate(lines):
        stripped = line.lstrip(" \t")
        if html_end:
            if html_end in line.lower():
                html_end = ""
            continue
        if fence is not None:
            if not stripped:
                continue
            indent = _indent(line, stripped)
            if indent >= fence.container:
                if _closes(stripped, indent, fence):
                    fence = None
                continue
            fence = None  # the list item that held it has ended, and with it the fence
        if not stripped:
            paragraph, after_blank = None, True
            continue
        first = stripped[0]
        indent = 0 if stripped is line else _indent(line, stripped)
        previous, paragraph = paragraph, None
        if first == "#" and indent == 0:
            heading = _hash_heading(line, number)
            if heading is not None:
                found.append(heading)
                items.clear()
                after_blank = True  # a line below a heading begins a paragraph
                continue
        if first in "=-" and previous is not None and indent == 0 and _is_underline(line):
            level = 1 if first == "=" else 2
            found.append(Heading(lines[previous].strip(), level, previous, 2))
            after_blank = True
            continue
        if items and (after_blank or _LIST_ITEM.match(line)):
            while items and items[-1] > indent:
                items.pop()
        if first in "`~":
            fence = _opening_fence(stripped, indent, items)
            if fence is not None:
                after_blank = True
                continue
        elif first == "<" and indent < 4:
            html_end = _raw_html_end(line)
            if html_end:
                after_blank = True
                continue
        if first in "-*_" and _THEMATIC_BREAK.match(line):
            items.clear()
            # What follows a break at once is not taken for a title: `----` above and below is a box, not a heading.
            after_blank = False
            continue
        item = _LIST_ITEM.match(line) if first in "-*+0123456789" else None
        if item is not None and (indent < 4 or items):
            _open_item(item, indent, items)
        elif (
            after_blank and not items and len(line) <= MAX_TITLE_CHARACTERS and not _NO_PARAGRAPH.match(line)
        ):
            paragraph = number
        after_blank = False
    return found


def _indent(line: str, stripped: str) -> int:
    """Columns before the first character; a tab goes to the next multiple of four."""
    blank = line[: len(line) - len(stripped)]
    return len(blank.expandtabs(4)) if "\t" in blank else len(blank)


def _hash_heading(line: str, number: int) -> Heading | None:
    level = len(line) - len(line.lstrip("#"))
    if level > 6 or len(line) == level or not line[level].isspace() or len(line) > MAX_TITLE_CHARACTERS:
        return None
    title = _CLOSING_HASHES.sub("", line[level:].strip()).strip()
    return Heading(title, level, number) if title else None


def _is_underline(line: str) -> bool:
    marks = line.rstrip(" \t")
    return marks.count(marks[0]) == len(marks)


def _opening_fence(stripped: str, indent: int, items: Sequence[int]) -> _Fence | None:
    character = stripped[0]
    length = len(stripped) - len(stripped.lstrip(character))
    if length < 3 or (character == "`" and "`" in stripped[length:]):
        return None
    container = max((item for item in items if item <= indent), default=0)
    return _Fence(character, length, container) if indent - container < 4 else None


def _closes(stripped: str, indent: int, fence: _Fence) -> bool:
    marks = stripped.rstrip()
    return (
        indent - fence.container < 4
        and len(marks) >= fence.length
        and marks.count(fence.character) == len(marks)
    )


def _raw_html_end(line: str) -> str:
    """What ends the raw HTML that this line opens, in lower case; empty if it opens none or closes it again."""
    match = _RAW_HTML.match(line)
    if match is None:
        return ""
    end = "-->" if match[1] else f"</{match[2].lower()}>"
    rest = line[match.end() :].lower()
    # `<Style />` of MDX closes itself; taken for HTML it would hide the rest of the document.
    return "" if end in rest or (match[2] and "/>" in rest) else end


def _open_item(match: re.Match[str], indent: int, items: list[int]) -> None:
    # More than four spaces after the marker belong to an indented code block inside the item.
    gap = len(match[3]) if match[3] else 1
    while items and items[-1] > indent:
        items.pop()
    if len(items) < _MAX_LIST_DEPTH:
        items.append(indent + len(match[2]) + (gap if gap <= 4 else 1))

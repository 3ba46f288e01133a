"""Sections cut into the passages that are indexed, found and cited.

Content of at most 1,000 characters is one chunk. Longer content is cut at the last space of each 1,000 characters, if
one lies beyond the first 500, and the next chunk begins 120 characters before the cut, so that a sentence at a cut is
whole in one of them (contract A8, counted in code points). Work and output are linear in the text: each step moves on
by at least 380 characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ragit_mcp.corpus import ids
from ragit_mcp.corpus.decoding import DocumentRefused
from ragit_mcp.corpus.paths import show_path
from ragit_mcp.corpus.sections import Section

__all__ = ["CHUNK_CHARACTERS", "CHUNK_OVERLAP", "MAX_CHUNKS", "Chunk", "cut_sections", "embedding_text"]

CHUNK_CHARACTERS: Final = 1000
CHUNK_OVERLAP: Final = 120
#: Chunks of one document; a file of nothing but headings could otherwise take all memory.
MAX_CHUNKS: Final = 100_000

_EARLIEST_CUT: Final = 500
_HEADING_SEPARATOR: Final = " > "


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage at its place in a document.

    Attributes:
        content_id: id of path, heading path and text; see `ragit_mcp.corpus.ids`.
        path: the document's repository path.
        section_title: title of its section.
        section_index: position of its section among the document's sections.
        heading_path: titles of the headings above it, outermost first.
        ordinal: position among the document's chunks, from 0.
        first_line: line of its first character in the file, from 1.
        last_line: line of its last character.
        word_count: words, separated by white space.
        token_count: tokens of the model whose counter was given; None without a counter.
        text: the passage, stripped.
    """

    content_id: str
    path: str
    section_title: str
    section_index: int
    heading_path: tuple[str, ...]
    ordinal: int
    first_line: int
    last_line: int
    word_count: int
    token_count: int | None
    text: str

    @property
    def embedding_text(self) -> str:
        """The text that is embedded: see `embedding_text`."""
        return embedding_text(self.path, self.heading_path, self.text)


def embedding_text(path: str, heading_path: Sequence[str], text: str) -> str:
    """Path, headings and passage as one text for a model: a passage alone often lacks the words that name it."""
    head = (show_path(path), _HEADING_SEPARATOR.join(heading_path))
    return "\n".join(part for part in (*head, text) if part)


def cut_sections(
    path: str, sections: Sequence[Section], *, count_tokens: Callable[[str], int] | None = None
) -> tuple[Chunk, ...]:
    """Cut the sections of one document.

    Args:
        path: the document's repository path.
        sections: its sections in order.
        count_tokens: counts a text's tokens for one model.

    Raises:
        DocumentRefused: `too_many_chunks`.
    """
    chunks: list[Chunk] = []
    for index, section in enumerate(sections):
        line, counted_to = section.first_line, 0
        for start, end in cut_positions(section.content):
            text = section.content[start:end]
            if len(chunks) >= MAX_CHUNKS:
                raise DocumentRefused("too_many_chunks")
            # Chunks start in ascending order: every line end is counted once for starts, and once for each chunk.
            line += section.content.count("\n", counted_to, start)
            counted_to = start
            chunks.append(
                Chunk(
                    content_id=ids.content_id(path, section.heading_path, text),
                    path=path,
                    section_title=section.title,
                    section_index=index,
                    heading_path=section.heading_path,
                    ordinal=len(chunks),
                    first_line=line,
                    last_line=line + text.count("\n"),
                    word_count=len(text.split()),
                    token_count=count_tokens(text) if count_tokens is not None else None,
                    text=text,
                )
            )
    return tuple(chunks)


def cut_positions(content: str) -> Iterator[tuple[int, int]]:
    """Start and end of each chunk in a section's stripped content, blank ends of the chunk left out."""
    length = len(content)
    cursor = 0
    while cursor < length:
        end = min(cursor + CHUNK_CHARACTERS, length)
        if end < length:
            # A space at the very end counts: it would be the first character left out.
            space = content.rfind(" ", cursor + _EARLIEST_CUT + 1, end + 1)
            if space != -1:
                end = space
        text = content[cursor:end]
        start = cursor + len(text) - len(text.lstrip())
        stop = cursor + len(text.rstrip())
        if start < stop:
            yield start, stop
        if end == length:
            return
        cursor = max(end - CHUNK_OVERLAP, cursor + 1)

"""A document of the repository, read as a whole: front matter, type, sections, chunks.

Decoding and reading are two steps (`decode_document`, then `read_document`), because masking belongs between them:
whatever is read here reaches the index. Masking must keep the number of lines, or the line numbers of the passages
are not those of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragit_mcp.corpus.chunks import Chunk, cut_sections
from ragit_mcp.corpus.contracts import Violation, check_contract
from ragit_mcp.corpus.decoding import with_plain_line_ends
from ragit_mcp.corpus.doctypes import DocType, detect_type
from ragit_mcp.corpus.front_matter import FrontMatter, split_front_matter
from ragit_mcp.corpus.sections import Section, split_sections

__all__ = ["Document", "read_document"]


@dataclass(frozen=True, slots=True)
class Document:
    """What the index knows of a document.

    Attributes:
        path: its repository path.
        doc_type: its type, `doc` if it has none of the known ones.
        title: `title` of the front matter, else its first heading of level 1, else None.
        front_matter: the block at its top; its `body` is the text of the sections.
        sections: its sections in order, at least one.
        chunks: its passages in order; none for an empty document.
        line_count: lines of the file.
        violations: what a document of its type lacks.
    """

    path: str
    doc_type: DocType
    title: str | None
    front_matter: FrontMatter
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    line_count: int
    violations: tuple[Violation, ...]


def read_document(path: str, text: str, *, count_tokens: Callable[[str], int] | None = None) -> Document:
    """Read a document from its text.

    Args:
        path: its repository path.
        text: its text after masking, with any line ends and with or without a byte order mark.
        count_tokens: counts a text's tokens for one model; gives the chunks their `token_count`.

    Raises:
        DocumentRefused: `too_many_chunks`; nothing else is raised for any text.
    """
    front_matter = split_front_matter(with_plain_line_ends(text))
    body = front_matter.body
    declared_title = front_matter.string("title")
    sections, headings = split_sections(
        body, lines_before=front_matter.line_count, document_title=declared_title
    )
    main = next((heading.title for heading in headings if heading.level == 1), None)
    doc_type = detect_type(path, front_matter, headings[0].title if headings else None)
    lines = body.count("\n") + (not body.endswith("\n")) if body else 0
    return Document(
        path=path,
        doc_type=doc_type,
        title=declared_title or main,
        front_matter=front_matter,
        sections=tuple(sections),
        chunks=cut_sections(path, sections, count_tokens=count_tokens),
        line_count=front_matter.line_count + lines,
        violations=check_contract(doc_type, front_matter, headings),
    )

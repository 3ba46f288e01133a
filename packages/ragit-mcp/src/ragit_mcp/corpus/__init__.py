"""Documents of a repository: which files they are, their text, type, sections and passages.

    globs, selection    which paths are candidates, which of them lie outside the include globs
    paths               paths that need not be UTF-8, and how they are shown
    decoding            bytes to text
    front_matter, headings, sections, doctypes, contracts
                        what a document is made of
    chunks, ids         the passages, and the names they are kept under
    documents           all of it in one call

Pure functions of their arguments: no file is opened and no program started here.
"""

from __future__ import annotations

from ragit_mcp.corpus.chunks import Chunk, embedding_text
from ragit_mcp.corpus.contracts import Violation
from ragit_mcp.corpus.decoding import DocumentRefused, SourceText, decode_document
from ragit_mcp.corpus.doctypes import DOC_TYPES, DocType
from ragit_mcp.corpus.documents import Document, read_document
from ragit_mcp.corpus.globs import Glob, GlobSet
from ragit_mcp.corpus.ids import CHUNKER_VERSION, chunk_id, content_id, document_id, section_id, version_id
from ragit_mcp.corpus.paths import path_from_git, path_to_git, show_path
from ragit_mcp.corpus.sections import Section
from ragit_mcp.corpus.selection import CandidateFilter, Placement, check_explicit_path, is_markdown

__all__ = [
    "CHUNKER_VERSION",
    "DOC_TYPES",
    "CandidateFilter",
    "Chunk",
    "DocType",
    "Document",
    "DocumentRefused",
    "Glob",
    "GlobSet",
    "Placement",
    "Section",
    "SourceText",
    "Violation",
    "check_explicit_path",
    "chunk_id",
    "content_id",
    "decode_document",
    "document_id",
    "embedding_text",
    "is_markdown",
    "path_from_git",
    "path_to_git",
    "read_document",
    "section_id",
    "show_path",
    "version_id",
]

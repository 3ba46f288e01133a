"""Identifiers of documents and chunks (contract A3 with the corrections of F6).

    content id     what a chunk says and where it stands in its document; the same in every commit that has it, so
                   that its text and its vector are kept once
    version id     one content of one path: path and blob, without the commit
    chunk id       a chunk at its place: content, version and ordinal, so that a repeated passage keeps both places

All are lower-case hex of 160 bits. Fields are joined with their lengths, so that moving a character from one field to
the next gives another id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

__all__ = ["CHUNKER_VERSION", "chunk_id", "content_id", "document_id", "section_id", "version_id"]

#: Part of every content id. Raise it whenever the same text would be cut, numbered or embedded differently.
CHUNKER_VERSION: Final = "1"

_HEX_DIGITS: Final = 40


def document_id(path: str) -> str:
    """The id of the document at a repository path, whatever it says: SHA-1 of the path, as the contract fixes it."""
    return hashlib.sha1(_bytes(path), usedforsecurity=False).hexdigest()


def version_id(path: str, blob_id: str) -> str:
    """The id of one content of a document; `blob_id` is git's object id in hex."""
    return _digest("version", path, blob_id)


def section_id(path: str, heading_path: Iterable[str], content: str) -> str:
    """The id of a section's text below its headings."""
    return _digest("section", path, *heading_path, content)


def content_id(path: str, heading_path: Iterable[str], text: str) -> str:
    """The id of a chunk's content, shared by all commits and all places that have it."""
    return _digest("chunk", CHUNKER_VERSION, path, *heading_path, text)


def chunk_id(content: str, version: str, ordinal: int) -> str:
    """The id of a chunk at its place in one version of a document."""
    return _digest("place", content, version, str(ordinal))


def _digest(*fields: str) -> str:
    digest = hashlib.sha256()
    for field in fields:
        data = _bytes(field)
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:_HEX_DIGITS]


def _bytes(text: str) -> bytes:
    # Paths hold surrogate escapes; any other lone surrogate must not stop an id from being made either.
    return text.encode("utf-8", "surrogatepass")

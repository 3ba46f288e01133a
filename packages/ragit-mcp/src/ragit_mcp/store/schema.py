"""The tables of a generation.

A chunk is kept once, whoever has it: its row number is its vector's and its index entry's as well. Row numbers are
dense, from 1, so that a row is a position in the block of vectors and in every mask. A document version has its chunks
at places (ordinal and lines); a snapshot is a set of document versions. Whatever exists is never changed: a new
generation is a copy with more rows, or a fresh file with the rows that are still wanted.

* `document`: one content of one document, read under one recipe (chunker, masking, admission).
* `place`: a chunk in a document version; narrow, because a reader takes all places of a snapshot at once.
* `snapshot`: the document versions of an indexed commit as ranges of row numbers. The digest is in the commit's
  manifest too; a manifest and a membership that do not belong together are never combined.
* `terms`: inverted index, FTS5 without content and positions; what it indexes is said in `terms`.
* `vectors`: sqlite-vec, unit length, so that a dot product is the cosine.
"""

from __future__ import annotations

from typing import Final

__all__ = ["APPLICATION_ID", "DOCUMENT_OUTCOMES", "PAGE_SIZE", "SCOPES", "TABLES", "VECTOR_SEGMENT"]

#: `PRAGMA application_id`: the letters RGIT.
APPLICATION_ID: Final = 0x52474954
PAGE_SIZE: Final = 8192
#: Vectors in one blob of the vector table.
VECTOR_SEGMENT: Final = 256

#: Scopes in the order in which the first label wins (contract A4); a place keeps the position in this tuple.
SCOPES: Final = ("durable", "session", "harness", "evidence")
#: What became of a document version: indexed, or kept out by admission. A version keeps the position in this tuple.
DOCUMENT_OUTCOMES: Final = ("indexed", "blocked")

TABLES: Final[dict[str, str]] = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "document": (
        "CREATE TABLE document ("
        "id INTEGER PRIMARY KEY, version_id TEXT NOT NULL, recipe TEXT NOT NULL, outcome INTEGER NOT NULL, "
        "document_id TEXT NOT NULL, path BLOB NOT NULL, doc_type TEXT NOT NULL, title TEXT, "
        "blob_id TEXT NOT NULL, hash TEXT NOT NULL, line_count INTEGER NOT NULL, "
        "chunk_count INTEGER NOT NULL, masked_count INTEGER NOT NULL, notes TEXT NOT NULL, artifact TEXT, "
        "UNIQUE (version_id, recipe)) STRICT"
    ),
    "chunk": (
        "CREATE TABLE chunk ("
        "id INTEGER PRIMARY KEY, content_id TEXT NOT NULL UNIQUE, path BLOB NOT NULL, heading_path TEXT NOT NULL, "
        "section_title TEXT NOT NULL, text TEXT NOT NULL, word_count INTEGER NOT NULL, token_count INTEGER) STRICT"
    ),
    "place": (
        "CREATE TABLE place ("
        "document INTEGER NOT NULL, ordinal INTEGER NOT NULL, scope INTEGER NOT NULL, chunk INTEGER NOT NULL, "
        "first_line INTEGER NOT NULL, last_line INTEGER NOT NULL, term_count INTEGER NOT NULL, "
        "PRIMARY KEY (document, ordinal)) STRICT, WITHOUT ROWID"
    ),
    "snapshot": (
        "CREATE TABLE snapshot ("
        "commit_id TEXT NOT NULL, digest TEXT NOT NULL, commit_time INTEGER NOT NULL, documents BLOB NOT NULL, "
        "document_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, "
        "PRIMARY KEY (commit_id, digest)) STRICT, WITHOUT ROWID"
    ),
    "terms": (
        "CREATE VIRTUAL TABLE terms USING fts5(term, content='', columnsize=0, detail=none, tokenize='ascii')"
    ),
    "vectors": (
        "CREATE VIRTUAL TABLE vectors USING "
        f"vec0(embedding float[{{dimensions}}] distance_metric=cosine, chunk_size={VECTOR_SEGMENT})"
    ),
}
"""Every table that is ours, with its statement; `vectors` wants the number of dimensions."""

#: Tables that FTS5 and sqlite-vec keep for the two virtual tables.
SHADOW_TABLES: Final = frozenset((
    "terms_data",
    "terms_idx",
    "terms_config",
    "terms_content",
    "vectors_info",
    "vectors_chunks",
    "vectors_rowids",
    "vectors_vector_chunks00",
    "sqlite_sequence",
))

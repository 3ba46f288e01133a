"""Building the next generation: a copy of the current one with more rows, or a fresh file.

The file has a name of its own from the beginning and nobody knows it before the pointer names it, so it needs no
protection while it grows: SQLite keeps its rollback journal in memory and forces nothing to disk until the end. If
anything fails the file is deleted; if the process dies the next ingest deletes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from ragit_mcp.corpus import embedding_text, path_to_git
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.embedding.vectors import FloatArray, unit_vectors
from ragit_mcp.errors import EmbeddingError
from ragit_mcp.ingest.documents import PreparedDocument
from ragit_mcp.ingest.files import coded_write_errors, copy_file, sync_directory, sync_file
from ragit_mcp.store.database import harden, load_vector_extension
from ragit_mcp.store.layout import SCHEMA_VERSION, STORE_DIR, Pointer
from ragit_mcp.store.membership import pack_rows
from ragit_mcp.store.reader import Store
from ragit_mcp.store.schema import (
    APPLICATION_ID,
    DOCUMENT_OUTCOMES,
    PAGE_SIZE,
    SCOPES,
    TABLES,
)
from ragit_mcp.store.terms import index_entry

if TYPE_CHECKING:
    import apsw

__all__ = ["Generation", "database_vfs"]

Embed = Callable[[Sequence[str]], FloatArray]

#: SQLite's file layer for writing, by name; None for the platform's own. Fault tests put their own here.
database_vfs: str | None = None

# Chunks that wait for their vectors, so that embedding works on batches.
_BATCH: Final = 512
_GROUP: Final = 500
_CACHE_KIB: Final = 64 * 1024


class Generation:
    """A generation in the making, in one transaction; a context manager that deletes the file unless it was finished.

    Args:
        root: the repository's root.
        contract: what the vectors are.
        embed: makes the vectors of new chunks.
        source: the generation to continue; None for a fresh file.
    """

    def __init__(
        self, root: str, *, contract: EmbeddingContract, embed: Embed, source: Pointer | None = None
    ) -> None:
        self._root = root
        self._contract = contract
        self._embed = embed
        self._directory = os.path.join(root, *STORE_DIR.split("/"))
        self.name = f"{uuid.uuid4().hex}.db"
        self._path = os.path.join(self._directory, self.name)
        self._waiting: deque[tuple[int, str, str]] = deque()
        self._rows_of_content: dict[str, int] = {}
        self._finished = False
        self.fresh = source is None
        self.new_versions: list[str] = []
        self.new_chunks: list[str] = []
        self.embedded = 0
        self.on_progress: Callable[[], None] = lambda: None
        with coded_write_errors():
            try:
                if source is not None:
                    copy_file(os.path.join(self._directory, source.file), self._path)
                self._connection = self._open()
            except BaseException:
                self._delete()
                raise
            self._next_chunk = self._value("SELECT coalesce(max(id), 0) FROM chunk") + 1
            self._next_document = self._value("SELECT coalesce(max(id), 0) FROM document") + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            self.discard()

    def discard(self) -> None:
        """Close and delete the file."""
        with contextlib.suppress(Exception):
            # The file is going to be deleted, whatever is wrong with it.
            self._connection.close(True)
        self._delete()

    def add_document(self, document: PreparedDocument, recipe: str) -> int:
        """Store a document version with its chunks; those that are there already are shared.

        Returns:
            Its row number.
        """
        row = self._next_document
        self._next_document += 1
        scope = SCOPES.index(document.scope)
        places: list[tuple[int, ...]] = []
        for chunk in document.chunks:
            entry, count = index_entry(chunk.text, chunk.heading_path, chunk.path)
            number = self._chunk_row(chunk.content_id)
            if number is None:
                number = self._add_chunk(
                    (
                        chunk.content_id,
                        path_to_git(chunk.path),
                        json.dumps(chunk.heading_path),
                        chunk.section_title,
                        chunk.text,
                        chunk.word_count,
                        chunk.token_count,
                    ),
                    entry,
                    chunk.embedding_text,
                )
                self.new_chunks.append(chunk.content_id)
            places.append((row, chunk.ordinal, scope, number, chunk.first_line, chunk.last_line, count))
        with coded_write_errors():
            self._connection.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    row,
                    document.version_id,
                    recipe,
                    DOCUMENT_OUTCOMES.index(document.outcome),
                    document.document_id,
                    path_to_git(document.path),
                    document.doc_type,
                    document.title,
                    document.blob_id,
                    document.hash,
                    document.line_count,
                    len(document.chunks),
                    document.masked_count,
                    json.dumps(document.notes),
                    json.dumps(document.artifact) if document.artifact is not None else None,
                ),
            )
            self._connection.executemany("INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?)", places)
        self.new_versions.append(document.version_id)
        return row

    def add_snapshot(self, commit: str, digest: str, commit_time: int, rows: Iterable[int]) -> None:
        """Store which document versions a snapshot consists of."""
        ordered = sorted(rows)
        with coded_write_errors():
            chunks = self._count_chunks(ordered)
            self._connection.execute(
                "INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?, ?)",
                (commit, digest, commit_time, pack_rows(ordered), len(ordered), chunks),
            )

    def drop_snapshots(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forget memberships; what only they had stays until a fresh file is made."""
        with coded_write_errors():
            self._connection.executemany("DELETE FROM snapshot WHERE commit_id = ? AND digest = ?", keys)

    def take_over(
        self, old: Store, keep: Sequence[tuple[str, str]], *, also: Iterable[int] = ()
    ) -> dict[int, int]:
        """Bring memberships, and what they consist of, from an older generation into this fresh one.

        Vectors are taken along if they are of the same contract, and made anew otherwise.

        Args:
            old: the older generation, open.
            keep: commit and digest of the memberships.
            also: row numbers of further document versions.

        Returns:
            New row numbers of document versions, by their old ones.
        """
        reuse = old.contract.identity == self._contract.identity
        documents = sorted({*also, *(row for key in keep for row in old.snapshot_rows(*key))})
        vectors = old.vectors() if reuse else None
        new_documents: dict[int, int] = {}
        chunk_rows: dict[int, int] = {}
        for start in range(0, len(documents), _GROUP):
            group = documents[start : start + _GROUP]
            # The columns are copied as they are, so this needs no knowledge of what they mean.
            with coded_write_errors():
                rows = old.rows(_among("SELECT * FROM document WHERE id IN (?) ORDER BY id", group), group)
                places = old.rows(
                    _among("SELECT * FROM place WHERE document IN (?) ORDER BY document, ordinal", group),
                    group,
                )
                missing = dict.fromkeys(place[3] for place in places if place[3] not in chunk_rows)
                self._take_chunks(old, list(missing), vectors, chunk_rows)
                for row in rows:
                    new_documents[row[0]] = self._next_document
                    self._connection.execute(
                        "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (self._next_document, *row[1:]),
                    )
                    self._next_document += 1
                self._connection.executemany(
                    "INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        (new_documents[place[0]], *place[1:3], chunk_rows[place[3]], *place[4:])
                        for place in places
                    ),
                )
        for commit, digest in keep:
            rows_of = [new_documents[row] for row in old.snapshot_rows(commit, digest)]
            self.add_snapshot(commit, digest, old.commit_time(commit, digest), rows_of)
        return new_documents

    def finish(self) -> Pointer:
        """Write what is left, force the file to disk, and say what the pointer has to say.

        Raises:
            IngestError: `INGEST_STORE_WRITE_UNVERIFIED`; the file is gone then.
        """
        self._flush()
        with coded_write_errors():
            if self.fresh:
                self._connection.execute("INSERT INTO terms(terms) VALUES ('optimize')")
            documents = self._value("SELECT count(*) FROM document")
            chunks = self._value("SELECT count(*) FROM chunk")
            self._connection.execute("COMMIT")
            self._connection.close()
            sync_file(self._path)
            sync_directory(self._directory)
            pointer = Pointer(self.name, os.stat(self._path).st_size, documents, chunks, self._contract)
        self._finished = True
        return pointer

    def remove_finished(self) -> None:
        """Delete a finished file that is not to become current."""
        self._delete()

    def _open(self) -> apsw.Connection:
        import apsw

        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        if self.fresh:
            flags |= apsw.SQLITE_OPEN_CREATE
        connection = apsw.Connection(self._path, flags=flags, vfs=database_vfs)
        try:
            harden(connection)
            load_vector_extension(connection)
            if self.fresh:
                connection.pragma("page_size", PAGE_SIZE)
            for name, value in (
                ("journal_mode", "MEMORY"),
                ("synchronous", "OFF"),
                ("locking_mode", "EXCLUSIVE"),
                ("cache_size", -_CACHE_KIB),
            ):
                connection.pragma(name, value)
            connection.execute("BEGIN EXCLUSIVE")
            if self.fresh:
                self._create(connection)
        except BaseException:
            connection.close(True)
            raise
        return connection

    def _create(self, connection: apsw.Connection) -> None:
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
        for statement in TABLES.values():
            connection.execute(statement.replace("{dimensions}", str(self._contract.dimensions)))
        meta = {
            "provider": self._contract.provider,
            "model": self._contract.model,
            "dimensions": str(self._contract.dimensions),
            "embedding_version": self._contract.version,
        }
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())

    def _chunk_row(self, content: str) -> int | None:
        known = self._rows_of_content.get(content)
        if known is None and not self.fresh:
            with coded_write_errors():
                found = self._connection.execute(
                    "SELECT id FROM chunk WHERE content_id = ?", (content,)
                ).fetchone()
            if found is not None:
                known = self._rows_of_content[content] = int(found[0])
        return known

    def _add_chunk(self, values: tuple[Any, ...], entry: str, text: str, vector: bytes | None = None) -> int:
        """Store a chunk; its vector follows with those of its batch unless it is given."""
        row = self._next_chunk
        self._next_chunk += 1
        self._rows_of_content[values[0]] = row
        with coded_write_errors():
            self._connection.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (row, *values))
            self._connection.execute("INSERT INTO terms(rowid, term) VALUES (?, ?)", (row, entry))
            if vector is not None:
                self._connection.execute("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", (row, vector))
        if vector is None:
            self._waiting.append((row, values[0], text))
            if len(self._waiting) >= _BATCH:
                self._flush()
        return row

    def _take_chunks(
        self, old: Store, rows: list[int], vectors: FloatArray | None, mapped: dict[int, int]
    ) -> None:
        for chunk in old.chunks(rows):
            entry, _ = index_entry(chunk.text, chunk.heading_path, chunk.path)
            values = (
                chunk.content_id,
                path_to_git(chunk.path),
                json.dumps(chunk.heading_path),
                chunk.section_title,
                chunk.text,
                chunk.word_count,
                chunk.token_count,
            )
            vector = vectors[chunk.row - 1].tobytes() if vectors is not None else None
            text = embedding_text(chunk.path, chunk.heading_path, chunk.text)
            mapped[chunk.row] = self._add_chunk(values, entry, text, vector)

    def _flush(self) -> None:
        """Embed the chunks that wait, and store their vectors."""
        if not self._waiting:
            return
        batch = list(self._waiting)
        self._waiting.clear()
        vectors = self._checked(self._embed([text for _, _, text in batch]), len(batch))
        with coded_write_errors():
            self._connection.executemany(
                "INSERT INTO vectors(rowid, embedding) VALUES (?, ?)",
                ((row, vector.tobytes()) for (row, _, _), vector in zip(batch, vectors, strict=True)),
            )
        self.embedded += len(batch)
        self.on_progress()

    def _checked(self, vectors: FloatArray, count: int) -> FloatArray:
        import numpy as np

        if vectors.shape != (count, self._contract.dimensions) or not np.isfinite(vectors).all():
            raise EmbeddingError(
                "DIMENSION_MISMATCH",
                "The embedding provider returned vectors that are not of its contract.",
                details={"provider": self._contract.provider, "expected": self._contract.dimensions},
            )
        return unit_vectors(vectors.astype(np.float32, copy=False))

    def _count_chunks(self, rows: Sequence[int]) -> int:
        total = 0
        for start in range(0, len(rows), _GROUP):
            group = rows[start : start + _GROUP]
            total += self._value(
                _among("SELECT total(chunk_count) FROM document WHERE id IN (?)", group), group
            )
        return int(total)

    def _value(self, statement: str, values: Sequence[Any] = ()) -> int:
        found = self._connection.execute(statement, values).fetchone()
        return int(found[0]) if found is not None else 0

    def _delete(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _among(statement: str, rows: Sequence[int]) -> str:
    """The statement with as many parameters as there are rows in the place of its one."""
    return statement.replace("?", ",".join("?" * len(rows)))

"""The reading face of the store: one open generation.

    with open_store(root) as store:
        members = store.membership(commit, digest, "durable")
        block = store.vectors()                    # float32, unit length; chunk row r is block[r - 1]
        rows = members.restrict(store.term_rows("anchor"))
        chunks = store.chunks(rows[:10])

Nothing here ranks, and nothing here writes: no lock, no temporary file, no access time that matters. Arrays and the
block of vectors are kept while the store is open, so a server pays for them once a generation. A store may be used from
several threads; statements take turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ragit_mcp.corpus import chunk_id, content_id, path_from_git
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.errors import RagitError
from ragit_mcp.store import database
from ragit_mcp.store.layout import Pointer, read_pointer, store_unavailable
from ragit_mcp.store.membership import Membership, empty_arrays, unpack_rows
from ragit_mcp.store.schema import DOCUMENT_OUTCOMES, SCOPES
from ragit_mcp.store.sharing import Hold, hold_generation
from ragit_mcp.store.terms import Field, frequency_mark, is_term

if TYPE_CHECKING:
    import apsw
    import numpy as np
    import numpy.typing as npt

__all__ = ["Store", "StoreStatistics", "StoredChunk", "StoredDocument", "open_store"]

_GROUP: Final = 500
_SCOPES_ASKED: Final = (*SCOPES, "all")
# How often a pointer is read again because its generation went away in between.
_OPENING_ATTEMPTS: Final = 5
_KEPT_MEMBERSHIPS: Final = 8


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it is kept, without its place.

    Attributes:
        row: its row number.
        content_id: see `ragit_mcp.corpus.ids`.
        path: its document's repository path (masked); see `ragit_mcp.corpus.paths` before showing it.
        heading_path: titles above it, outermost first.
        section_title: title of its section.
        text: the passage (masked).
        word_count: words of the text.
        token_count: tokens of the embedding model, where it can count them.
    """

    row: int
    content_id: str
    path: str
    heading_path: tuple[str, ...]
    section_title: str
    text: str
    word_count: int
    token_count: int | None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document version.

    Attributes:
        row: its row number.
        document_id: id of the document, from its path.
        version_id: id of this content of it, from path and blob.
        path: its repository path (masked).
        doc_type: its type.
        title: its title, if it has one.
        blob_id: git's id of its content.
        hash: SHA-256 of its content.
        line_count: lines of the file.
        chunk_count: its chunks.
        masked_count: secrets that were hidden in it.
        outcome: `indexed`, or `blocked` by admission (then it belongs to no snapshot).
        notes: JSON object with what was found when it was read.
        artifact: JSON object of the artifact it was made from; None for a document of the repository.
    """

    row: int
    document_id: str
    version_id: str
    path: str
    doc_type: str
    title: str | None
    blob_id: str
    hash: str
    line_count: int
    chunk_count: int
    masked_count: int
    outcome: str
    notes: dict[str, Any]
    artifact: dict[str, Any] | None

    def chunk_id(self, content: str, ordinal: int) -> str:
        """The id of a chunk at its place in this version: what a citation names."""
        return chunk_id(content, self.version_id, ordinal)


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """How much a generation holds; `size` in bytes."""

    documents: int
    chunks: int
    snapshots: int
    size: int


class Store:
    """One generation, open for reading; made by `open_store`.

    Attributes:
        root: the repository's root.
        pointer: what the pointer file said when it was opened.
    """

    def __init__(self, root: str, pointer: Pointer, connection: apsw.Connection, hold: Hold) -> None:
        self.root = root
        self.pointer = pointer
        self._connection = connection
        self._hold = hold
        self._lock = threading.RLock()
        self._vectors: npt.NDArray[np.float32] | None = None
        self._memberships: dict[tuple[str, str, str], Membership] = {}
        self._has_extension = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was read from it stays valid."""
        with self._lock:
            self._connection.close()
            self._hold.release()
            self._vectors = None
            self._memberships.clear()

    @property
    def contract(self) -> EmbeddingContract:
        """What the vectors are; compare its `identity` with a provider's."""
        return self.pointer.contract

    @property
    def generation(self) -> str:
        """Name of the generation; differs whenever anything in the store differs."""
        return self.pointer.file

    def statistics(self) -> StoreStatistics:
        """Numbers for `status`."""
        documents, chunks, snapshots = self._rows(
            "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk), (SELECT count(*) FROM snapshot)"
        )[0]
        return StoreStatistics(documents, chunks, snapshots, self.pointer.size)

    def snapshots(self) -> list[tuple[str, str]]:
        """Commit and digest of every membership."""
        return [(commit, digest) for commit, digest in self._rows("SELECT commit_id, digest FROM snapshot")]

    def membership(self, commit_id: str, digest: str, scope: str = "durable") -> Membership:
        """The passages of a snapshot.

        Args:
            commit_id: the commit.
            digest: of its manifest; another membership of the same commit is not taken for it.
            scope: one of `SCOPES`, or `all`.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `membership` if the store does not hold it.
        """
        if scope not in _SCOPES_ASKED:
            raise ValueError(scope)
        key = (commit_id, digest, scope)
        with self._lock:
            known = self._memberships.get(key)
            if known is None:
                known = self._read_membership(*key)
                while len(self._memberships) >= _KEPT_MEMBERSHIPS:
                    del self._memberships[next(iter(self._memberships))]
                self._memberships[key] = known
            return known

    def snapshot_documents(self, commit_id: str, digest: str) -> list[StoredDocument]:
        """The document versions of a snapshot, ordered by path and version id.

        Raises:
            SnapshotError: as `membership`.
        """
        found = self.documents(self.snapshot_rows(commit_id, digest))
        return sorted(found.values(), key=lambda document: (document.path, document.version_id))

    def versions(self, recipe: str) -> dict[str, int]:
        """Row numbers of all document versions that were read under a recipe, by version id."""
        return dict(self._rows("SELECT version_id, id FROM document WHERE recipe = ?", (recipe,)))

    def snapshot_rows(self, commit_id: str, digest: str) -> list[int]:
        """Row numbers of a snapshot's document versions, ascending.

        Raises:
            SnapshotError: as `membership`.
        """
        return self._snapshot_rows(commit_id, digest)[0]

    def commit_time(self, commit_id: str, digest: str) -> int:
        """Seconds since the epoch of a snapshot's commit.

        Raises:
            SnapshotError: as `membership`.
        """
        return self._snapshot_rows(commit_id, digest)[1]

    def has_snapshot(self, commit_id: str, digest: str) -> bool:
        """Whether there is such a membership."""
        found = self._rows("SELECT 1 FROM snapshot WHERE commit_id = ? AND digest = ?", (commit_id, digest))
        return bool(found)

    def places(self, document: int) -> list[tuple[int, str, str]]:
        """Ordinal, scope and chunk content id of every place of a document version, in order."""
        statement = (
            "SELECT p.ordinal, p.scope, c.content_id FROM place p JOIN chunk c ON c.id = p.chunk "
            "WHERE p.document = ? ORDER BY p.ordinal"
        )
        return [
            (ordinal, SCOPES[scope], content)
            for ordinal, scope, content in self._rows(statement, (document,))
        ]

    def vectors(self) -> npt.NDArray[np.float32]:
        """All vectors of the generation as one block: unit length, chunk row `r` at `r - 1`; do not write to it.

        The block is read once and kept: 4 bytes a number.
        """
        with self._lock:
            if self._vectors is None:
                self._vectors = self._read_vectors()
            return self._vectors

    def count_chunks_of(self, documents: Iterable[int]) -> int:
        """How many chunks belong to one of the document versions."""
        import numpy as np

        places = np.asarray(self._rows("SELECT document, chunk FROM place"), dtype=np.int64).reshape(-1, 2)
        wanted = np.isin(places[:, 0], np.fromiter(documents, dtype=np.int64))
        return len(np.unique(places[wanted, 1]))

    def vector_count(self) -> int:
        """Number of vectors; equals the number of chunks."""
        return int(self._rows("SELECT count(*) FROM vectors_rowids")[0][0])

    def term_rows(self, term: str, field: Field = Field.TEXT, *, at_least: int = 1) -> npt.NDArray[np.int64]:
        """Row numbers of all chunks of the generation that have a term, ascending.

        Args:
            term: of `terms.query_terms`.
            field: where it stands.
            at_least: how often it stands in the text: 1, or one of `terms.FREQUENCIES`.
        """
        import numpy as np

        if not is_term(term):  # the index would see several words, or none
            return np.empty(0, dtype=np.int64)
        word = term + (frequency_mark(at_least) if field is Field.TEXT else field.value)
        # Packed by SQLite: a row at a time through Python takes six times as long.
        found = self._rows("SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?", (f'"{word}"',))
        packed = found[0][0]
        if not packed:
            return np.empty(0, dtype=np.int64)
        return np.fromstring(str(packed), dtype=np.int64, sep=",")

    def chunks(self, rows: Iterable[int]) -> list[StoredChunk]:
        """Chunks by row number, in the order asked for; a chunk that is not what its id says is an error.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`.
        """
        wanted = [int(row) for row in rows]
        statement = (
            "SELECT id, content_id, path, heading_path, section_title, text, word_count, token_count "
            "FROM chunk WHERE id IN "
        )
        found = {row[0]: _chunk(row) for row in self._by_id(statement, wanted)}
        try:
            return [found[row] for row in wanted]
        except KeyError:
            raise store_unavailable("corrupt") from None

    def documents(self, rows: Iterable[int]) -> dict[int, StoredDocument]:
        """Document versions by row number.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`.
        """
        wanted = sorted({int(row) for row in rows})
        statement = f"SELECT {_DOCUMENT_COLUMNS} FROM document WHERE id IN "  # noqa: S608 - a constant
        found = {row[0]: _document(row) for row in self._by_id(statement, wanted)}
        if len(found) != len(wanted):
            raise store_unavailable("corrupt")
        return found

    def nearest(self, vector: Sequence[float], count: int) -> list[tuple[int, float]]:
        """Row numbers and cosine distances by sqlite-vec over the whole generation: the peer that searches are
        measured against, not the way they search.
        """
        import numpy as np

        with self._lock:
            if not self._has_extension:
                database.load_vector_extension(self._connection)
                self._has_extension = True
        statement = "SELECT rowid, distance FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance"
        packed = np.asarray(vector, dtype=np.float32).tobytes()
        return [(row, distance) for row, distance in self._rows(statement, (packed, count))]

    def check(self) -> None:
        """Read the whole file and make sure that it is sound; takes as long as reading it.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`.
        """
        if self._rows("PRAGMA quick_check(1)") != [("ok",)]:
            raise store_unavailable("corrupt")
        if self.vector_count() != self.statistics().chunks:
            raise store_unavailable("corrupt")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement of ours; for `ingest`, which copies rows as they are.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt` or `unreadable`.
        """
        return self._rows(statement, values)

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock, database.coded_sqlite_errors():
            return list(self._connection.execute(statement, values))

    def _by_id(self, statement: str, rows: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(rows), _GROUP):
            group = rows[start : start + _GROUP]
            yield from self._rows(f"{statement}({','.join('?' * len(group))})", group)

    def _snapshot_rows(self, commit_id: str, digest: str) -> tuple[list[int], int]:
        """Row numbers of a snapshot's document versions, and the commit's time."""
        found = self._rows(
            "SELECT documents, document_count, commit_time FROM snapshot WHERE commit_id = ? AND digest = ?",
            (commit_id, digest),
        )
        if not found:
            raise store_unavailable("membership")
        packed, count, time = found[0]
        limit = self._rows("SELECT coalesce(max(id), 0) FROM document")[0][0]
        try:
            rows = list(unpack_rows(packed, limit=limit))
        except ValueError:
            raise store_unavailable("corrupt") from None
        if len(rows) != count:
            raise store_unavailable("corrupt")
        return rows, time

    def _read_membership(self, commit_id: str, digest: str, scope: str) -> Membership:
        import numpy as np

        documents, time = self._snapshot_rows(commit_id, digest)
        limit = self._rows("SELECT coalesce(max(id), 0) FROM chunk")[0][0]
        statement = "SELECT document, ordinal, chunk, first_line, last_line, scope, term_count FROM place"
        wanted = np.asarray(documents, dtype=np.int64)
        places = np.empty((0, 7), dtype=np.int64)
        if documents:
            bounds = (documents[0], documents[-1])
            rows = self._rows(f"{statement} WHERE document BETWEEN ? AND ?", bounds)
            if rows:
                places = np.asarray(rows, dtype=np.int64)
            places = places[np.isin(places[:, 0], wanted)]
        if scope != "all":
            places = places[places[:, 5] == SCOPES.index(scope)]
        if len(places) and not (places[:, 2].min() >= 1 and places[:, 2].max() <= limit):
            raise store_unavailable("corrupt")
        arrays = empty_arrays()
        if len(places):
            ranks = self._document_ranks(documents)
            places = places[np.lexsort((places[:, 1], ranks[places[:, 0]]))]
            names = ("documents", "ordinals", "rows", "first_lines", "last_lines", "scopes", "term_counts")
            arrays = {name: np.ascontiguousarray(places[:, index]) for index, name in enumerate(names)}
        return Membership(
            commit_id=commit_id,
            commit_time=time,
            scope=scope,
            document_count=len(documents),
            row_limit=limit,
            **arrays,
        )

    def _document_ranks(self, documents: Sequence[int]) -> npt.NDArray[np.int64]:
        """For every document row its place in the order of paths and version ids."""
        import numpy as np

        statement = "SELECT id, path, version_id FROM document WHERE id BETWEEN ? AND ?"
        wanted = set(documents)
        rows = self._rows(statement, (documents[0], documents[-1]))
        ordered = sorted((path, version, row) for row, path, version in rows if row in wanted)
        ranks = np.zeros(documents[-1] + 1, dtype=np.int64)
        ranks[[row for _, _, row in ordered]] = np.arange(len(ordered))
        return ranks

    def _read_vectors(self) -> npt.NDArray[np.float32]:
        """The vectors as sqlite-vec keeps them: segments of a fixed number of slots, with the rows that fill them."""
        import numpy as np

        dimensions = self.contract.dimensions
        count = self._rows("SELECT coalesce(max(id), 0) FROM chunk")[0][0]
        block = np.empty((count, dimensions), dtype=np.float32)
        filled = 0
        statement = (
            "SELECT c.size, c.validity, c.rowids, v.vectors FROM vectors_chunks c "
            "JOIN vectors_vector_chunks00 v ON v.rowid = c.chunk_id ORDER BY c.chunk_id"
        )
        with self._lock, database.coded_sqlite_errors():
            for size, validity, rowids, vectors in self._connection.execute(statement):
                used = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[:size].sum()
                rows = np.frombuffer(rowids, dtype=np.int64)
                if len(vectors) != size * dimensions * 4 or len(rows) != size or filled + used > count:
                    raise store_unavailable("corrupt")
                expected = np.arange(filled + 1, filled + used + 1)
                if not np.array_equal(rows[:used], expected):  # rows are dense and only ever appended
                    raise store_unavailable("corrupt")
                segment = np.frombuffer(vectors, dtype=np.float32).reshape(size, dimensions)
                block[filled : filled + used] = segment[:used]
                filled += int(used)
        if filled != count:
            raise store_unavailable("corrupt")
        block.flags.writeable = False
        return block


def open_store(root: str | os.PathLike[str], *, pointer: Pointer | None = None) -> Store:
    """Open the current generation of a repository's store.

    Args:
        root: the repository's root.
        pointer: a generation other than the current one.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`; `details.reason` names the case, see `layout.store_unavailable`.
    """
    place = os.path.realpath(root)
    for attempt in range(_OPENING_ATTEMPTS):
        chosen = pointer or read_pointer(place)
        try:
            return _open(place, chosen)
        except RagitError as error:
            # An ingest may have published and cleaned up between the pointer and the file it named.
            gone = error.details.get("reason") == "missing" and pointer is None
            if not gone or attempt + 1 == _OPENING_ATTEMPTS or read_pointer(place) == chosen:
                raise
    raise AssertionError("unreachable")


def _open(root: str, pointer: Pointer) -> Store:
    path = database.generation_path(root, pointer.file, pointer.size)
    with contextlib.ExitStack() as stack:
        hold = stack.enter_context(contextlib.closing(hold_generation(path)))
        connection = stack.enter_context(contextlib.closing(database.open_generation(path, pointer.size)))
        with database.coded_sqlite_errors():
            dimensions = database.check_schema(connection)
            meta = dict(connection.execute("SELECT key, value FROM meta"))
        if (
            dimensions != pointer.contract.dimensions
            or contract_of(meta).identity != pointer.contract.identity
        ):
            raise store_unavailable("corrupt")
        stack.pop_all()
    return Store(root, pointer, connection, hold)


def contract_of(meta: dict[str, str]) -> EmbeddingContract:
    """The embedding contract that a generation's `meta` table states.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`.
    """
    try:
        return EmbeddingContract(
            provider=meta["provider"],
            model=meta["model"],
            version=meta["embedding_version"],
            dimensions=int(meta["dimensions"]),
        )
    except (KeyError, ValueError):
        raise store_unavailable("corrupt") from None


_DOCUMENT_COLUMNS: Final = (
    "id, document_id, version_id, path, doc_type, title, blob_id, hash, line_count, chunk_count, masked_count, "
    "outcome, notes, artifact"
)


def _document(row: tuple[Any, ...]) -> StoredDocument:
    try:
        notes = json.loads(row[12])
        artifact = json.loads(row[13]) if row[13] is not None else None
        outcome = DOCUMENT_OUTCOMES[row[11]]
    except (ValueError, IndexError, RecursionError):
        raise store_unavailable("corrupt") from None
    return StoredDocument(
        row=row[0],
        document_id=row[1],
        version_id=row[2],
        path=path_from_git(row[3]),
        doc_type=row[4],
        title=row[5],
        blob_id=row[6],
        hash=row[7],
        line_count=row[8],
        chunk_count=row[9],
        masked_count=row[10],
        outcome=outcome,
        notes=notes,
        artifact=artifact,
    )


def _chunk(row: tuple[Any, ...]) -> StoredChunk:
    number, content, raw_path, headings, title, text, words, tokens = row
    path = path_from_git(raw_path)
    try:
        heading_path = tuple(json.loads(headings))
    except (ValueError, TypeError, RecursionError):
        raise store_unavailable("corrupt") from None
    if content_id(path, heading_path, text) != content:
        raise store_unavailable("corrupt")
    return StoredChunk(number, content, path, heading_path, title, text, words, tokens)

"""Which passages a snapshot consists of, as arrays, and the packed form in which a set of row numbers is kept."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Membership", "pack_rows", "unpack_rows"]

_RANGE: Final = struct.Struct("<II")
_MAX_ROW: Final = 2**32 - 1


def pack_rows(rows: Iterable[int]) -> bytes:
    """Ascending row numbers as pairs of first row and length: documents that did not change stay in one range."""
    packed = bytearray()
    first = length = 0
    for row in rows:
        if length and row == first + length:
            length += 1
            continue
        if length:
            packed += _RANGE.pack(first, length)
        first, length = row, 1
    if length:
        packed += _RANGE.pack(first, length)
    return bytes(packed)


def unpack_rows(packed: bytes, *, limit: int) -> Iterator[int]:
    """The row numbers of `pack_rows`.

    Args:
        packed: what `pack_rows` returned.
        limit: greatest row number there is.

    Raises:
        ValueError: it is not of that form.
    """
    if len(packed) % _RANGE.size:
        raise ValueError("odd length")
    previous = 0
    for first, length in _RANGE.iter_unpack(packed):
        if first <= previous or length < 1 or first + length - 1 > min(limit, _MAX_ROW):
            raise ValueError("rows out of order or range")
        previous = first + length - 1
        yield from range(first, first + length)


@dataclass(frozen=True)
class Membership:
    """The passages of one snapshot and scope, one entry of every array for each place.

    A place is what a hit is: one chunk at one position of one document version. The same chunk may stand at several
    places. Entries are ordered by document path, version and ordinal, whatever the row numbers are.

    Attributes:
        commit_id: the snapshot's commit.
        commit_time: seconds since the epoch, from the commit.
        scope: the scope that was asked for.
        documents: row number of the document version.
        ordinals: position of the chunk in the document version, from 0.
        rows: row number of the chunk.
        first_lines: first line in the file, from 1.
        last_lines: last line in the file.
        scopes: position of the place's scope in `SCOPES`.
        term_counts: terms of the chunk's text, for length normalisation.
        document_count: document versions of the snapshot.
        row_limit: greatest chunk row number of the generation; masks have `row_limit + 1` entries.
    """

    commit_id: str
    commit_time: int
    scope: str
    documents: npt.NDArray[np.int64]
    ordinals: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    first_lines: npt.NDArray[np.int64]
    last_lines: npt.NDArray[np.int64]
    scopes: npt.NDArray[np.int64]
    term_counts: npt.NDArray[np.int64]
    document_count: int
    row_limit: int

    def __len__(self) -> int:
        """Number of places."""
        return len(self.rows)

    @cached_property
    def unique_rows(self) -> npt.NDArray[np.int64]:
        """Row numbers of the chunks, ascending, each once."""
        import numpy as np

        return np.unique(self.rows)

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """For every chunk row number (index 0 is unused) whether it belongs to the snapshot and scope."""
        import numpy as np

        mask = np.zeros(self.row_limit + 1, dtype=np.bool_)
        mask[self.rows] = True
        return mask

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """For every chunk row number the terms of its text; 0 outside the snapshot."""
        import numpy as np

        lengths = np.zeros(self.row_limit + 1, dtype=np.int64)
        lengths[self.rows] = self.term_counts
        return lengths

    @cached_property
    def _places_by_row(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        import numpy as np

        order = np.argsort(self.rows, kind="stable")
        return order, self.rows[order]

    def restrict(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those of the row numbers that belong to the snapshot and scope, in their order."""
        return rows[self.mask[rows]]

    def places_of(self, row: int) -> list[int]:
        """The entries at which a chunk stands, in document order."""
        order, rows = self._places_by_row
        return [
            int(place) for place in order[rows.searchsorted(row, "left") : rows.searchsorted(row, "right")]
        ]


def empty_arrays() -> dict[str, Any]:
    """The arrays of a membership without places."""
    import numpy as np

    names = ("documents", "ordinals", "rows", "first_lines", "last_lines", "scopes", "term_counts")
    return {name: np.empty(0, dtype=np.int64) for name in names}

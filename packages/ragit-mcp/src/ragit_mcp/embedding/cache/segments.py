"""The format of a segment: keys, check sums, vectors; read by mapping it into memory.

    64 bytes    header: magic, namespace id, dimensions, number of entries, zeros
    20 each     keys: SHA-1 of the texts, ascending
    8 each      check sums over key and vector
    to 64       zeros
    4 * dimensions each     vectors, float32, little-endian

A segment whose size or header is not exactly what the name space wants counts as absent, an entry whose check sum or
numbers are wrong as a miss. Integers are little-endian.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcpkit.files import FileAccessError, open_below
from ragit_mcp.embedding.cache.place import Namespace
from ragit_mcp.embedding.vectors import FloatArray

if TYPE_CHECKING:  # numpy is imported by whoever looks up a vector
    from numpy.typing import NDArray

__all__ = ["HEADER_BYTES", "KEY_BYTES", "MAX_SEGMENT_BYTES", "Segment", "entries_in_header", "packed"]

MAX_SEGMENT_BYTES: Final = 2 * 2**30
KEY_BYTES: Final = 20
_HEADER: Final = struct.Struct("<8s16sII32x")
_MAGIC: Final = b"ragitv1\n"
HEADER_BYTES: Final = _HEADER.size
_SUM_BYTES: Final = 8
_ALIGNMENT: Final = 64


def _offsets(count: int, dimensions: int) -> tuple[int, int, int, int]:
    """Where keys, sums and vectors begin, and where the segment ends."""
    keys = HEADER_BYTES
    sums = keys + count * KEY_BYTES
    vectors = -(-(sums + count * _SUM_BYTES) // _ALIGNMENT) * _ALIGNMENT
    return keys, sums, vectors, vectors + count * dimensions * 4


def _checksum(key: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(key + vector, digest_size=_SUM_BYTES).digest()


def packed(namespace: Namespace, entries: Mapping[bytes, FloatArray]) -> bytes:
    """The bytes of a segment.

    Args:
        namespace: whose vectors they are.
        entries: keys, each with its vector.
    """
    import numpy as np

    dimensions = namespace.contract.dimensions
    keys = sorted(entries)
    vectors = [np.ascontiguousarray(entries[key], dtype="<f4").tobytes() for key in keys]
    _, sums, start, _ = _offsets(len(keys), dimensions)
    header = _HEADER.pack(_MAGIC, namespace.contract.namespace_id.encode("ascii"), dimensions, len(keys))
    checks = [_checksum(key, vector) for key, vector in zip(keys, vectors, strict=True)]
    padding = b"\0" * (start - sums - len(keys) * _SUM_BYTES)
    return b"".join([header, *keys, *checks, padding, *vectors])


def entries_in_header(namespace: Namespace, header: bytes, size: int) -> int | None:
    """Number of entries that a segment of a size says it has; None if it is no segment of the name space."""
    if len(header) < HEADER_BYTES:
        return None
    magic, name, dimensions, count = _HEADER.unpack_from(header)
    contract = namespace.contract
    if magic != _MAGIC or name != contract.namespace_id.encode("ascii") or dimensions != contract.dimensions:
        return None
    return int(count) if _offsets(count, dimensions)[3] == size else None


class Segment:
    """A mapped segment."""

    def __init__(self, mapped: mmap.mmap, count: int, dimensions: int) -> None:
        import numpy as np

        self._map = mapped
        self._dimensions = dimensions
        keys, self._sums, self._vectors, _ = _offsets(count, dimensions)
        self._keys: NDArray[Any] = np.frombuffer(mapped, dtype=f"S{KEY_BYTES}", count=count, offset=keys)

    @classmethod
    def open(cls, namespace: Namespace, name: str) -> Segment | None:
        """Map a segment; None if it cannot be read or is none of the name space."""
        try:
            with open_below(
                namespace.root, f"{namespace.directory}/{name}", max_bytes=MAX_SEGMENT_BYTES
            ) as stream:
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (FileAccessError, OSError, ValueError):
            return None
        count = entries_in_header(namespace, mapped[:HEADER_BYTES], len(mapped))
        if count is None:
            mapped.close()
            return None
        return cls(mapped, count, namespace.contract.dimensions)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: bytes) -> FloatArray | None:
        """The vector of a key; None if it is not here, or not as it was written."""
        import numpy as np

        # Trailing zero bytes do not count in numpy's comparison; the key is compared in full below.
        place = int(np.searchsorted(self._keys, np.bytes_(key)))
        return self._entry(place, key) if place < len(self._keys) else None

    def entries(self) -> dict[bytes, FloatArray]:
        """Every sound entry."""
        found: dict[bytes, FloatArray] = {}
        for place in range(len(self)):
            key = self._key(place)
            vector = self._entry(place, key)
            if vector is not None:
                found[key] = vector
        return found

    def _key(self, place: int) -> bytes:
        start = HEADER_BYTES + place * KEY_BYTES
        return self._map[start : start + KEY_BYTES]

    def _entry(self, place: int, key: bytes) -> FloatArray | None:
        import numpy as np

        size = self._dimensions * 4
        start = self._vectors + place * size
        data = self._map[start : start + size]
        sums = self._sums + place * _SUM_BYTES
        if self._key(place) != key or self._map[sums : sums + _SUM_BYTES] != _checksum(key, data):
            return None
        vector = np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)
        return vector if np.isfinite(vector).all() else None

    def close(self) -> None:
        """Let go of the file; vectors that were found stay valid."""
        del self._keys
        self._map.close()

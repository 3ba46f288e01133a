"""Tensors of a safetensors file, mapped into memory instead of read (format: length, JSON header, raw data).

The file stays on disk and its pages are shared between processes; a table of token vectors costs memory only where
it is touched. Every number of the header is checked against the file before anything is mapped.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcpkit.files import FileAccessError, open_regular
from ragit_mcp.embedding.local.faults import model_fault

if TYPE_CHECKING:  # numpy is imported with the model, not with the module
    from numpy.typing import NDArray

__all__ = ["MAX_MODEL_BYTES", "SafetensorsFile"]

MAX_MODEL_BYTES: Final = 8 * 2**30
_MAX_HEADER_BYTES: Final = 16 * 2**20
# Types that numpy has; BF16 and the eight-bit floats are not among them.
_DTYPES: Final = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I8": "|i1",
    "U8": "|u1",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    dtype: str
    shape: tuple[int, ...]
    start: int


class SafetensorsFile:
    """An open safetensors file.

    Args:
        path: the file; links are followed.
        provider: name for the error.

    Raises:
        EmbeddingError: `MODEL_UNAVAILABLE`: missing, not readable, or not a well-formed file.
    """

    def __init__(self, path: str, *, provider: str) -> None:
        self._provider = provider
        try:
            with open_regular(path, max_bytes=MAX_MODEL_BYTES) as stream:
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except FileAccessError as error:
            raise model_fault(provider, "weights", error.kind) from None
        except (OSError, ValueError):  # an empty file cannot be mapped
            raise model_fault(provider, "weights", "unreadable") from None
        self._entries = dict(self._parsed())

    def sha256(self) -> str:
        """SHA-256 of the whole file in hexadecimal, of the very bytes that the tensors are views of."""
        return hashlib.sha256(self._map).hexdigest()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def tensor(self, name: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        """A tensor as a read-only view of the file.

        Raises:
            EmbeddingError: `MODEL_UNAVAILABLE`: there is none of that name, or of that shape.
        """
        import numpy as np

        entry = self._entries.get(name)
        if entry is None or (shape is not None and entry.shape != shape):
            raise model_fault(self._provider, "weights", "tensor")
        count = 1
        for extent in entry.shape:
            count *= extent
        flat: NDArray[Any] = np.frombuffer(
            self._map, dtype=np.dtype(entry.dtype), count=count, offset=entry.start
        )
        return flat.reshape(entry.shape)

    def _parsed(self) -> Iterator[tuple[str, _Entry]]:
        size = len(self._map)
        length = int.from_bytes(self._map[:8], "little")
        if size < 8 or length > min(_MAX_HEADER_BYTES, size - 8):
            raise model_fault(self._provider, "weights", "header")
        try:
            header = json.loads(self._map[8 : 8 + length])
        except (ValueError, RecursionError):
            raise model_fault(self._provider, "weights", "header") from None
        if not isinstance(header, dict):
            raise model_fault(self._provider, "weights", "header")
        data = 8 + length
        for name, described in header.items():
            if name == "__metadata__":
                continue
            entry = _entry(described, data, size)
            if entry is not None:
                yield name, entry


def _entry(described: Any, data: int, size: int) -> _Entry | None:
    """A tensor's description, or None for one that does not fit the file or has a type that is not known here."""
    if not isinstance(described, dict):
        return None
    dtype = described.get("dtype")
    shape, offsets = _naturals(described.get("shape")), _naturals(described.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in _DTYPES or shape is None or offsets is None:
        return None
    width = int(_DTYPES[dtype][-1])
    needed = width
    for extent in shape:
        needed *= extent
    if len(offsets) != 2 or offsets[1] - offsets[0] != needed or data + offsets[1] > size:
        return None
    return _Entry(_DTYPES[dtype], shape, data + offsets[0])


def _naturals(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, list) and len(value) <= 8 and all(type(item) is int and item >= 0 for item in value):
        return tuple(value)
    return None

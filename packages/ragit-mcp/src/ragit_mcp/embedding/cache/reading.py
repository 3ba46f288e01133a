"""Looking vectors up; never writes, touches or creates anything."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from typing import Final

from mcpkit.files import FileAccessError, open_below, walk_below
from ragit_mcp.embedding.cache.place import Namespace
from ragit_mcp.embedding.cache.segments import HEADER_BYTES, MAX_SEGMENT_BYTES, Segment, entries_in_header
from ragit_mcp.embedding.contract import text_hash
from ragit_mcp.embedding.vectors import FloatArray

__all__ = ["CacheReader", "cache_key", "count_entries", "segment_names", "segment_sizes"]

SEGMENT_NAME: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{16}\.seg", re.ASCII)
# A segment as it is called before it is whole.
ABANDONED_NAME: Final = re.compile(rf"\.{SEGMENT_NAME.pattern}\.[0-9a-f]{{16}}\.tmp", re.ASCII)
MAX_FILES: Final = 4096


def cache_key(text: str) -> bytes:
    """The key of a text, 20 bytes."""
    return bytes.fromhex(text_hash(text))


def segment_names(namespace: Namespace) -> list[str]:
    """Names of the segments, oldest first; none where there is no cache or it cannot be listed."""
    try:
        found = list(walk_below(namespace.root, namespace.directory, max_entries=MAX_FILES, max_depth=2))
    except FileAccessError:
        return []
    names = (file.path.removeprefix(f"{namespace.directory}/") for file in found)
    return sorted(name for name in names if SEGMENT_NAME.fullmatch(name))


def segment_sizes(namespace: Namespace) -> dict[str, int]:
    """Number of entries of each sound segment, from its header, oldest first."""
    sizes: dict[str, int] = {}
    for name in segment_names(namespace):
        try:
            with open_below(
                namespace.root, f"{namespace.directory}/{name}", max_bytes=MAX_SEGMENT_BYTES
            ) as stream:
                header = stream.read(HEADER_BYTES)
                count = entries_in_header(namespace, header, stream.seek(0, os.SEEK_END))
        except (FileAccessError, OSError):
            continue
        if count is not None:
            sizes[name] = count
    return sizes


def count_entries(namespace: Namespace) -> int:
    """How many entries the segments hold; one that two processes wrote counts twice until segments are merged."""
    return sum(segment_sizes(namespace).values())


class CacheReader:
    """The cache of one contract. Segments stay mapped; new ones are seen at the next look-up.

    Args:
        namespace: where.
    """

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self._open: dict[str, Segment] = {}
        self._lock = threading.Lock()

    def find(self, texts: Sequence[str]) -> list[FloatArray | None]:
        """The vector of each text, None where there is none."""
        with self._lock:
            self._refresh()
            segments = list(self._open.values())
            return [self._find(segments, cache_key(text)) for text in texts]

    @staticmethod
    def _find(segments: Sequence[Segment], key: bytes) -> FloatArray | None:
        for segment in reversed(segments):
            vector = segment.find(key)
            if vector is not None:
                return vector
        return None

    def _refresh(self) -> None:
        names = segment_names(self.namespace)
        for name in set(self._open) - set(names):
            self._open.pop(name).close()
        for name in names:
            if name not in self._open:
                segment = Segment.open(self.namespace, name)
                if segment is not None:
                    self._open[name] = segment

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

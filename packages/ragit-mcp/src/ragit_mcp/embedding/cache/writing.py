"""Keeping vectors: one new segment at a time, and few segments in all.

A segment takes its name only when it is whole (written aside, forced to disk, renamed), so a lost process or a full disk
leaves the cache as it was. Small segments are merged into one, which is published before they go: no entry is ever
missing in between. A cache that cannot be written is no reason to fail; the vectors are there all the same.

This module writes; nothing that serves reading imports it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from mcpkit.files import FileAccessError, atomic_write_below, locate_below, walk_below
from ragit_mcp.embedding.cache.place import Namespace
from ragit_mcp.embedding.cache.reading import (
    ABANDONED_NAME,
    MAX_FILES,
    CacheReader,
    cache_key,
    segment_names,
    segment_sizes,
)
from ragit_mcp.embedding.cache.segments import Segment, packed
from ragit_mcp.embedding.contract import NAMESPACE_SCHEMA
from ragit_mcp.embedding.vectors import FloatArray

__all__ = ["MAX_ENTRIES", "CacheWriter"]

#: Entries of a contract's cache; beyond it the oldest segments go.
MAX_ENTRIES: Final = 1_000_000
#: Entries of one segment; merging makes none larger.
MAX_SEGMENT_ENTRIES: Final = 65_536
#: Segments that are left alone; a look-up asks each of them.
FEW_SEGMENTS: Final = 16

_FILE_MODE: Final = 0o600
# Longer than writing one segment takes anywhere.
_ABANDONED_AFTER_SECONDS: Final = 3600.0
_logger: Final = logging.getLogger("ragit.embedding.cache")


class CacheWriter:
    """Adds to the cache of one contract.

    Args:
        namespace: where.
        reader: the reader of the same process, which lets go of files before they are removed (Windows).
        now: the time, for `namespace.json`.
    """

    def __init__(
        self,
        namespace: Namespace,
        reader: CacheReader,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._namespace = namespace
        self._reader = reader
        self._now = now

    def add(self, texts: Sequence[str], vectors: FloatArray) -> bool:
        """Keep vectors; True if they were kept. A failure is logged and otherwise passed over."""
        entries = {cache_key(text): vector for text, vector in zip(texts, vectors, strict=True)}
        if not entries:
            return True
        try:
            self._make_directory()
            self._describe()
            self._publish(entries)
            self._tidy()
        except (FileAccessError, OSError) as error:
            # Kinds only: a path of the machine has no place in a log that a client may see.
            kind = error.kind if isinstance(error, FileAccessError) else type(error).__name__
            _logger.warning("vectors were not kept in the embedding cache: %s", kind)
            return False
        return True

    def _publish(self, entries: dict[bytes, FloatArray]) -> None:
        names = segment_names(self._namespace)
        number = int(names[-1][:12], 16) + 1 if names else 1
        name = f"{number:012x}-{secrets.token_hex(8)}.seg"
        place = f"{self._namespace.directory}/{name}"
        atomic_write_below(self._namespace.root, place, packed(self._namespace, entries), _FILE_MODE)

    def _make_directory(self) -> None:
        parts = self._namespace.directory.split("/")
        for depth in range(1, len(parts) + 1):
            directory = "/".join(parts[:depth])
            try:
                found = locate_below(self._namespace.root, directory)
            except FileAccessError as error:
                if error.kind != "not_found":
                    raise
                with contextlib.suppress(FileExistsError):  # another process was first
                    os.mkdir(os.path.join(self._namespace.root, *parts[:depth]), 0o700)
                found = locate_below(self._namespace.root, directory)
            if not stat.S_ISDIR(found.stat.st_mode):
                raise FileAccessError("link_refused" if stat.S_ISLNK(found.stat.st_mode) else "not_directory")

    def _describe(self) -> None:
        place = f"{self._namespace.directory}/namespace.json"
        try:
            locate_below(self._namespace.root, place)
        except FileAccessError as error:
            if error.kind != "not_found":
                raise
            contract = self._namespace.contract
            description = {
                "schemaVersion": NAMESPACE_SCHEMA,
                "namespaceId": contract.namespace_id,
                "provider": contract.provider,
                "model": contract.model,
                "version": contract.version,
                "dimensions": contract.dimensions,
                "baseUrl": contract.base_url,
                "createdAt": self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
            data = json.dumps(description, indent=2).encode("utf-8") + b"\n"
            atomic_write_below(self._namespace.root, place, data, _FILE_MODE)

    def _tidy(self) -> None:
        sizes = segment_sizes(self._namespace)
        if len(sizes) > FEW_SEGMENTS:
            self._remove(self._abandoned())
            self._merge(_to_merge(sizes))
            sizes = segment_sizes(self._namespace)
        excess = sum(sizes.values()) - MAX_ENTRIES
        for name, count in sizes.items():
            if excess <= 0:
                break
            self._remove([name])
            excess -= count

    def _merge(self, names: Sequence[str]) -> None:
        entries: dict[bytes, FloatArray] = {}
        merged: list[str] = []
        for name in names:
            segment = Segment.open(self._namespace, name)
            if segment is not None:
                entries.update(segment.entries())
                segment.close()
                merged.append(name)
        if len(merged) > 1:
            self._publish(entries)
            self._remove(merged)

    def _abandoned(self) -> list[str]:
        """Files that a process wrote aside and did not live to rename."""
        oldest = self._now().timestamp() - _ABANDONED_AFTER_SECONDS
        found = walk_below(
            self._namespace.root, self._namespace.directory, max_entries=MAX_FILES, max_depth=2
        )
        place = f"{self._namespace.directory}/"
        return [
            file.path.removeprefix(place)
            for file in found
            if ABANDONED_NAME.fullmatch(file.path.removeprefix(place)) and file.stat.st_mtime < oldest
        ]

    def _remove(self, names: Sequence[str]) -> None:
        self._reader.close()
        for name in names:
            # Where another process holds it open (Windows) it stays, and goes with a later merge.
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._namespace.root, *self._namespace.directory.split("/"), name))


def _to_merge(sizes: dict[str, int]) -> list[str]:
    """The segments to make one of: small ones first, as long as the next is not much larger than all before it.

    An entry is then copied about as often as the number of entries can be doubled, and the number of segments stays
    near that logarithm.
    """
    chosen: list[str] = []
    total = 0
    for name, count in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if total + count > MAX_SEGMENT_ENTRIES or (len(chosen) >= FEW_SEGMENTS // 2 and count > 2 * total):
            break
        chosen.append(name)
        total += count
    return chosen

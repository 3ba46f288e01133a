"""git's index, read as data: what git last saw of the work tree.

Format: gitformat-index(5), versions 2 to 4, with the split index (a shared file, what of it is gone or replaced, and
what is new) and the sparse index (directories standing for all below them). Extensions that only make git faster are
passed over, but for the tree cache, which tells at once whether the index holds exactly a given tree.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcpkit.files import FileAccessError, read_regular

__all__ = ["Index", "IndexEntry", "IndexUnreadable", "read_index"]

_MAX_BYTES: Final = 512 << 20
_HEADER: Final = struct.Struct(">4sII")
_STAT: Final = struct.Struct(">10I")
_ASSUME_VALID: Final = 0x8000
_EXTENDED: Final = 0x4000
_SKIP_WORKTREE: Final = 0x4000
_INTENT_TO_ADD: Final = 0x2000
_HASH_SIZE: Final = {"sha1": 20, "sha256": 32}


class IndexUnreadable(Exception):
    """The index is damaged, or of a kind that is not understood; the reason holds nothing of it."""


class IndexEntry(NamedTuple):
    """One entry.

    Attributes:
        path: from the top of the work tree; ends with `/` for a directory of a sparse index.
        mode: as in a tree: type and permission bits.
        oid: full id of the content.
        stage: 0, or 1 to 3 for the sides of a conflict.
        assume_unchanged: the user promised that the file does not change.
        skip_worktree: the file need not be in the work tree.
        intent_to_add: announced without content.
        stat: ctime seconds and nanoseconds, mtime seconds and nanoseconds, device, inode, mode, user, group, size;
            each as its lower 32 bits.
    """

    path: bytes
    mode: int
    oid: str
    stage: int
    assume_unchanged: bool
    skip_worktree: bool
    intent_to_add: bool
    stat: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """The whole index.

    Attributes:
        entries: in the index's order.
        mtime_ns: when it was written, nanoseconds since the epoch; of a split index the older of its two files.
        root_tree: the tree that the entries are exactly, where git noted it.
        split: its entries come from two files.
    """

    entries: list[IndexEntry]
    mtime_ns: int
    root_tree: str | None
    split: bool = False


def read_index(git_dir: str, object_format: str) -> Index:
    """Read the index of a checkout; a missing one is empty, as for git.

    Args:
        git_dir: the checkout's own git directory.
        object_format: `sha1` or `sha256`.

    Raises:
        IndexUnreadable: damaged, too large, or of an unknown kind.
    """
    path = os.path.join(git_dir, "index")
    if not os.path.lexists(path):
        return Index([], 0, None)
    data, mtime = _read(path)
    entries, extensions = _parse(data, _HASH_SIZE[object_format])
    root_tree = _root_tree(extensions.get(b"TREE", b""), _HASH_SIZE[object_format])
    if b"link" in extensions:
        entries, base_mtime = _joined(entries, extensions[b"link"], git_dir, _HASH_SIZE[object_format])
        mtime = min(mtime, base_mtime)
    return Index(entries, mtime, root_tree, split=b"link" in extensions)


def _read(path: str) -> tuple[bytes, int]:
    try:
        # Before the content: a time that is too old only makes more entries be looked at.
        mtime = os.stat(path).st_mtime_ns
        return read_regular(path, max_bytes=_MAX_BYTES), mtime
    except FileAccessError as error:
        raise IndexUnreadable(f"the index {error.reason}") from None
    except OSError:
        raise IndexUnreadable("the index could not be read") from None


def _parse(data: bytes, hash_size: int) -> tuple[list[IndexEntry], dict[bytes, bytes]]:
    try:
        signature, version, count = _HEADER.unpack_from(data)
        if signature != b"DIRC" or not 2 <= version <= 4:
            raise IndexUnreadable("the index has a version that is not known")
        entries, position = _parse_entries(data, version, count, hash_size)
        return entries, dict(_parse_extensions(data, position, hash_size))
    except (struct.error, IndexError, ValueError):
        raise IndexUnreadable("the index is damaged") from None


def _parse_entries(data: bytes, version: int, count: int, hash_size: int) -> tuple[list[IndexEntry], int]:
    entries: list[IndexEntry] = []
    position = _HEADER.size
    end = len(data) - hash_size
    previous = b""
    fixed = _STAT.size + hash_size
    for _ in range(count):
        start = position
        stat = _STAT.unpack_from(data, position)
        oid = data[position + _STAT.size : position + fixed].hex()
        flags = int.from_bytes(data[position + fixed : position + fixed + 2], "big")
        position += fixed + 2
        more = 0
        if flags & _EXTENDED:
            more = int.from_bytes(data[position : position + 2], "big")
            position += 2
        if version == 4:
            strip, position = _offset_number(data, position)
            terminator = data.index(b"\0", position)
            if strip > len(previous):
                raise ValueError("prefix")
            path = previous[: len(previous) - strip] + data[position:terminator]
            position = terminator + 1
            previous = path
        else:
            terminator = data.index(b"\0", position)
            path = data[position:terminator]
            position = start + ((terminator - start) // 8 + 1) * 8
        if position > end:
            raise ValueError("beyond the end")
        entries.append(
            IndexEntry(
                path,
                stat[6],
                oid,
                (flags >> 12) & 3,
                bool(flags & _ASSUME_VALID),
                bool(more & _SKIP_WORKTREE),
                bool(more & _INTENT_TO_ADD),
                stat,
            )
        )
    return entries, position


def _parse_extensions(data: bytes, position: int, hash_size: int) -> Iterator[tuple[bytes, bytes]]:
    end = len(data) - hash_size
    while position + 8 <= end:
        name = data[position : position + 4]
        size = int.from_bytes(data[position + 4 : position + 8], "big")
        position += 8
        if position + size > end:
            raise ValueError("beyond the end")
        # An extension whose name begins with a small letter has to be understood.
        if name[:1].islower() and name not in {b"link", b"sdir"}:
            raise IndexUnreadable("the index has an extension that is not known")
        yield name, data[position : position + size]
        position += size


def _root_tree(cache: bytes, hash_size: int) -> str | None:
    """The id of the tree cache's first entry, the root's: path, NUL, entries, space, subtrees, line end, id."""
    line, separator, rest = cache.partition(b"\n")
    path, nul, numbers = line.partition(b"\0")
    if not separator or path or not nul or numbers.startswith(b"-") or len(rest) < hash_size:
        return None
    return rest[:hash_size].hex()


def _joined(
    entries: list[IndexEntry], link: bytes, git_dir: str, hash_size: int
) -> tuple[list[IndexEntry], int]:
    """The entries of a split index: those of the shared file, without the deleted, with the replaced and new ones."""
    name = link[:hash_size].hex()
    if len(link) < hash_size:
        raise IndexUnreadable("the index is damaged")
    if not name.strip("0"):
        return entries, 2**63
    data, mtime = _read(os.path.join(git_dir, f"sharedindex.{name}"))
    shared, extensions = _parse(data, hash_size)
    if b"link" in extensions:
        raise IndexUnreadable("the index is damaged")
    try:
        deleted, position = _bitmap(link, hash_size, len(shared))
        replaced, _ = _bitmap(link, position, len(shared))
    except (struct.error, ValueError):
        raise IndexUnreadable("the index is damaged") from None
    coming = iter(entries)
    for number in replaced:
        entry = next(coming, None)
        if entry is None:
            raise IndexUnreadable("the index is damaged")
        # A replacement has no name of its own.
        shared[number] = entry._replace(path=shared[number].path)
    gone = set(deleted)
    kept = [entry for number, entry in enumerate(shared) if number not in gone]
    return sorted([*kept, *coming], key=lambda entry: (entry.path, entry.stage)), mtime


def _bitmap(data: bytes, position: int, limit: int) -> tuple[list[int], int]:
    """The numbers of the bits set in an EWAH bitmap, ascending, and where it ends."""
    bits, words = struct.unpack_from(">II", data, position)
    start = position + 8
    values = struct.unpack_from(f">{words}Q", data, start)
    found: list[int] = []
    at = index = 0
    while index < words:
        marker = values[index]
        index += 1
        run = (marker >> 1) & 0xFFFFFFFF
        literals = marker >> 33
        if marker & 1:
            if at + run * 64 > limit + 64:
                raise ValueError("beyond the end")
            found.extend(range(at, at + run * 64))
        at += run * 64
        if index + literals > words:
            raise ValueError("beyond the end")
        for word in values[index : index + literals]:
            while word:
                low = word & -word
                found.append(at + low.bit_length() - 1)
                word ^= low
            at += 64
        index += literals
    found = [number for number in found if number < bits]
    if found and found[-1] >= limit:
        raise ValueError("beyond the end")
    return found, start + words * 8 + 4


def _offset_number(data: bytes, position: int) -> tuple[int, int]:
    """A number of variable length, as in pack files, and where it ends."""
    byte = data[position]
    position += 1
    value = byte & 127
    while byte & 128:
        byte = data[position]
        position += 1
        value = ((value + 1) << 7) | (byte & 127)
    return value, position

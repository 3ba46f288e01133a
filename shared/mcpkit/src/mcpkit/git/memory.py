"""What one process remembers of repositories between questions, so that asking again costs what has changed.

Two kinds of things are remembered, in memory only. What an object id names never changes: the tree of a commit. What a
file holds is remembered beside the file's status (device, inode, size, both times), as git's index does it, and only if
the file was at rest: had it been written within the last two seconds, a further write might leave the same status, since
some file systems keep time no finer. Such a file is read again until it is older. A remembered answer thus holds as long as
the status is the same, to the nanosecond of the time of change, which no ordinary program can set back. (On Windows that
time is unknown; there, as in git, a write that restores size and time of modification goes unnoticed.)
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from mcpkit.git.index_file import Index, read_index

__all__ = ["FileStamp", "StateMemory", "file_stamp", "is_at_rest", "keep", "stamp_of"]

#: FAT keeps even seconds, the coarsest of the file systems git works on.
_COARSEST_NS: Final = 2 * 10**9
_KEPT_INDEXES: Final = 4
_KEPT_TREES: Final = 256
_KEPT_CONTENTS: Final = 200_000

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class FileStamp(NamedTuple):
    """A file's status, as far as a write changes it."""

    device: int
    inode: int
    mode: int
    size: int
    modified_ns: int
    changed_ns: int


def stamp_of(status: os.stat_result) -> FileStamp:
    """The stamp in a status."""
    return FileStamp(
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_at_rest(stamp: FileStamp, now_ns: int) -> bool:
    """Whether a write from `now_ns` on certainly gives the file another stamp.

    Args:
        stamp: the file's, read at `now_ns` or later.
        now_ns: nanoseconds since the epoch, read before the content is.
    """
    return max(stamp.modified_ns, stamp.changed_ns) < now_ns - _COARSEST_NS


class StateMemory:
    """Of work trees; usable from several threads, and for several repositories.

    Args:
        now: nanoseconds since the epoch, as files are dated.
    """

    def __init__(self, now: Callable[[], int] = time.time_ns) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._indexes: OrderedDict[tuple[str, str], tuple[FileStamp, Index]] = OrderedDict()
        self._trees: OrderedDict[str, str] = OrderedDict()
        self._contents: OrderedDict[tuple[bytes, str], tuple[FileStamp, str, bool]] = OrderedDict()

    def index(self, git_dir: str, object_format: str) -> Index:
        """As `index_file.read_index`, parsed again only when the file has changed.

        Raises:
            IndexUnreadable: as there.
        """
        now, stamp = self._now(), file_stamp(os.path.join(git_dir, "index"))
        key = (git_dir, object_format)
        with self._lock:
            known = self._indexes.get(key)
            if known is not None and known[0] == stamp:
                self._indexes.move_to_end(key)
                return known[1]
        index = read_index(git_dir, object_format)
        # A split index is two files, and this stamp is of one.
        if stamp is not None and not index.split and is_at_rest(stamp, now):
            with self._lock:
                keep(self._indexes, key, (stamp, index), _KEPT_INDEXES)
        return index

    def tree(self, commit: str, find: Callable[[str], str]) -> str:
        """The tree of a commit; `find` is asked the first time."""
        with self._lock:
            known = self._trees.get(commit)
        if known is None:
            known = find(commit)
            with self._lock:
                keep(self._trees, commit, known, _KEPT_TREES)
        return known

    def content(
        self,
        path: bytes,
        object_format: str,
        status: os.stat_result,
        hash_file: Callable[[], tuple[str, bool] | None],
    ) -> tuple[str, bool] | None:
        """What hashing a file gives; it is hashed only if it is not the one of the last time.

        Args:
            path: absolute path.
            object_format: of the repository.
            status: its status.
            hash_file: hashes it: id, and whether it has CR LF; None if it cannot be read.
        """
        now, stamp = self._now(), stamp_of(status)
        with self._lock:
            known = self._contents.get((path, object_format))
        if known is not None and known[0] == stamp:
            return known[1], known[2]
        found = hash_file()
        if found is not None and found[0] and is_at_rest(stamp, now):
            with self._lock:
                keep(self._contents, (path, object_format), (stamp, *found), _KEPT_CONTENTS)
        return found


def file_stamp(path: str | os.PathLike[str]) -> FileStamp | None:
    """The stamp of a regular file, links followed; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return stamp_of(status) if stat.S_ISREG(status.st_mode) else None


def keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Remember something as the newest, and forget the oldest beyond `most`; the caller holds the lock."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)

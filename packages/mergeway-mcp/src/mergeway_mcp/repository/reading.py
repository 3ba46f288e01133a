"""Opens regular files, whole, and nothing else.

A repository may hold a FIFO, a device or a link to one under the name of a record. Opening those can block for ever
or set something off, so the kind is checked before the open and again on the open descriptor.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

#: Larger files are refused: a record file of this size is a mistake or an attack.
MAX_FILE_BYTES: Final = 64 * 1024 * 1024

# How often a file that changes while it is read is read again.
_READ_ATTEMPTS: Final = 4
# How often a file that is replaced between opening and checking is opened again.
_OPEN_ATTEMPTS: Final = 8
# NONBLOCK: should a FIFO take the place of the file after the check, the open still returns. The flags a platform
# lacks count nothing.
_OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class ReadFault(Exception):
    """A path that cannot be read as a record file.

    Attributes:
        reason: What is wrong, fit for a client.
        missing: Nothing is there.
    """

    def __init__(self, reason: str, *, missing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.missing = missing


class FileReplaced(ReadFault):
    """What was opened is not what the path names any more; opening again may do."""

    def __init__(self) -> None:
        super().__init__("the file keeps being replaced while it is read; try again when the writer is done")


class FileSystem(NamedTuple):
    """The few calls the engine makes, so that tests can put a coarse or a scripted disk in their place.

    Attributes:
        stat: Of a path, links followed.
        fstat: Of a descriptor.
        listdir: Names in a folder, in any order.
        now_ns: Wall-clock time in nanoseconds, comparable with file times.
    """

    stat: Callable[[str], os.stat_result] = os.stat
    fstat: Callable[[int], os.stat_result] = os.fstat
    listdir: Callable[[str], Sequence[str]] = os.listdir
    now_ns: Callable[[], int] = time.time_ns


StatKey = tuple[int, int, int, int, int]


def stat_key(status: os.stat_result) -> StatKey:
    """What changes when a file does: times in nanoseconds, size, inode and device."""
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


class FileContent(NamedTuple):
    """One consistent state of a file.

    Attributes:
        data: All of it.
        key: Of the state that was read.
        read_at_ns: Wall-clock time just before the read.
    """

    data: bytes
    key: StatKey
    read_at_ns: int


def read_regular_file(
    path: str,
    *,
    system: FileSystem,
    limit: int = MAX_FILE_BYTES,
    check: Callable[[str, os.stat_result], None] | None = None,
) -> FileContent:
    """Read a regular file in one consistent state, and one that `check` passes.

    A file that is written while it is read is read again, a few times at most; what is taken then is the last state
    seen, and its key makes the next look read it once more.

    Args:
        path: Absolute path; links are followed.
        system: The disk.
        limit: Largest size in bytes.
        check: Called with the path and the status of the open file before anything is read; raises `ReadFault` to refuse,
            `FileReplaced` to have the file opened again, a few times at most.

    Raises:
        ReadFault: Missing, unreadable, not a regular file, or too large.
    """
    for _ in range(_OPEN_ATTEMPTS - 1):
        try:
            return _read_once(path, system, limit, check)
        except FileReplaced:
            continue
    return _read_once(path, system, limit, check)


def _read_once(
    path: str, system: FileSystem, limit: int, check: Callable[[str, os.stat_result], None] | None
) -> FileContent:
    try:
        _require_regular(system.stat(path))
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise read_fault(error) from None
    try:
        status = system.fstat(descriptor)
        _require_regular(status)
        if check is not None:
            check(path, status)
        attempt = 1
        while True:
            before = stat_key(status)
            read_at = system.now_ns()
            data = _read_all(descriptor, status.st_size, limit)
            status = system.fstat(descriptor)
            if stat_key(status) == before or attempt == _READ_ATTEMPTS:
                return FileContent(data, before, read_at)
            attempt += 1
            os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError as error:
        raise read_fault(error) from None
    finally:
        os.close(descriptor)


def read_fault(error: OSError) -> ReadFault:
    """The reason of an operating-system error in words, without its path."""
    import errno

    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return ReadFault("the file does not exist", missing=True)
    if error.errno == errno.ELOOP:
        return ReadFault("the link leads to itself; remove it or point it at a file")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return ReadFault("the file may not be read; grant the server read access")
    if error.errno == errno.EISDIR:
        return ReadFault("this is a folder where a file is needed")
    text = os.strerror(error.errno) if error.errno else "input/output error"
    return ReadFault(f"the file cannot be read ({text})")


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise ReadFault("this is a folder where a file is needed")
    raise ReadFault("not a regular file (a pipe, socket or device); only regular files are read")


def _read_all(descriptor: int, size: int, limit: int) -> bytes:
    too_large = ReadFault(f"larger than {limit // (1024 * 1024)} MiB; split the file")
    if size > limit:
        raise too_large
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    # Shorter reads, and files that grow or that report no size.
    parts = [data]
    total = len(data)
    while data:
        data = os.read(descriptor, min(1 << 20, limit + 1 - total))
        parts.append(data)
        total += len(data)
        if total > limit:
            raise too_large
    return b"".join(parts)

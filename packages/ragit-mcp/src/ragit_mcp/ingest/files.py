"""The writes of ingest that are not SQLite's: directories, small files, the copy of a generation.

Everything is written below the repository's `.ragit`, through no symbolic link. A failure is reported by code, and what
was there before is still there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from typing import Final

from mcpkit.files import FileAccessError, atomic_write_below, locate_below
from ragit_mcp.errors import IngestError
from ragit_mcp.snapshots.repository import refuse_links
from ragit_mcp.store.layout import CACHE_DIR, MANIFEST_DIR, RUNTIME_DIR, STORE_DIR, TRANSACTIONS_DIR

__all__ = [
    "IGNORED",
    "coded_write_errors",
    "copy_file",
    "ensure_directories",
    "remove_temporary_files",
    "sync_directory",
    "sync_file",
    "write_runtime_file",
    "write_small_file",
    "write_unverified",
]

#: `.ragit/.gitignore`: everything but the configuration and what people write by hand is one machine's own.
IGNORED: Final = """\
# What ragit makes on this machine. A store, manifest or cache that git tracks is refused.
store/
manifest/
cache/
runtime/
log/
reports/
security/
memory/sessions/
memory/working/
artifacts/session/
artifacts/harness/
"""
_IGNORE_FILE: Final = ".ragit/.gitignore"
#: In each directory of the index.
_IGNORE_ALL: Final = "*\n"
#: Made by others, if at all; seen to by the first ingest that finds them.
_LATER_DIRECTORIES: Final = (CACHE_DIR, ".ragit/log", ".ragit/reports", ".ragit/security")
_FILE_MODE: Final = 0o644
_COPY_BYTES: Final = 8 << 20
_EXTRA_FLAGS: Final[int] = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
# ioctl FICLONE of Linux: share the blocks of another file until one of the two is written.
_FICLONE: Final = 0x40049409
_WINDOWS: Final = sys.platform == "win32"
_REPLACE_ATTEMPTS: Final = 40
_REPLACE_PAUSE_SECONDS: Final = 0.05


def write_unverified(reason: str) -> IngestError:
    """The error of an index that could not be written; the older one still holds."""
    return IngestError(
        "INGEST_STORE_WRITE_UNVERIFIED",
        "The index could not be written; the previous one is unchanged. Check free space and permissions, then retry.",
        details={"reason": reason},
    )


@contextlib.contextmanager
def coded_write_errors() -> Iterator[None]:
    """Report whatever keeps the index from being written as `INGEST_STORE_WRITE_UNVERIFIED`."""
    import apsw  # whoever writes has it

    try:
        yield
    except apsw.FullError as error:
        raise write_unverified("disk_full") from error
    except apsw.Error as error:
        raise write_unverified("database") from error
    except FileAccessError as error:
        full = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENOSPC
        raise write_unverified("disk_full" if full else error.kind) from error
    except OSError as error:
        raise write_unverified("disk_full" if error.errno == errno.ENOSPC else "write_failed") from error


def ensure_directories(root: str) -> None:
    """Make the directories of the index, and what keeps them out of git where that is not there.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `link`.
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
    """
    refuse_links(root)
    with coded_write_errors():
        for place in (".ragit", STORE_DIR, MANIFEST_DIR, RUNTIME_DIR, TRANSACTIONS_DIR):
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.join(root, *place.split("/")))
    refuse_links(root)
    _write_where_missing(root, _IGNORE_FILE, IGNORED)
    # Untracked themselves, so they stay when a branch without ragit is checked out: without them the next `git add`
    # there would take the index along.
    for place in (STORE_DIR, MANIFEST_DIR, RUNTIME_DIR, *_LATER_DIRECTORIES):
        if os.path.isdir(os.path.join(root, *place.split("/"))):
            _write_where_missing(root, f"{place}/.gitignore", _IGNORE_ALL)


def _write_where_missing(root: str, path: str, text: str) -> None:
    try:
        locate_below(root, path)
    except FileAccessError as error:
        if error.kind == "not_found":
            write_small_file(root, path, text.encode())


def write_small_file(root: str, path: str, data: bytes) -> None:
    """Replace a file below the root as a whole.

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
    """
    _replace(root, path, data, durable=True)


def write_runtime_file(root: str, path: str, data: bytes) -> None:
    """Replace a file that says what this machine is doing just now.

    It is replaced as a whole, but not forced to disk: after a loss of power nobody is doing anything any more.

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
    """
    _replace(root, path, data, durable=False)


def _replace(root: str, path: str, data: bytes, *, durable: bool) -> None:
    with coded_write_errors():
        for attempt in range(_REPLACE_ATTEMPTS):
            try:
                atomic_write_below(root, path, data, _FILE_MODE, durable=durable)
                return
            except FileAccessError as error:
                # Windows replaces no file that somebody has open; readers close this one at once.
                busy = _WINDOWS and isinstance(error.__cause__, PermissionError)
                if not busy or attempt + 1 == _REPLACE_ATTEMPTS:
                    raise
                time.sleep(_REPLACE_PAUSE_SECONDS)


def copy_file(source: str, target: str) -> bool:
    """Copy a file to a new one; the blocks are shared where the file system can.

    Returns:
        Whether they are shared.

    Raises:
        OSError: also if the target exists.
    """
    reading = os.open(source, os.O_RDONLY | _EXTRA_FLAGS)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _EXTRA_FLAGS, _FILE_MODE)
        try:
            if _share_blocks(reading, writing):
                return True
            while block := os.read(reading, _COPY_BYTES):
                _write_all(writing, block)
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return False


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _share_blocks(source: int, target: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def sync_file(path: str) -> None:
    """Force a file's content to disk."""
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: str) -> None:
    """Force the names in a directory to disk, where the platform can."""
    if _WINDOWS:
        return
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
            raise
    finally:
        os.close(descriptor)


def remove_temporary_files(directory: str) -> None:
    """Remove what an interrupted write of a small file left; only the holder of the write lock may."""
    with contextlib.suppress(OSError), os.scandir(directory) as scan:
        for entry in scan:
            if entry.name.startswith(".") and entry.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

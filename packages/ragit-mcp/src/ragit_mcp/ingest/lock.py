"""One writer at a time, on this machine by a lock of the operating system.

The system's lock on `store-write.mutex` ends with its process, however that ends, so a killed ingest never blocks the
next one. `store-write.lock` says who holds it (contract A9). A lock file that names another machine is respected: the
system's lock may not reach that far. One without a lock behind it, made by hand or by another program, is respected
while its process lives, and afterwards explained, never stolen.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from mcpkit.files import FileAccessError, read_below
from ragit_mcp.errors import StoreError
from ragit_mcp.ingest.files import coded_write_errors, write_runtime_file
from ragit_mcp.store.layout import LOCK_FILE, MUTEX_FILE
from ragit_mcp.store.writer_state import (
    LOCK_BYTES,
    MECHANISM,
    LockOwner,
    parse_owner,
    process_is_alive,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

__all__ = ["WriteLock", "write_lock"]

_POLL_SECONDS: Final = 0.05


class WriteLock:
    """The lock, held.

    Attributes:
        owner: what its file says.
        left_over: the owner of an earlier ingest that ended without letting go; None if there was none.
        waited: another writer had to be waited for.
    """

    def __init__(self, owner: LockOwner, left_over: LockOwner | None, *, waited: bool) -> None:
        self.owner = owner
        self.left_over = left_over
        self.waited = waited


@contextlib.contextmanager
def write_lock(
    root: str,
    *,
    command: str,
    head_sha: str | None,
    wait_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[WriteLock]:
    """Hold the store's write lock; the directories exist.

    Args:
        root: the repository's root.
        command: what the owner does.
        head_sha: the commit it indexes.
        wait_seconds: how long another writer is waited for.
        clock: seconds.
        pause: waits between two attempts.

    Raises:
        StoreError: `STORE_WRITE_BUSY` or `STORE_WRITE_LOCK_STALE`.
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
    """
    deadline = clock() + wait_seconds
    with coded_write_errors():
        path = os.path.join(root, *MUTEX_FILE.split("/"))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        found: LockOwner | None = None
        waited = False
        while True:
            problem = _busy(root) if not _try_lock(descriptor) else None
            if problem is None:
                found = _read_owner(root)
                problem = _objection(root, found)
                if problem is None:
                    break
                _unlock(descriptor)
            if problem.code != "STORE_WRITE_BUSY" or clock() >= deadline:
                raise problem
            waited = True
            pause(_POLL_SECONDS)
        owner = LockOwner(
            token=secrets.token_hex(16),
            pid=os.getpid(),
            hostname=socket.gethostname(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            command=command,
            head_sha=head_sha,
            mechanism=MECHANISM,
        )
        write_runtime_file(root, LOCK_FILE, json.dumps(owner.to_json()).encode())
        try:
            yield WriteLock(owner, found, waited=waited)
        finally:
            _release(root, owner.token)
    finally:
        os.close(descriptor)  # and the system's lock with it


def _read_owner(root: str) -> LockOwner | None:
    try:
        data = read_below(root, LOCK_FILE, max_bytes=LOCK_BYTES)
    except FileAccessError as error:
        if error.kind == "not_found":
            return None
        data = b""
    return parse_owner(data) or LockOwner("", 0, "", "", "")


def _objection(root: str, found: LockOwner | None) -> StoreError | None:
    """Why a lock file keeps us out although nobody of this machine holds the system's lock."""
    if found is None:
        return None
    here = found.hostname == socket.gethostname()
    if found.mechanism == MECHANISM and here:
        return None  # left over: its owner would hold the system's lock
    if not found.hostname or not here:
        return _busy(root)
    if process_is_alive(found.pid):
        return _busy(root)
    return StoreError(
        "STORE_WRITE_LOCK_STALE",
        f"{LOCK_FILE} names a process that is gone, and was not made by this version of ragit: make sure that nothing "
        "writes to the store, then delete the file.",
        details={"pid": found.pid, "startedAt": found.started_at, "lockPath": LOCK_FILE},
    )


def _busy(root: str) -> StoreError:
    owner = _read_owner(root)
    details = {}
    if owner is not None and owner.hostname:
        details = {"pid": owner.pid, "hostname": owner.hostname, "startedAt": owner.started_at}
    return StoreError(
        "STORE_WRITE_BUSY",
        "Another process writes to the store: retry when it has finished.",
        details=details,
    )


def _release(root: str, token: str) -> None:
    """Remove the lock file, if it is still ours."""
    found = _read_owner(root)
    if found is not None and found.token == token:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(root, *LOCK_FILE.split("/")))


def _try_lock(descriptor: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        else:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

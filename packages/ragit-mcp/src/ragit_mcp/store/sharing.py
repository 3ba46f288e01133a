"""How a reader tells writers that it has a generation open.

A published file is never changed, so reading needs no lock. Cleaning up does: a generation that a reader holds stays on
disk until a later ingest. On POSIX the reader holds a shared advisory lock (flock), which writes nothing and ends with
the process; where there is none (Windows) an open file cannot be deleted anyway.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

from ragit_mcp.store.layout import store_unavailable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Hold", "hold_generation", "is_held"]

_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Hold:
    """An open generation; ended by `close` or with the process."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        """Let go; further calls do nothing."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    release = close


def hold_generation(path: str) -> Hold:
    """Hold a generation's file.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `missing` or `unreadable`.
    """
    if fcntl is None:
        return Hold(None)
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise store_unavailable("missing") from None
    except OSError:
        raise store_unavailable("unreadable") from None
    with contextlib.suppress(OSError):  # file systems without locks: an open file is still safe to read there
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return Hold(descriptor)


def is_held(path: str) -> bool:
    """Whether some reader holds a generation; False where that cannot be known."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False

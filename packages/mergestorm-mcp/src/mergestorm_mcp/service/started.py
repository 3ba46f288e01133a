"""Which services run: a small private file each, so that `mergestorm-local ui` finds the page of one.

The files lie in the user's runtime folder, else in a folder of the user's own below the temporary one; a folder that
somebody else could write to is not used. They hold the link with the run token, which is why nobody else may read them.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mcpkit.files import FileAccessError, atomic_write, read_regular

__all__ = ["announced", "find_started"]

_MAX_BYTES: Final = 4096
_CONNECT_SECONDS: Final = 1.0


@contextmanager
def announced(url: str, page: str) -> Iterator[None]:
    """Let `find_started` find a service until the context ends; where no private folder can be had it goes unannounced."""
    folder = _folder(make=True)
    if folder is None:
        yield
        return
    file = folder / f"{urlsplit(url).port}.json"
    with contextlib.suppress(FileAccessError, OSError):
        atomic_write(str(file), json.dumps({"url": url, "page": page}).encode(), 0o600)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def find_started(port: int = 0) -> dict[str, Any] | None:
    """The service at a port, or the one that was started last; only one that answers.

    Returns:
        Its `url` and the link to its `page`.
    """
    folder = _folder(make=False)
    if folder is None:
        return None
    files = sorted(folder.glob(f"{port or '*'}.json"), key=_changed, reverse=True)
    for file in files:
        with contextlib.suppress(FileAccessError, OSError, ValueError):
            found = json.loads(read_regular(str(file), max_bytes=_MAX_BYTES))
            address = urlsplit(found["url"])
            with socket.create_connection((address.hostname or "", address.port or 0), _CONNECT_SECONDS):
                return {"url": str(found["url"]), "page": str(found["page"])}
    return None


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _folder(*, make: bool) -> Path | None:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        folder = Path(runtime) / "mergestorm-local"
    else:
        user = os.geteuid() if hasattr(os, "geteuid") else os.environ.get("USERNAME", "user")
        folder = Path(tempfile.gettempdir()) / f"mergestorm-local-{user}"
    try:
        if make:
            folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        return None
    return folder

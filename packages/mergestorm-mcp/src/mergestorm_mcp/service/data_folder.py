"""Where a service keeps its state: a temporary folder, or one that outlives it and that one service at a time may use."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["DATABASE", "FolderInUse", "NotOurs", "data_folder"]

DATABASE: Final = "mergestorm.sqlite"
_LOCK: Final = "lock"


class FolderInUse(Exception):
    """Another service uses the folder."""


class NotOurs(Exception):
    """The folder holds something else."""


@contextmanager
def data_folder(wanted: str | None) -> Iterator[Path]:
    """The folder, kept from other services until the context ends.

    Args:
        wanted: the folder; made if it is not there. None for a temporary one that is removed at the end.

    Raises:
        FolderInUse: another service uses it.
        NotOurs: it holds something else, or is the place of the clients' configuration.
        OSError: it cannot be made or used.
    """
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="mergestorm-local-") as made:
            yield Path(made)
        return
    folder = Path(wanted).absolute()
    real, private = Path(os.path.realpath(folder)), Path(os.path.realpath(Path.home() / ".mergestorm"))
    if real == private or private in real.parents:
        raise NotOurs(f"{folder} belongs to the clients' configuration; choose another folder")
    if folder.is_dir() and not (folder / DATABASE).exists() and set(os.listdir(folder)) - {_LOCK}:
        raise NotOurs(f"{folder} is not empty and holds no state of this service; choose another folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder):
        yield folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FolderInUse(
                f"another service uses {folder}; stop it first, or choose another folder"
            ) from None
        yield
    finally:
        os.close(descriptor)

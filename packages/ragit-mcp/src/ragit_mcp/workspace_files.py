"""Writing beside the store: directories, whole files and lines below a repository, and never through a link.

`.ragit` may be somebody else's work. A path below the repository's root is therefore looked at component by component
before anything is created, and a symbolic link on the way is refused, wherever it leads (contract F5).

Writers import this module; nothing that only reads does.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from mcpkit.files import FileAccessError, atomic_write_below, locate_below
from ragit_mcp.errors import CommandError

__all__ = ["append_line", "make_directories", "write_failed", "write_file"]

_DIRECTORY_MODE: Final = 0o755
_FILE_MODE: Final = 0o644
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def make_directories(root: str | os.PathLike[str], path: str) -> None:
    """Make a directory below the root, with those above it.

    Args:
        root: the repository's root; must exist.
        path: repository path, `/` between its parts.

    Raises:
        CommandError: `WRITE_FAILED`: a link or a file is in the way, the disk is full, or it is not permitted.
    """
    place = ""
    for name in path.split("/"):
        place = f"{place}/{name}" if place else name
        try:
            os.mkdir(os.path.join(root, *place.split("/")), _DIRECTORY_MODE)
        except FileExistsError:
            pass
        except OSError as error:
            raise write_failed(path, _reason(error)) from error
        try:
            found = locate_below(root, place)
        except FileAccessError as error:
            raise write_failed(place, error.reason) from None
        if not os.path.isdir(os.path.join(root, *found.path.split("/"))):
            raise write_failed(place, "is not a directory")


def write_file(root: str | os.PathLike[str], path: str, data: bytes | str) -> None:
    """Write a whole file below the root, all or nothing; its directories are made.

    Args:
        root: the repository's root.
        path: repository path.
        data: the content; text as UTF-8 with the line ends it has.

    Raises:
        CommandError: `WRITE_FAILED`; the file is what it was.
    """
    directory = path.rpartition("/")[0]
    if directory:
        make_directories(root, directory)
    content = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    try:
        atomic_write_below(root, path, content, _FILE_MODE)
    except FileAccessError as error:
        raise write_failed(path, error.reason) from None


def append_line(root: str | os.PathLike[str], path: str, line: str) -> None:
    """Append one line to a file below the root; lines of several processes do not mix.

    Args:
        root: the repository's root.
        path: repository path.
        line: the line, without its end.

    Raises:
        CommandError: `WRITE_FAILED`.
    """
    directory = path.rpartition("/")[0]
    make_directories(root, directory)
    try:
        locate_below(root, path)
    except FileAccessError as error:
        if error.kind != "not_found":
            raise write_failed(path, error.reason) from None
    place = os.path.join(root, *path.split("/"))
    data = line.encode("utf-8", "surrogatepass") + b"\n"
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW, _FILE_MODE)
        try:
            # One call, so that the lines of two processes stay apart.
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise write_failed(path, _reason(error)) from error


def write_failed(path: str, reason: str) -> CommandError:
    """The error for a file that cannot be written; the path is one of ragit's own names, relative to the root."""
    return CommandError("WRITE_FAILED", f"{path} {reason}.", details={"path": path})


def _reason(error: OSError) -> str:
    words = os.strerror(error.errno) if error.errno else "input/output error"
    return f"cannot be written ({words})"

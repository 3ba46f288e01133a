"""Files that others may have prepared: read below a root without leaving it, write so that nobody sees half.

Reading trusts no name. A path is walked one component at a time, each opened relative to the directory already held
and never through a link (`O_NOFOLLOW`), so that exchanging a directory for a link between check and use gains nothing.
Where links are wanted they are read and resolved here, inside the root. Only regular files are opened: a FIFO would
wait for ever and a device may act on being opened. Platforms without directory descriptors (Windows) compare the real
path and the file's identity before and after opening instead, which narrows the gap without closing it.

Writing puts the bytes into a new file beside the target, forces them to disk and renames: a reader, a full disk or a
lost process leaves the old content or the new one.

    FileAccessError               `kind` names the case (see `FileErrorKind`), `reason` says it in words

Standard library only, and cheap to import: start-up checks use it before any framework is loaded.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Final, Literal, Self

__all__ = [
    "MAX_LINKS",
    "MAX_PATH_COMPONENTS",
    "FileAccessError",
    "FileErrorKind",
    "FoundFile",
    "atomic_write",
    "atomic_write_below",
    "locate_below",
    "open_below",
    "open_regular",
    "read_below",
    "read_regular",
    "walk_below",
]

FileErrorKind = Literal[
    "bad_path",
    "denied",
    "link_refused",
    "not_directory",
    "not_found",
    "not_regular",
    "outside_root",
    "too_large",
    "too_many_entries",
    "unreadable",
    "write_failed",
]

#: Links followed while one path is resolved; the kernel's own limit on Linux.
MAX_LINKS: Final = 40
#: Components of one path, those that links bring in included.
MAX_PATH_COMPONENTS: Final = 512
_MAX_PATH_CHARACTERS: Final = 32_768
_CHUNK: Final = 1 << 20

_HAS_DIRECTORY_DESCRIPTORS: bool = (
    hasattr(os, "O_NOFOLLOW")
    and hasattr(os, "O_DIRECTORY")
    and {os.open, os.stat, os.readlink, os.unlink, os.rename} <= os.supports_dir_fd
    and os.scandir in os.supports_fd
)
_CLOEXEC: Final[int] = getattr(os, "O_CLOEXEC", 0)
_BINARY: Final[int] = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_READ_FLAGS: Final[int] = (
    os.O_RDONLY | _CLOEXEC | _BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
)
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY_FLAGS: Final[int] = os.O_RDONLY | _CLOEXEC | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)

_REASONS: Final[dict[FileErrorKind, str]] = {
    "bad_path": "is not a path that can be opened",
    "denied": "may not be read by this process",
    "link_refused": "is, or passes through, a symbolic link",
    "not_directory": "is not a directory",
    "not_found": "does not exist",
    "not_regular": "is not a regular file",
    "outside_root": "lies outside the allowed directory",
    "too_large": "is larger than the limit",
    "too_many_entries": "holds more entries than the limit",
    "unreadable": "could not be read",
    "write_failed": "could not be written; the previous content is unchanged",
}

_KIND_OF_ERRNO: Final[dict[int, FileErrorKind]] = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ELOOP: "link_refused",
    errno.EMLINK: "link_refused",  # what some BSDs answer to O_NOFOLLOW on a link
    errno.ENAMETOOLONG: "bad_path",
    errno.EINVAL: "bad_path",
    errno.ENXIO: "not_regular",  # a socket, or a FIFO nobody reads
    errno.EISDIR: "not_regular",
}


class FileAccessError(Exception):
    """A file could not be used.

    Args:
        kind: stable name of the case.
        reason: the case in words, ready to follow a file's name; holds neither path nor content, so that callers
            decide which name their client may see.
    """

    def __init__(self, kind: FileErrorKind, reason: str | None = None) -> None:
        self.kind: FileErrorKind = kind
        self.reason: str = reason or _REASONS[kind]
        super().__init__(self.reason)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file met below a root.

    Attributes:
        path: place below the root after links were resolved, `/`-separated; undecodable bytes as surrogate escapes.
        stat: the file's own status; links are not followed by `walk_below`, so it may describe a link.
    """

    path: str
    stat: os.stat_result


def open_regular(path: str | os.PathLike[str], *, max_bytes: int) -> BinaryIO:
    """Open a regular file, wherever it is and through whatever links lead to it.

    Args:
        path: the file.
        max_bytes: largest size accepted.

    Raises:
        FileAccessError: `not_found`, `denied`, `not_regular`, `too_large`, `bad_path`, `link_refused` (a cycle) or
            `unreadable`.
    """
    name = _checked(os.fspath(path))
    with _coded():
        # Looked at before it is opened: opening is an action for some devices.
        _require_regular(os.stat(name), max_bytes)
        return _stream(os.open(name, _READ_FLAGS), max_bytes)


def open_below(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    max_bytes: int,
    follow_links: bool = False,
) -> BinaryIO:
    """Open a regular file below `root` without ever leaving it.

    Args:
        root: directory that bounds the walk; its own name may be a link, because the host chose it.
        path: relative to `root`, or absolute and below it. `..` is allowed as long as it stays inside.
        max_bytes: largest size accepted.
        follow_links: resolve symbolic links whose target stays inside the root; otherwise any link is refused.

    Raises:
        FileAccessError: `outside_root`, `link_refused`, `not_found`, `denied`, `not_regular`, `too_large`, `bad_path`
            or `unreadable`.
    """
    with _coded():
        if not _HAS_DIRECTORY_DESCRIPTORS:
            return _open_by_real_path(root, path, max_bytes, follow_links=follow_links)
        with _Walk(root) as walk:
            name = walk.to(path, follow_links=follow_links)
            if name is None:
                raise FileAccessError("not_regular")
            _require_regular(os.stat(name, dir_fd=walk.descriptor, follow_symlinks=False), max_bytes)
            return _stream(os.open(name, _READ_FLAGS | _NO_FOLLOW, dir_fd=walk.descriptor), max_bytes)


def read_regular(path: str | os.PathLike[str], *, max_bytes: int) -> bytes:
    """Read a whole regular file of at most `max_bytes` bytes; errors as `open_regular`."""
    with open_regular(path, max_bytes=max_bytes) as stream:
        return _read_all(stream, max_bytes)


def read_below(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    max_bytes: int,
    follow_links: bool = False,
) -> bytes:
    """Read a whole regular file below `root`; arguments and errors as `open_below`."""
    with open_below(root, path, max_bytes=max_bytes, follow_links=follow_links) as stream:
        return _read_all(stream, max_bytes)


def locate_below(
    root: str | os.PathLike[str], path: str | os.PathLike[str], *, follow_links: bool = False
) -> FoundFile:
    """Say where below `root` a path leads and what stands there, without opening it.

    The answer describes one moment. To read what was found, call `read_below`, which walks anew.

    Raises:
        FileAccessError: as `open_below`, but any type of file is answered.
    """
    with _coded():
        if not _HAS_DIRECTORY_DESCRIPTORS:
            base, real = _real_path_below(root, path, follow_links=follow_links)
            return FoundFile(os.path.relpath(real, base).replace(os.sep, "/"), os.stat(real))
        with _Walk(root) as walk:
            name = walk.to(path, follow_links=follow_links)
            if name is None:
                return FoundFile("/".join(walk.names) or ".", os.fstat(walk.descriptor))
            status = os.stat(name, dir_fd=walk.descriptor, follow_symlinks=False)
            return FoundFile("/".join([*walk.names, name]), status)


def walk_below(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str] = ".",
    *,
    max_entries: int,
    max_depth: int = 64,
) -> Iterator[FoundFile]:
    """List everything but directories below `root`/`path`, sorted by name in each directory.

    Links are listed and never followed. A directory that vanishes or may not be read while the walk runs is left out.

    Args:
        root: directory that bounds the walk.
        path: where to begin, below `root`.
        max_entries: entries looked at, directories included.
        max_depth: directories inside directories; what lies deeper counts as `too_many_entries`.

    Raises:
        FileAccessError: `too_many_entries`, or as `locate_below` for `path` itself.
    """
    left = max_entries
    pending: deque[tuple[str, int]] = deque([(os.fspath(path), 0)])
    first = True
    while pending:
        directory, depth = pending.popleft()
        try:
            prefix, entries = _list_directory(root, directory, left)
        except FileAccessError as error:
            if first or error.kind == "too_many_entries":
                raise
            continue
        first = False
        left -= len(entries)
        below: list[tuple[str, int]] = []
        for name, status in entries:
            place = f"{prefix}/{name}" if prefix else name
            if not stat.S_ISDIR(status.st_mode):
                yield FoundFile(place, status)
            elif depth + 1 > max_depth:
                raise FileAccessError("too_many_entries", "is nested more deeply than the limit")
            else:
                below.append((place, depth + 1))
        pending.extendleft(reversed(below))


def atomic_write(
    path: str | os.PathLike[str], data: bytes, mode: int = 0o600, *, durable: bool = True
) -> None:
    """Replace a file's content so that every reader sees the old bytes or the new ones.

    A temporary file in the same directory takes the bytes, is forced to disk and renamed over the target; then the
    directory is forced to disk. If `path` is a symbolic link, the link itself is replaced. The new file has exactly
    `mode`, so looser permissions of an older file are tightened; on Windows the mode is left to the system.

    Args:
        path: the file; its directory must exist.
        data: the whole new content.
        mode: permission bits of the new file.
        durable: force the bytes to disk before the rename and the rename after it. Without, the file is still replaced as
            a whole, but a loss of power may leave neither content; for what is worth nothing after one.

    Raises:
        FileAccessError: `write_failed` (also for a full disk), `not_found` or `denied` for the directory, `bad_path`.
    """
    name = _checked(os.fspath(path))
    directory, base = os.path.split(name)
    if base in {"", ".", ".."}:
        raise FileAccessError("bad_path")
    if not _HAS_DIRECTORY_DESCRIPTORS:
        _replace(directory or ".", None, base, data, mode, durable=durable)
        return
    with _coded():
        descriptor = os.open(directory or ".", _DIRECTORY_FLAGS & ~_NO_FOLLOW)
    try:
        _replace(None, descriptor, base, data, mode, durable=durable)
    finally:
        with contextlib.suppress(OSError):  # nothing was written through it
            os.close(descriptor)


def atomic_write_below(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str],
    data: bytes,
    mode: int = 0o600,
    *,
    durable: bool = True,
) -> None:
    """`atomic_write` for a file below `root`, through no link.

    Raises:
        FileAccessError: as `atomic_write`, and `outside_root` or `link_refused`.
    """
    if not _HAS_DIRECTORY_DESCRIPTORS:
        with _coded():
            given = os.fspath(path)
            base, real = _real_path_below(root, os.path.dirname(given) or ".", follow_links=False)
            target = os.path.join(real, os.path.basename(given))
            if os.path.realpath(target) == base:
                raise FileAccessError("bad_path")
        atomic_write(target, data, mode, durable=durable)
        return
    with _coded():
        walk = _Walk(root)
    with walk:
        with _coded():
            name = walk.to(path, follow_links=False, missing_ok=True)
            if name is None:
                raise FileAccessError("bad_path")
        _replace(None, walk.descriptor, name, data, mode, durable=durable)


class _Walk:
    """A position below a root, held as one open descriptor for each directory on the way.

    `..` steps back to a descriptor already held instead of asking the file system, so that a directory moved
    elsewhere during the walk cannot lead outside.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._given = os.path.abspath(_checked(os.fspath(root)))
        self._root = os.path.realpath(self._given)
        self.names: list[str] = []
        self._descriptors = [os.open(self._root, _DIRECTORY_FLAGS & ~_NO_FOLLOW)]

    @property
    def descriptor(self) -> int:
        return self._descriptors[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())

    def to(self, path: str | os.PathLike[str], *, follow_links: bool, missing_ok: bool = False) -> str | None:
        """Walk to the directory that holds `path`; the last component, or None where `path` is that directory."""
        pending = deque(self._parts_below(_checked(os.fspath(path))))
        links = steps = 0
        while pending:
            part = pending.popleft()
            steps += 1
            if steps > MAX_PATH_COMPONENTS:
                raise FileAccessError("bad_path")
            if part == ".":
                continue
            if part == "..":
                self._leave()
                continue
            try:
                mode = os.stat(part, dir_fd=self.descriptor, follow_symlinks=False).st_mode
            except FileNotFoundError:
                if missing_ok and not pending:
                    return part
                raise
            if stat.S_ISLNK(mode):
                if missing_ok and not pending:
                    return part  # about to be replaced, not followed
                links += 1
                if not follow_links or links > MAX_LINKS:
                    raise FileAccessError("link_refused")
                pending.extendleft(reversed(self._parts_of_link(part)))
            elif pending:
                self._enter(part)
            elif stat.S_ISDIR(mode):
                self._enter(part)
                return None
            else:
                return part
        return None

    def _enter(self, name: str) -> None:
        try:
            self._descriptors.append(os.open(name, _DIRECTORY_FLAGS, dir_fd=self.descriptor))
        except NotADirectoryError:
            raise FileAccessError("not_found") from None
        self.names.append(name)

    def _leave(self) -> None:
        if not self.names:
            raise FileAccessError("outside_root")
        self.names.pop()
        os.close(self._descriptors.pop())

    def _parts_of_link(self, name: str) -> list[str]:
        target = os.readlink(name, dir_fd=self.descriptor)
        if not target.startswith("/"):
            return _split(target)
        while self.names:  # an absolute target starts again at the root, if it lies below it
            self._leave()
        return self._parts_below(target)

    def _parts_below(self, path: str) -> list[str]:
        if not os.path.isabs(path):
            return _split(path)
        wanted = _split(path)
        for base in (self._given, self._root):
            prefix = _split(base)
            if wanted[: len(prefix)] == prefix:
                return wanted[len(prefix) :]
        raise FileAccessError("outside_root")


def _split(path: str) -> list[str]:
    """Components of a path; a trailing slash stays as `.`, since it promises a directory."""
    parts = [part for part in path.split("/") if part]
    return [*parts, "."] if path.endswith("/") and parts else parts


def _checked(path: str) -> str:
    if not path or "\0" in path or len(path) > _MAX_PATH_CHARACTERS:
        raise FileAccessError("bad_path")
    return path


def _require_regular(status: os.stat_result, max_bytes: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise FileAccessError("link_refused")
    if not stat.S_ISREG(status.st_mode):
        raise FileAccessError("not_regular")
    if status.st_size > max_bytes:
        raise FileAccessError("too_large", f"is larger than {max_bytes} bytes")


def _stream(descriptor: int, max_bytes: int) -> BinaryIO:
    """The descriptor as a stream, once it is known to be what the check before opening saw."""
    try:
        _require_regular(os.fstat(descriptor), max_bytes)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _read_all(stream: BinaryIO, max_bytes: int) -> bytes:
    """The rest of a stream. Asking for the limit at once would set that much memory aside for every small file."""
    pieces: list[bytes] = []
    left = max_bytes + 1  # one byte more than allowed: a file may grow, and /proc tells no size at all
    with _coded():
        asked = min(os.fstat(stream.fileno()).st_size + 1, left)
        while asked:
            piece = stream.read(asked)
            pieces.append(piece)
            left -= len(piece)
            asked = min(_CHUNK, left) if len(piece) == asked else 0
    if not left:
        raise FileAccessError("too_large", f"is larger than {max_bytes} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _list_directory(
    root: str | os.PathLike[str], directory: str, limit: int
) -> tuple[str, list[tuple[str, os.stat_result]]]:
    with _coded(), contextlib.ExitStack() as stack:
        if _HAS_DIRECTORY_DESCRIPTORS:
            walk = stack.enter_context(_Walk(root))
            if walk.to(directory, follow_links=False) is not None:
                raise FileAccessError("not_directory")
            scan = stack.enter_context(os.scandir(walk.descriptor))
            prefix = "/".join(walk.names)
        else:
            base, real = _real_path_below(root, directory, follow_links=False)
            if not os.path.isdir(real):
                raise FileAccessError("not_directory")
            scan = stack.enter_context(os.scandir(real))
            relative = os.path.relpath(real, base).replace(os.sep, "/")
            prefix = "" if relative == "." else relative
        entries: list[tuple[str, os.stat_result]] = []
        for entry in scan:
            if len(entries) >= limit:
                raise FileAccessError("too_many_entries")
            with contextlib.suppress(FileNotFoundError):  # removed while we look
                entries.append((entry.name, entry.stat(follow_symlinks=False)))
        entries.sort(key=lambda item: item[0])
        return prefix, entries


def _real_path_below(
    root: str | os.PathLike[str], path: str | os.PathLike[str], *, follow_links: bool
) -> tuple[str, str]:
    """Root and target as real paths, for platforms that cannot walk by descriptors."""
    base = os.path.realpath(_checked(os.fspath(root)), strict=True)
    given = _checked(os.fspath(path))
    if sys.platform == "win32" and ":" in os.path.splitdrive(given)[1]:
        raise FileAccessError("bad_path")  # an alternate data stream
    plain = os.path.normpath(os.path.join(base, given))
    if os.path.isabs(given) and not _is_below(plain, base):
        shown = os.path.abspath(os.fspath(root))
        if not _is_below(plain, shown):
            raise FileAccessError("outside_root")
        plain = os.path.normpath(os.path.join(base, os.path.relpath(plain, shown)))
    if not _is_below(plain, base):
        raise FileAccessError("outside_root")
    real = os.path.realpath(plain)
    if not follow_links and os.path.normcase(real) != os.path.normcase(plain):
        raise FileAccessError("link_refused")
    if not _is_below(real, base):
        raise FileAccessError("outside_root")
    return base, real


def _is_below(path: str, base: str) -> bool:
    try:
        return os.path.normcase(os.path.commonpath([path, base])) == os.path.normcase(base)
    except ValueError:  # different drives
        return False


def _open_by_real_path(
    root: str | os.PathLike[str], path: str | os.PathLike[str], max_bytes: int, *, follow_links: bool
) -> BinaryIO:
    base, real = _real_path_below(root, path, follow_links=follow_links)
    _require_regular(os.stat(real), max_bytes)
    stream = _stream(os.open(real, _READ_FLAGS), max_bytes)
    try:
        # Nothing on the way may have been exchanged while the file was opened.
        opened, named = os.fstat(stream.fileno()), os.stat(real)
        same = (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
        if not same or os.path.realpath(real) != real or not _is_below(real, base):
            raise FileAccessError("outside_root")
    except BaseException:
        stream.close()
        raise
    return stream


def _replace(
    directory: str | None, descriptor: int | None, base: str, data: bytes, mode: int, *, durable: bool
) -> None:
    """The write itself; either a directory's path or its descriptor says where."""

    def place(name: str) -> str:
        return name if directory is None else os.path.join(directory, name)

    temporary = place(f".{base[:64]}.{secrets.token_hex(8)}.tmp")
    with _coded("write_failed"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOEXEC | _BINARY | _NO_FOLLOW
        file = os.open(temporary, flags, 0o600, dir_fd=descriptor)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(file, view[:_CHUNK]) :]
                if hasattr(os, "fchmod"):
                    os.fchmod(file, mode)
                if durable:
                    os.fsync(file)
            finally:
                os.close(file)
            os.replace(temporary, place(base), src_dir_fd=descriptor, dst_dir_fd=descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=descriptor)
            raise
        if durable and descriptor is not None:
            _sync_directory(descriptor)


def _sync_directory(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot force a directory to disk; the rename is complete either way.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
            raise FileAccessError(
                "write_failed", "was replaced, but the directory could not be forced to disk"
            ) from error


@contextlib.contextmanager
def _coded(default: FileErrorKind = "unreadable") -> Iterator[None]:
    """Turn what the operating system answers into the kinds of this module."""
    try:
        yield
    except OSError as error:
        if default == "write_failed":
            raise FileAccessError("write_failed") from error
        raise FileAccessError(_KIND_OF_ERRNO.get(error.errno or 0, default)) from error
    except (ValueError, UnicodeError) as error:  # a name the platform cannot express
        raise FileAccessError("bad_path") from error

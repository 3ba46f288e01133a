"""Knows what on disk has changed since it was last looked at, by asking only for file status.

The rule is git's for its index. A file whose status (times, size, inode, device) is what it was when the file was
read has not changed, unless it was modified within two seconds of that reading: the clock of a file system may be
too coarse to tell a later change from it. Such a file is compared by content until it has been read at an age of
more than two seconds. Folder listings follow the same rule.

`Disk` is what is remembered between requests; `Look` is one request, in which every path has one state.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from .confinement import Confinement
from .errors import RepositoryError
from .reading import FileContent, FileSystem, ReadFault, StatKey, read_fault, read_regular_file, stat_key

#: A file younger than this when it was read is compared by content next time.
RACY_NS: Final = 2_000_000_000

# The creation time that Windows reports in its place says nothing about changes.
_CHANGE_TIME: Final = os.name != "nt"

FileKind = Literal["file", "missing", "folder", "fault"]
Checkpoint = Callable[[], None]


def is_racy(key: StatKey, read_at_ns: int) -> bool:
    """Whether a state read at a time could change later without its status showing it.

    Args:
        key: Status of the state that was read.
        read_at_ns: Wall-clock time just before the reading.
    """
    newest = max(key[0], key[1]) if _CHANGE_TIME else key[0]
    return read_at_ns - newest < RACY_NS


class FileEntry:
    """What is known of one path that a pattern matched or that was asked for by name.

    A changed file gets a new entry, so whatever hangs on an entry is of one state.

    Attributes:
        path: Absolute, as matched.
        kind: What is there.
        key: Its status, or an empty tuple when there is none.
        racy: Compare by content next time.
        digest: Of the content, where it was ever racy.
        reason: Why it cannot be read, for kind `fault`.
        link: Whether the path itself is a link; only known under confinement.
        parsed: What the file holds, by the rule it was read with: records or the fault that was found.
    """

    __slots__ = ("_stamp", "digest", "key", "kind", "link", "parsed", "path", "racy", "reason")

    def __init__(self, path: str, kind: FileKind, key: tuple[int, ...] = (), reason: str = "") -> None:
        self.path = path
        self.kind: FileKind = kind
        self.key = key
        self.racy = False
        self.digest = b""
        self.reason = reason
        self.link = False
        self.parsed: dict[Any, Any] = {}
        self._stamp: tuple[int, ...] = key

    @property
    def stamp(self) -> tuple[object, ...]:
        """What tells this state of the path from any other; the same for as long as the content is."""
        return (self.path, self.kind, self.digest, *self._stamp)


class FolderEntry:
    """What is known of one folder.

    Attributes:
        path: Absolute.
        key: Its status, or an empty tuple when there is no readable folder.
        racy: List again next time.
        names: Sorted names, or None when there is no readable folder.
    """

    __slots__ = ("key", "names", "path", "racy")

    def __init__(self, path: str, key: tuple[int, ...], names: list[str] | None) -> None:
        self.path = path
        self.key = key
        self.racy = False
        self.names = names


class FileMoved(Exception):
    """A file changed between two readings of one look."""


class Disk:
    """What is remembered of files and folders between looks. Not thread safe: the store holds a lock."""

    def __init__(self, system: FileSystem, confinement: Confinement | None) -> None:
        """Start with nothing remembered.

        Args:
            system: The calls to make.
            confinement: Refuses what leaves the root, or None.
        """
        self.system = system
        self.confinement = confinement
        self.files: dict[str, FileEntry] = {}
        self.folders: dict[str, FolderEntry] = {}


class Look:
    """One request's view of the disk: every path is asked for once and has one state."""

    def __init__(self, disk: Disk, checkpoint: Checkpoint | None = None, moment: Look | None = None) -> None:
        """Begin.

        Args:
            disk: What is remembered.
            checkpoint: Called before every path; whatever it raises ends the look and leaves the disk valid.
            moment: Another look whose states this one shares, keeping account of its own paths only.
        """
        self._disk = disk
        self._checkpoint = checkpoint
        self._content: dict[str, bytes] = {} if moment is None else moment._content
        self._inside: set[str] = set() if moment is None else moment._inside
        self._files: dict[str, FileEntry] = {} if moment is None else moment._files
        self._folders: dict[str, FolderEntry] = {} if moment is None else moment._folders
        self.seen_files: dict[str, FileEntry] = {}
        self.seen_folders: dict[str, FolderEntry] = {}

    @property
    def states(self) -> Mapping[str, FileEntry]:
        """What this look knows of files by now."""
        return self._files

    def at_this_moment(self) -> Look:
        """A look that shares the states of this one and keeps account of its own paths."""
        return Look(self._disk, self._checkpoint, self)

    def file(self, path: str) -> FileEntry:
        """The present state of a path.

        Raises:
            RepositoryError: Confinement refuses the path.
        """
        entry = self._files.get(path)
        if entry is None:
            if self._checkpoint is not None:
                self._checkpoint()
            entry = self._fresh_file(path)
            self._files[path] = self._disk.files[path] = entry
        self.seen_files[path] = entry
        return entry

    def content(self, entry: FileEntry, *, keep: bool = False) -> bytes:
        """The bytes of a file in the state of its entry.

        Args:
            entry: Of kind `file`.
            keep: Another rule will ask for them in this look.

        Raises:
            FileMoved: The file has changed since the entry was made; start over.
        """
        data = self._content.get(entry.path)
        if data is None:
            try:
                content = self._read(entry.path)
            except ReadFault:
                raise FileMoved from None
            if content.key != entry.key:
                raise FileMoved
            data = content.data
        if keep:
            self._content[entry.path] = data
        else:
            self._content.pop(entry.path, None)
        return data

    def folder(self, path: str) -> FolderEntry:
        """The present state of a folder.

        Raises:
            RepositoryError: Confinement refuses the folder.
        """
        entry = self._folders.get(path)
        if entry is None:
            if self._checkpoint is not None:
                self._checkpoint()
            entry = self._fresh_folder(path)
            self._folders[path] = self._disk.folders[path] = entry
        self.seen_folders[path] = entry
        return entry

    def unchanged(self, files: Sequence[FileEntry], folders: Sequence[FolderEntry]) -> bool:
        """Whether entries of an earlier look are all still the state on disk: the warm path, one status each."""
        return self.folders_unchanged(folders) and self.files_unchanged(files)

    def folders_unchanged(self, folders: Sequence[FolderEntry]) -> bool:
        """Whether folders of an earlier look still hold the names they held."""
        try:
            if self._disk.confinement is not None:
                # Links have to be followed as well: no short cut.
                return all(self.folder(entry.path) is entry for entry in folders)
            return all(map(self._folder_unchanged, folders))
        except RepositoryError:
            return False  # whoever asks for the path again learns what is wrong with it

    def files_unchanged(self, files: Sequence[FileEntry]) -> bool:
        """Whether files of an earlier look are still what they were; if not, which ones are is known afterwards.

        Nothing but files that may have changed is read, and of those no more than up to the first that has.
        """
        try:
            if self._disk.confinement is not None:
                return all(self.file(entry.path) is entry for entry in files)
            suspects = self._suspects(files)
            for at, entry in enumerate(suspects):
                if self.file(entry.path) is not entry:
                    # The rest of this look need not ask again for what has just been found unchanged.
                    undecided = {suspect.path for suspect in suspects[at:]}
                    found = {known.path: known for known in files if known.path not in undecided}
                    self._files.update({**found, **self._files})
                    return False
        except RepositoryError:
            return False
        return True

    def _folder_unchanged(self, folder: FolderEntry) -> bool:
        if folder.key and not folder.racy:
            try:
                if stat_key(self._disk.system.stat(folder.path)) == folder.key:
                    return True
            except OSError:
                return False
        return self.folder(folder.path) is folder

    def _suspects(self, files: Sequence[FileEntry]) -> list[FileEntry]:
        # Written out for speed: this loop is what a warm request costs.
        status_of = self._disk.system.stat
        checkpoint = self._checkpoint
        suspects: list[FileEntry] = []
        for entry in files:
            if checkpoint is not None:
                checkpoint()
            if entry.key and not entry.racy:
                try:
                    status = status_of(entry.path)
                except OSError:
                    status = None
                if status is not None and entry.key == (
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_size,
                    status.st_ino,
                    status.st_dev,
                ):
                    continue
            suspects.append(entry)
        return suspects

    def _fresh_file(self, path: str) -> FileEntry:
        known = self._disk.files.get(path)
        try:
            status = self._disk.system.stat(path)
        except OSError as error:
            return self._without_content(path, known, error)
        key = stat_key(status)
        if stat.S_ISDIR(status.st_mode):
            # Only that it is a folder matters here; its times are the listing's business.
            entry = known if known is not None and known.kind == "folder" else FileEntry(path, "folder")
            self._require_inside(path, entry, fresh=entry is not known)
            return entry
        if known is not None and known.key == key and not known.racy:
            self._require_inside(path, known, fresh=False)
            return known
        try:
            content = self._read(path)
        except ReadFault as fault:
            if fault.missing:
                return known if known is not None and known.kind == "missing" else FileEntry(path, "missing")
            if known is not None and known.kind == "fault" and known.reason == fault.reason:
                return known
            # Never taken for unchanged by its status: what keeps it from being read may lie elsewhere.
            return FileEntry(path, "fault", reason=fault.reason)
        entry = self._with_content(path, known, content)
        self._require_inside(path, entry, fresh=True)
        return entry

    def _without_content(self, path: str, known: FileEntry | None, error: OSError) -> FileEntry:
        fault = read_fault(error)
        kind: FileKind = "missing" if fault.missing else "fault"
        if (
            known is not None
            and known.kind == kind
            and known.reason == ("" if fault.missing else fault.reason)
        ):
            return known
        return FileEntry(path, kind, reason="" if fault.missing else fault.reason)

    def _with_content(self, path: str, known: FileEntry | None, content: FileContent) -> FileEntry:
        racy = is_racy(content.key, content.read_at_ns)
        digest = b""
        if racy or (known is not None and known.digest):
            import hashlib  # 4 ms of import that a settled repository never needs

            digest = hashlib.blake2b(content.data, digest_size=16).digest()
            if known is not None and known.kind == "file" and known.digest == digest:
                known.key = content.key
                known.racy = racy
                return known
        entry = FileEntry(path, "file", content.key)
        entry.racy = racy
        entry.digest = digest
        self._content[path] = content.data
        return entry

    def _read(self, path: str) -> FileContent:
        confinement = self._disk.confinement
        return read_regular_file(
            path,
            system=self._disk.system,
            check=None if confinement is None else confinement.require_opened_inside,
        )

    def _require_inside(self, path: str, entry: FileEntry, *, fresh: bool) -> None:
        confinement = self._disk.confinement
        if confinement is None:
            return
        try:
            parent = os.path.dirname(path)
            if parent not in self._inside:
                confinement.require_inside(parent)
                self._inside.add(parent)
            if fresh:
                entry.link = os.path.islink(path)
            if entry.link:
                confinement.require_inside(path)
        except ReadFault as fault:
            raise RepositoryError(fault.reason, file=path) from None

    def _fresh_folder(self, path: str) -> FolderEntry:
        system = self._disk.system
        known = self._disk.folders.get(path)
        confinement = self._disk.confinement
        if confinement is not None:
            try:
                confinement.require_inside(path)
            except ReadFault as fault:
                raise RepositoryError(fault.reason, file=path) from None
        try:
            status = system.stat(path)
            key = stat_key(status) if stat.S_ISDIR(status.st_mode) else ()
            if known is not None and key and known.key == key and not known.racy:
                return known
            read_at = system.now_ns()
            names = sorted(system.listdir(path)) if key else None
        except OSError:
            # As in the reference, a folder that cannot be listed holds no matches.
            key, names, read_at = (), None, 0
        if known is not None and known.names == names:
            entry = known
            entry.key = key
        else:
            entry = FolderEntry(path, key, names)
        entry.racy = bool(key) and is_racy(key, read_at)  # type: ignore[arg-type]
        return entry

"""New trees out of an old one and changes: objects, not yet stored.

Only the directories on the way to a changed path are read; everything else keeps its id, whatever it holds (submodules,
modes of old repositories). Tree format: gitformat-tree in git's documentation; entries are ordered as if a directory's
name ended in `/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from mcpkit.git import BlobReader
from mergestorm_mcp.service.github.packing import GitObject, object_id

__all__ = ["DIRECTORY", "SUBMODULE", "EditedTree", "TreeChange", "TreeConflict"]

DIRECTORY: Final = "40000"
SUBMODULE: Final = "160000"
_ID_BYTES: Final = 20
_MAX_TREE_BYTES: Final = 64 << 20

ConflictKind = Literal["absent", "occupied", "submodule"]


class TreeConflict(Exception):
    """A change that does not fit the tree.

    Attributes:
        kind: `absent` (nothing to delete there), `occupied` (a file where a directory is, or the other way round),
            `submodule`.
        path: the change's path.
    """

    def __init__(self, kind: ConflictKind, path: bytes) -> None:
        super().__init__(kind)
        self.kind: ConflictKind = kind
        self.path = path


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One path: a new file with mode and blob id, or (both None) its deletion."""

    path: bytes
    mode: str | None = None
    blob: str | None = None


@dataclass(slots=True)
class _Directory:
    """A directory that was read: its entries, and those below it that were read too."""

    entries: dict[bytes, tuple[str, str]]
    opened: dict[bytes, _Directory] = field(default_factory=dict)


class EditedTree:
    """A tree under change.

    Args:
        reader: reads the directories of the old tree, and nothing that was made here.
        tree: id of the old tree; None to begin with nothing.
    """

    def __init__(self, reader: BlobReader, tree: str | None) -> None:
        self._reader = reader
        self._known: set[str] = set()
        self._root = self._read(tree) if tree is not None else _Directory({})

    def apply(self, changes: Iterable[TreeChange]) -> None:
        """Apply changes, deletions first, since a file may take the place of a directory that they empty.

        Raises:
            TreeConflict: a change does not fit.
            GitError: the old tree cannot be read.
        """
        listed = list(changes)
        for change in listed:
            if change.blob is None:
                self._delete(change.path)
        for change in listed:
            if change.blob is not None and change.mode is not None:
                self._put(change.path, change.mode, change.blob)

    def store(self) -> tuple[str, list[GitObject]]:
        """Id of the tree as it is now, and the tree objects that are new since the last call."""
        made: list[GitObject] = []
        oid = self._store(self._root, made)
        return oid, made

    def _store(self, directory: _Directory, made: list[GitObject]) -> str:
        for name, below in directory.opened.items():
            directory.entries[name] = (DIRECTORY, self._store(below, made))
        listed = sorted(directory.entries.items(), key=_order)
        content = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for name, (mode, oid) in listed
        )
        item = GitObject("tree", content)
        oid = object_id(item)
        if oid not in self._known:
            self._known.add(oid)
            made.append(item)
        return oid

    def _delete(self, path: bytes) -> None:
        *parents, name = path.split(b"/")
        way = [self._root]
        for parent in parents:
            below = self._enter(way[-1], parent, path)
            if below is None:
                raise TreeConflict("absent", path)
            way.append(below)
        mode, _ = way[-1].entries.get(name, (None, None))
        if mode is None or mode == DIRECTORY:
            raise TreeConflict("absent", path)
        if mode == SUBMODULE:
            raise TreeConflict("submodule", path)
        del way[-1].entries[name]
        # A directory without entries does not exist in git.
        for above, below, own in reversed(list(zip(way, way[1:], parents, strict=False))):
            if below.entries:
                break
            del above.entries[own]
            del above.opened[own]

    def _put(self, path: bytes, mode: str, blob: str) -> None:
        *parents, name = path.split(b"/")
        directory = self._root
        for parent in parents:
            below = self._enter(directory, parent, path)
            if below is None:
                if parent in directory.entries:
                    raise TreeConflict("occupied", path)
                below = _Directory({})
                directory.opened[parent] = below
                directory.entries[parent] = (DIRECTORY, "")
            directory = below
        present, _ = directory.entries.get(name, (None, None))
        if present == DIRECTORY:
            raise TreeConflict("occupied", path)
        if present == SUBMODULE:
            raise TreeConflict("submodule", path)
        directory.entries[name] = (mode, blob)

    def _enter(self, directory: _Directory, name: bytes, path: bytes) -> _Directory | None:
        if name in directory.opened:
            return directory.opened[name]
        mode, oid = directory.entries.get(name, (None, ""))
        if mode == SUBMODULE:
            raise TreeConflict("submodule", path)
        if mode != DIRECTORY:
            return None
        below = self._read(oid)
        directory.opened[name] = below
        return below

    def _read(self, oid: str) -> _Directory:
        content = self._reader.read(oid, max_bytes=_MAX_TREE_BYTES, expect="tree")
        self._known.add(oid)
        return _Directory(dict(_parsed(content)))


def _parsed(content: bytes) -> Iterator[tuple[bytes, tuple[str, str]]]:
    place = 0
    while place < len(content):
        end = content.index(b"\0", place)
        mode, _, name = content[place:end].partition(b" ")
        place = end + 1 + _ID_BYTES
        yield name, (mode.decode("ascii"), content[end + 1 : place].hex())


def _order(entry: tuple[bytes, tuple[str, str]]) -> bytes:
    name, (mode, _) = entry
    return name + b"/" if mode == DIRECTORY else name

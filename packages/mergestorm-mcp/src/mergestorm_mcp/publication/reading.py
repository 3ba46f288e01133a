"""The changes of a line of commits and the contents they need, sized before they are read (contract 5.1).

Blocking: call it in a thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcpkit.git import DiffEntry, GitError, Repository
from mergestorm_mcp.publication.limits import MAX_FILE_BYTES, MAX_PATHS, MAX_TOTAL_BYTES
from mergestorm_mcp.publication.range import BranchRange
from mergestorm_mcp.publication.refusals import refused
from mergestorm_mcp.text import one_line

__all__ = ["Change", "read_blobs", "read_changes"]

_SUBMODULE: Final = "160000"
_NOTHING: Final = "000000"
# A name takes 4096 bytes at most where git can have met it, and its line a hundred more.
_LISTING_BYTES: Final = MAX_PATHS * 4200
# What Windows makes of `.git` where short names are switched on; GitHub refuses it too.
_FORBIDDEN: Final = frozenset({"", ".", "..", ".git", "git~1"})


@dataclass(frozen=True, slots=True)
class Change:
    """One path in one commit.

    Attributes:
        path: from the top of the tree.
        mode: 100644, 100755 or 120000; None for a deletion.
        blob: id of the content; None for a deletion.
    """

    path: str
    mode: str | None = None
    blob: str | None = None


def read_changes(repository: Repository, line: BranchRange) -> list[list[Change]]:
    """What each commit of the line changes, renames as a deletion and an addition.

    Raises:
        CommandError: `submodule`, `bad_path`, `too_many_paths`, exit 2.
        GitError: git cannot read what it should.
    """
    bounded = repository.bounded(
        limits=dataclasses.replace(repository.limits, entries=MAX_PATHS, output_bytes=_LISTING_BYTES)
    )
    before = line.base_oid
    paths: set[bytes] = set()
    changes: list[list[Change]] = []
    for commit in line.commits:
        try:
            entries = bounded.diff_names(before, commit.oid)
        except GitError as error:
            if error.kind in {"too_many_entries", "output_too_large"}:
                raise refused("too_many_paths") from None
            raise
        paths.update(entry.path for entry in entries)
        if len(paths) > MAX_PATHS:
            raise refused("too_many_paths")
        changes.append([_change(entry) for entry in entries])
        before = commit.oid
    return changes


def read_blobs(repository: Repository, changes: Iterable[Iterable[Change]]) -> dict[str, bytes]:
    """The contents that changes need, each once.

    Raises:
        CommandError: `file_too_large`, `payload_too_large`, exit 2; nothing was read then.
        GitError: `missing_object` in a partial clone; git cannot read what it should.
    """
    places: dict[str, str] = {}
    for commit in changes:
        for change in commit:
            if change.blob is not None:
                places.setdefault(change.blob, change.path)
    with repository.blobs(max_bytes=MAX_FILE_BYTES) as reader:
        total = 0
        for oid, path in places.items():
            size = reader.header(oid).size
            if size > MAX_FILE_BYTES:
                raise refused("file_too_large", f"{one_line(path, 200)}: {size:,} bytes")
            total += size
            if total > MAX_TOTAL_BYTES:
                raise refused("payload_too_large")
        return dict(_contents(reader.read_many(places)))


def _contents(answers: Iterator[tuple[str, bytes | GitError]]) -> Iterator[tuple[str, bytes]]:
    for oid, content in answers:
        if isinstance(content, GitError):
            raise content
        yield oid, content


def _change(entry: DiffEntry) -> Change:
    path = _path(entry.path)
    if _SUBMODULE in {entry.old_mode, entry.new_mode}:
        raise refused("submodule", one_line(path, 200))
    if entry.new_mode == _NOTHING:
        return Change(path)
    return Change(path, entry.new_mode, entry.new_oid)


def _path(name: bytes) -> str:
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        raise refused("bad_path", one_line(name.decode("utf-8", "replace"), 200)) from None
    if any(part.casefold() in _FORBIDDEN for part in path.split("/")):
        raise refused("bad_path", one_line(path, 200))
    return path

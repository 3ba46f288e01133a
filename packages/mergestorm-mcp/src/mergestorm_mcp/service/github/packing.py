"""Many objects stored by one git process: a pack, built here and indexed by git.

git checks every object's content against the pack's checksum, names it by its own digest and moves the finished pack into
place at the end, so a process that dies leaves either all objects or none that count. Format: gitformat-pack(5),
version 2, no deltas.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from mcpkit.git import GitError, Repository

__all__ = ["GitObject", "object_id", "pack", "store_objects"]

_KINDS: Final[Mapping[str, int]] = {"commit": 1, "tree": 2, "blob": 3}
# Time matters more than the few bytes that a better level saves.
_LEVEL: Final = 1


class GitObject(NamedTuple):
    """An object that need not be stored yet: `commit`, `tree` or `blob`, and its content."""

    kind: str
    content: bytes


def object_id(item: GitObject) -> str:
    """The SHA-1 id git gives the object: a digest of type, size and content."""
    header = f"{item.kind} {len(item.content)}\0".encode()
    return hashlib.sha1(header + item.content, usedforsecurity=False).hexdigest()


def pack(objects: Mapping[str, GitObject]) -> bytes:
    """A pack with these objects, in order of their ids, so that equal sets make equal packs."""
    made = bytearray(b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big"))
    for _, item in sorted(objects.items()):
        made += _entry_header(_KINDS[item.kind], len(item.content))
        made += zlib.compress(item.content, _LEVEL)
    return bytes(made + hashlib.sha1(made, usedforsecurity=False).digest())


def store_objects(repository: Repository, objects: Iterable[GitObject]) -> None:
    """Store objects; what is stored already may be among them.

    Raises:
        GitError: `git_failed`, `timeout`.
    """
    named = {object_id(item): item for item in objects}
    if not named:
        return
    answer = repository.run("index-pack", "--stdin", data=pack(named))
    if answer.code != 0:
        raise GitError("git_failed", detail=answer.errors)


def _entry_header(kind: int, size: int) -> bytes:
    """Type in three bits and size in groups of 4, 7, 7, ... bits, least first."""
    byte = kind << 4 | size & 0x0F
    size >>= 4
    made = bytearray()
    while size:
        made.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    made.append(byte)
    return bytes(made)

"""A commit as it is sent, and the id its copy will have.

The copy of a commit is the object without its signature, which only its author can make, and with the copy of its
parent as the parent. So the copies of an unsigned line have the same ids as the originals, and from the first signed
commit on every id differs - by a rule, so that it can be foretold and checked here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from mcpkit.git import CommitInfo, without_signature

__all__ = ["CopiedCommit", "copies", "message_text", "object_id"]


@dataclass(frozen=True, slots=True)
class CopiedCommit:
    """A commit and its copy.

    Attributes:
        original: the local commit.
        raw: the original without its signature, its parent still the local one: what is sent.
        oid: id of the copy.
    """

    original: CommitInfo
    raw: bytes
    oid: str


def copies(commits: Iterable[CommitInfo]) -> list[CopiedCommit]:
    """The copies of a line of commits, oldest first, each with one parent."""
    made: list[CopiedCommit] = []
    copied: dict[str, str] = {}
    for commit in commits:
        raw = without_signature(commit.raw)
        parent = commit.parents[0]
        own = copied.get(parent, parent)
        stored = raw if own == parent else _with_parent(raw, parent, own)
        oid = object_id("commit", stored)
        copied[commit.oid] = oid
        made.append(CopiedCommit(commit, raw, oid))
    return made


def object_id(kind: str, data: bytes) -> str:
    """The SHA-1 id git gives an object: the digest of its type, size and content (gitformat-loose)."""
    return hashlib.sha1(b"%s %d\0%s" % (kind.encode(), len(data), data), usedforsecurity=False).hexdigest()


def message_text(commit: CommitInfo) -> str:
    """The message as people read it: in the encoding the commit names, what does not fit replaced."""
    try:
        return commit.message.decode(commit.encoding or "utf-8", "replace")
    except (LookupError, ValueError):  # an encoding only its author knows, or one that is none of text
        return commit.message.decode("utf-8", "replace")


def _with_parent(raw: bytes, old: str, new: str) -> bytes:
    # The parent stands in the headers, after the tree and before anything that could look like it.
    return raw.replace(b"\nparent " + old.encode(), b"\nparent " + new.encode(), 1)

"""Writing objects and refs without running anything.

A commit is made of `hash-object`, `mktree` and a compare-and-swap `update-ref`; hooks, filters, signing and the index
have no part in it. That also means: the user's own hooks, line-ending and LFS filters and signatures are skipped, so
this is for copying and rebuilding commits, not for committing a work tree.

Kept apart from reading, and imported by no other module of the package, so that a server that must not write can show
that it cannot reach this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcpkit.git.errors import GitError
from mcpkit.git.objects import Signature, check_oid, check_ref, zero_oid
from mcpkit.git.repository import Repository

__all__ = ["TreeFile", "Writer"]

_FILE_MODES: Final = {"100644": "blob", "100755": "blob", "120000": "blob", "160000": "commit"}
_MAX_DEPTH: Final = 512


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file for `Writer.write_tree`: mode (`100644`, `100755`, `120000`, `160000`), object id, path from the top."""

    mode: str
    oid: str
    path: bytes


class Writer:
    """Writes to one repository's object database and refs."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def write_blob(self, data: bytes) -> str:
        """Store bytes as they are (no filter) and return the blob's id."""
        return self._hash_object("blob", data)

    def write_tree(self, files: Iterable[TreeFile]) -> str:
        """Store a whole tree, nested directories included, and return its id.

        Raises:
            GitError: `bad_argument` for a path that no checkout could hold (`..`, `.git`, empty parts, a file that is
                also a directory, twice the same), an unknown mode or a short id; `missing_object` for a blob that was
                not stored before.
        """
        # Directories by depth; the deepest are stored first, because a tree names its subtrees by id.
        directories: dict[tuple[bytes, ...], dict[bytes, tuple[str, str, str]]] = {(): {}}
        for file in files:
            *parents, name = _checked_path(file.path)
            kind = _FILE_MODES.get(file.mode)
            if kind is None:
                raise GitError("bad_argument", "a file's mode is not one git stores")
            for depth in range(len(parents) + 1):
                directories.setdefault(tuple(parents[:depth]), {})
            entries = directories[tuple(parents)]
            if name in entries:
                raise GitError("bad_argument", "a path is given twice")
            entries[name] = (file.mode, kind, check_oid(file.oid, self._repository.object_format))
        for depth in range(max(map(len, directories)), -1, -1):
            level = [place for place in directories if len(place) == depth]
            for place, oid in zip(
                level, self._make_trees([directories[place] for place in level]), strict=True
            ):
                if depth == 0:
                    return oid
                siblings = directories[place[:-1]]
                if place[-1] in siblings:
                    raise GitError("bad_argument", "a path is both a file and a directory")
                siblings[place[-1]] = ("040000", "tree", oid)
        raise AssertionError("the top directory is always present")

    def commit_tree(
        self,
        tree: str,
        *,
        parents: Iterable[str] = (),
        author: Signature,
        committer: Signature,
        message: bytes,
        encoding: str | None = None,
    ) -> str:
        """Store a commit, the message byte for byte, and return its id. No ref moves.

        Raises:
            GitError: `bad_argument` (names with line breaks or brackets, NUL in the message, unreadable zone),
                `missing_object` if the tree or a parent is not there, `bad_object` if git finds the commit unacceptable.
        """
        known = self._repository.object_format
        ancestry = [check_oid(oid, known) for oid in parents]
        with self._repository.blobs() as reader:
            for oid, wanted in ((tree, "tree"), *((oid, "commit") for oid in ancestry)):
                if reader.header(oid).type != wanted:
                    raise GitError("wrong_type", f"a {wanted} is needed")
        if b"\0" in message or (encoding is not None and not re.fullmatch(r"[!-~]{1,64}", encoding)):
            raise GitError("bad_argument", "the message or its encoding cannot be stored")
        lines = [b"tree " + tree.encode("ascii")]
        lines += [b"parent " + oid.encode("ascii") for oid in ancestry]
        lines += [b"author " + _person(author), b"committer " + _person(committer)]
        if encoding is not None:
            lines.append(b"encoding " + encoding.encode("ascii"))
        return self._hash_object("commit", b"\n".join(lines) + b"\n\n" + message)

    def write_commit(self, raw: bytes) -> str:
        """Store a whole commit object as it is and return its id; `bad_object` if git finds it unacceptable."""
        return self._hash_object("commit", raw)

    def update_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref from `old` to `new`, or create it where `old` is None, if nobody was faster.

        Raises:
            GitError: `ref_changed` if the ref does not have the expected value, `missing_object`, `bad_argument`, or
                `git_failed` (e.g. another process holds the lock).
        """
        self._swap(ref, new, old)

    def delete_ref(self, ref: str, old: str) -> None:
        """Delete a ref that still has the value `old`; errors as `update_ref`."""
        self._swap(ref, None, old)

    def _swap(self, ref: str, new: str | None, old: str | None) -> None:
        repository = self._repository
        none = zero_oid(repository.object_format)
        values = [none if oid is None else check_oid(oid, repository.object_format) for oid in (new, old)]
        answer = repository.run("update-ref", "--no-deref", "--end-of-options", check_ref(ref), *values)
        if answer.code != 0:
            if repository.read_ref(ref) != old:
                raise GitError("ref_changed", detail=answer.errors)
            repository.checked(answer)

    def _hash_object(self, kind: str, data: bytes) -> str:
        answer = self._repository.run("hash-object", "-w", "--stdin", "--no-filters", "-t", kind, data=data)
        if answer.code != 0:
            raise GitError("git_failed" if kind == "blob" else "bad_object", detail=answer.errors)
        return check_oid(answer.output.decode("ascii", "replace").strip(), self._repository.object_format)

    def _make_trees(self, trees: list[dict[bytes, tuple[str, str, str]]]) -> list[str]:
        request = bytearray()
        for entries in trees:
            for name, (mode, kind, oid) in entries.items():
                request += f"{mode} {kind} {oid}\t".encode("ascii") + name + b"\0"
            request += b"\0"
        answer = self._repository.run("mktree", "-z", "--batch", data=bytes(request))
        if answer.code != 0:
            with self._repository.blobs() as reader:  # asked here, because git's own words quote file names
                for _, kind, oid in (entry for entries in trees for entry in entries.values()):
                    if kind != "commit" and reader.header(oid).type != kind:
                        raise GitError("wrong_type", f"a {kind} is needed")
        oids = self._repository.checked(answer).decode("ascii").split()
        if len(oids) != len(trees):
            raise GitError("git_failed")
        return [check_oid(oid, self._repository.object_format) for oid in oids]


def _checked_path(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    if len(parts) > _MAX_DEPTH or b"\0" in path:
        raise GitError("bad_argument", "a path cannot be stored")
    for part in parts:
        if part in {b"", b".", b".."} or part.lower() == b".git":
            raise GitError("bad_argument", "a path cannot be stored")
    return parts


def _person(person: Signature) -> bytes:
    if re.search(rb"[\0\n<>]", person.name + person.email) or not re.fullmatch(r"[+-]\d{4}", person.zone):
        raise GitError("bad_argument", "a name, address or time zone cannot be stored")
    return person.name + b" <" + person.email + b"> " + f"{person.time} {person.zone}".encode("ascii")

"""What the bytes of a commit say. Strict: what git would warn of is refused, because GitHub refuses it on a push."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["CommitObject", "Person", "encode", "parse", "with_parent"]

_ENTRY: Final = re.compile(rb"(tree|parent) ([0-9a-f]{40})")
_PERSON: Final = re.compile(rb"(?:([^<>\n]*?) ?)<([^<>\n]*)> (-?\d{1,20}) ([+-]\d{4})")
_HEADER: Final = re.compile(rb"[A-Za-z][A-Za-z0-9:_-]* ")


@dataclass(frozen=True, slots=True)
class Person:
    """Who and when, as text; bytes that are not UTF-8 are replaced. `date` is `<epoch> <+hhmm>`."""

    name: str
    email: str
    date: str


@dataclass(frozen=True, slots=True)
class CommitObject:
    """A commit's bytes, understood."""

    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str
    signed: bool


def parse(raw: bytes) -> CommitObject:
    """Understand a commit.

    Raises:
        ValueError: it is not well formed.
    """
    head, separator, message = raw.partition(b"\n\n")
    if not separator or b"\0" in head:
        raise ValueError("a commit has headers, an empty line and a message")
    lines = head.split(b"\n")
    tree = _entry(lines.pop(0), b"tree")
    parents = []
    while lines and lines[0].startswith(b"parent "):
        parents.append(_entry(lines.pop(0), b"parent"))
    if len(lines) < 2:
        raise ValueError("author and committer are missing")
    author, committer = _person(lines[0], b"author "), _person(lines[1], b"committer ")
    names: list[bytes] = []
    for line in lines[2:]:
        if line.startswith(b" ") and names:
            continue
        if not _HEADER.match(line) or line.startswith((b"tree ", b"parent ", b"author ", b"committer ")):
            raise ValueError("a header is not well formed")
        names.append(line.partition(b" ")[0])
    return CommitObject(
        tree=tree,
        parents=tuple(parents),
        author=author,
        committer=committer,
        message=message.decode("utf-8", "replace"),
        signed=any(name in {b"gpgsig", b"gpgsig-sha256"} for name in names),
    )


def encode(commit: CommitObject) -> bytes:
    """The bytes of an unsigned commit without further headers.

    Raises:
        ValueError: a field cannot stand in a commit.
    """
    lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
    for role, person in (("author", commit.author), ("committer", commit.committer)):
        lines.append(f"{role} {person.name}{' ' if person.name else ''}<{person.email}> {person.date}")
    raw = ("\n".join(lines) + "\n\n" + commit.message).encode("utf-8")
    if parse(raw) != commit:
        raise ValueError("a field cannot stand in a commit")
    return raw


def with_parent(raw: bytes, parent: str) -> bytes:
    """A commit of one parent, given another."""
    lines = raw.split(b"\n", 2)
    lines[1] = b"parent " + parent.encode("ascii")
    return b"\n".join(lines)


def _entry(line: bytes, kind: bytes) -> str:
    found = _ENTRY.fullmatch(line)
    if found is None or found[1] != kind:
        raise ValueError("tree or parent is not well formed")
    return found[2].decode("ascii")


def _person(line: bytes, role: bytes) -> Person:
    found = _PERSON.fullmatch(line[len(role) :]) if line.startswith(role) else None
    if found is None:
        raise ValueError("author or committer is not well formed")
    name, email, time, zone = found.groups()
    return Person(
        (name or b"").decode("utf-8", "replace"),
        email.decode("utf-8", "replace"),
        f"{int(time)} {zone.decode('ascii')}",
    )

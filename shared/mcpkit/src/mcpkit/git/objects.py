"""Commits, trees and differences as values, parsed from the bytes git keeps or prints.

Names, messages and paths stay bytes: git promises no encoding. Formats: gitformat-commit in git's own documentation,
git-ls-tree(1) and the raw output of git-diff-tree(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcpkit.git.errors import GitError

_HEX_LENGTH: Final = {"sha1": 40, "sha256": 64}
_EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_HEX: Final = re.compile(r"[0-9a-f]+")
_PERSON: Final = re.compile(
    rb"(?P<name>.*?) ?<(?P<email>[^>]*)> (?P<time>-?\d+) (?P<zone>[+-]\d+)", re.DOTALL
)
_MAX_REVISION: Final = 1024
# Searching messages by expression and naming blobs or index entries has no place where a commit is asked for.
_REFUSED_REVISION: Final = re.compile(r"\A[-:^]|\^\{/|[\x00-\x20\x7f]|\.\.")


class TreeEntry(NamedTuple):
    """One entry of a recursive tree listing.

    Attributes:
        mode: `100644`, `100755`, `120000` (symbolic link) or `160000` (submodule); `040000` only in tree listings.
        type: `blob`, `commit` (submodule) or `tree`.
        oid: full object id.
        size: bytes of a blob; None where there is none, it was not asked for or the object is missing.
        path: from the top of the tree, `/`-separated.
    """

    mode: str
    type: str
    oid: str
    size: int | None
    path: bytes


class DiffEntry(NamedTuple):
    """One path in which two trees differ.

    Attributes:
        status: `A`, `D`, `M`, `T` (type changed), or `R` and `C` where renames were looked for.
        old_mode: `000000` for an added path.
        new_mode: `000000` for a deleted path.
        old_oid: all zeros for an added path.
        new_oid: all zeros for a deleted path.
        path: the path in the new tree (in the old one for a deletion).
        old_path: the source of a rename or copy.
    """

    status: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    path: bytes
    old_path: bytes | None


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when.

    Attributes:
        name: as written.
        email: as written, without the angle brackets.
        time: seconds since the epoch.
        zone: offset as written, e.g. `+0200`.
    """

    name: bytes
    email: bytes
    time: int
    zone: str


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """One commit.

    Attributes:
        oid: its id.
        tree: id of its tree.
        parents: ids of its parents, first parent first.
        author: who wrote the change.
        committer: who made the commit.
        encoding: of the message, where the commit names one.
        signed: carries a cryptographic signature. Nobody verified it.
        message: as written, everything after the headers.
        raw: the whole object.
    """

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    encoding: str | None
    signed: bool
    message: bytes
    raw: bytes

    @property
    def subject(self) -> str:
        """First line of the message as text; what cannot be decoded is replaced."""
        try:
            text = self.message.decode(self.encoding or "utf-8", "replace")
        except LookupError:  # an encoding only its author knows
            text = self.message.decode("utf-8", "replace")
        return next((line.strip() for line in text.splitlines() if line.strip()), "")


def empty_tree(object_format: str) -> str:
    """Id of the tree without entries, which git knows without having it."""
    return _EMPTY_TREE[object_format]


def zero_oid(object_format: str) -> str:
    """The id that stands for `no object`."""
    return "0" * _HEX_LENGTH[object_format]


def check_oid(oid: str, object_format: str) -> str:
    """Return a full lower-case object id; anything else is a `bad_argument`."""
    if len(oid) != _HEX_LENGTH[object_format] or not _HEX.fullmatch(oid):
        raise GitError("bad_argument", "a full object id is needed")
    return oid


def check_revision(revision: str) -> str:
    """Return a revision that is safe to hand to git and can only mean one commit.

    Raises:
        GitError: `bad_argument` for text that could be read as an option, a range, a path, an index entry or a search
            through all messages, for control characters and for overlong text.
    """
    if not revision or len(revision) > _MAX_REVISION or _REFUSED_REVISION.search(revision):
        raise GitError("bad_argument", "this is not the name of a commit, branch or tag")
    return revision


def check_ref(ref: str) -> str:
    """Return a full ref name (`refs/...`) that follows git-check-ref-format(1); else `bad_argument`."""
    parts = ref.split("/")
    if (
        len(parts) < 3
        or parts[0] != "refs"
        or len(ref) > _MAX_REVISION
        or re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|\.\Z", ref)
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    ):
        raise GitError("bad_argument", "a full ref name such as refs/heads/main is needed")
    return ref


def parse_commit(oid: str, raw: bytes) -> CommitInfo:
    """Parse a commit object.

    Raises:
        GitError: `bad_object`.
    """
    head, separator, message = raw.partition(b"\n\n")
    if not separator:
        head = raw.rstrip(b"\n")
    found: dict[bytes, bytes] = {}
    parents: list[str] = []
    signed = False
    for key, value in _headers(head):
        if key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        elif key in {b"gpgsig", b"gpgsig-sha256"}:
            signed = True
        else:
            found.setdefault(key, value)
    try:
        return CommitInfo(
            oid=oid,
            tree=found[b"tree"].decode("ascii"),
            parents=tuple(parents),
            author=_parse_signature(found[b"author"]),
            committer=_parse_signature(found[b"committer"]),
            encoding=found[b"encoding"].decode("ascii", "replace") if b"encoding" in found else None,
            signed=signed,
            message=message,
            raw=raw,
        )
    except (KeyError, ValueError) as error:
        raise GitError("bad_object", "a commit is not well formed") from error


def without_signature(raw: bytes) -> bytes:
    """A commit object without its `gpgsig` headers; unsigned commits come back unchanged."""
    head, separator, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    dropping = False
    for line in head.split(b"\n"):
        if not (dropping and line.startswith(b" ")):
            dropping = line.startswith((b"gpgsig ", b"gpgsig-sha256 "))
        if not dropping:
            kept.append(line)
    return b"\n".join(kept) + separator + message


def parse_tree_listing(output: bytes, *, limit: int, sized: bool) -> list[TreeEntry]:
    """Parse `ls-tree -z`, with `-l` where `sized`; too many entries are an error."""
    records = _records(output, limit)
    entries: list[TreeEntry] = []
    for record in records:
        fields, _, path = record.partition(b"\t")
        mode, kind, oid, *rest = fields.split()
        size = int(rest[0]) if sized and rest and rest[0].isdigit() else None
        entries.append(TreeEntry(mode.decode(), kind.decode(), oid.decode(), size, path))
    return entries


def parse_raw_diff(output: bytes, *, limit: int) -> list[DiffEntry]:
    """Parse `diff-tree -z --raw`."""
    entries: list[DiffEntry] = []
    records = iter(_records(output, limit * 3))
    for record in records:
        old_mode, new_mode, old_oid, new_oid, status = record.decode("ascii").lstrip(":").split(" ")
        old_path = next(records) if status[0] in "RC" else None
        entries.append(DiffEntry(status[0], old_mode, new_mode, old_oid, new_oid, next(records), old_path))
    if len(entries) > limit:
        raise GitError("too_many_entries")
    return entries


def _records(output: bytes, limit: int) -> list[bytes]:
    if output.count(b"\0") > limit:
        raise GitError("too_many_entries")
    return output.split(b"\0")[:-1]


def _headers(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    key = value = b""
    for line in head.split(b"\n"):
        if line.startswith(b" "):
            value += b"\n" + line[1:]
            continue
        if key:
            yield key, value
        key, _, value = line.partition(b" ")
    if key:
        yield key, value


def _parse_signature(text: bytes) -> Signature:
    found = _PERSON.fullmatch(text)
    if found is None:
        raise ValueError("unreadable person line")
    return Signature(found["name"], found["email"], int(found["time"]), found["zone"].decode("ascii"))

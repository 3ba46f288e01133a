"""A pull request's difference: what it adds, line by line, and an id that a restack does not change."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["ChangedFile", "changed_files", "diff_id"]

# No file has more than ten digits of lines; Python refuses to read thousands of digits as a number at all.
_HUNK: Final = re.compile(
    rb"@@ -\d{1,10}(?:,(?P<old>\d{1,10}))? \+(?P<start>\d{1,10})(?:,(?P<new>\d{1,10}))? @@"
)
_MAX_PATH: Final = 4096  # characters; every finding of a file repeats its path
_ESCAPES: Final = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the difference adds lines to.

    Attributes:
        path: in the new tree.
        added: line numbers and texts of the new side.
    """

    path: str
    added: tuple[tuple[int, str], ...]


def changed_files(patch: bytes) -> list[ChangedFile]:
    """The files of a unified diff that have a new side, in its order; a binary file adds no lines."""
    found: list[ChangedFile] = []
    path: str | None = None
    added: list[tuple[int, str]] = []
    for kind, number, line in _walk(patch):
        if kind == "file":
            if path is not None:
                found.append(ChangedFile(path, tuple(added)))
            path, added = None, []
        elif kind == "header" and line.startswith(b"+++ "):
            path = _new_path(line[4:])
        elif kind == "added":
            added.append((number, line.decode("utf-8", "replace")))
    if path is not None:
        found.append(ChangedFile(path, tuple(added)))
    return found


def diff_id(patch: bytes) -> str:
    """An id of what a difference changes, wherever in the files it stands.

    Two differences have the same id if they change the same files in the same way, with the same lines around; where
    the lines stand, and which blobs they are in, does not count.
    """
    digest = hashlib.sha256()
    index = b""
    for kind, _, line in _walk(patch):
        if kind == "hunk":
            digest.update(b"@@\n")
        elif kind == "header" and line.startswith(b"index "):
            index = line
        else:
            if line.startswith(b"Binary files "):  # only the blobs say what changed
                digest.update(index)
            digest.update(kind.encode() + b" " + line + b"\n")
    return digest.hexdigest()


def _walk(patch: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Lines with what they are; the counts in a hunk's header say where it ends, whatever its lines look like."""
    old = new = number = 0
    for line in patch.split(b"\n"):
        if old > 0 or new > 0:
            if line.startswith(b"+"):
                yield "added", number, line[1:]
                new, number = new - 1, number + 1
                continue
            if line.startswith(b"-"):
                yield "removed", 0, line[1:]
                old -= 1
                continue
            if not line.startswith(b"\\"):
                yield "context", number, line[1:]
                old, new, number = old - 1, new - 1, number + 1
                continue
            yield "note", 0, line
            continue
        hunk = _HUNK.match(line)
        if hunk is not None:
            old, new = (int(hunk[name]) if hunk[name] is not None else 1 for name in ("old", "new"))
            number = int(hunk["start"])
            yield "hunk", 0, line
        elif line.startswith(b"diff --git "):
            yield "file", 0, line
        elif line:
            yield "header", 0, line


def _new_path(text: bytes) -> str | None:
    text = text.removesuffix(b"\t")
    if text == b"/dev/null":
        return None
    if text.startswith(b'"') and text.endswith(b'"'):
        text = _unquoted(text[1:-1])
    return text.removeprefix(b"b/").decode("utf-8", "replace")[:_MAX_PATH]


def _unquoted(text: bytes) -> bytes:
    """A name as git quotes it: backslash escapes as in C, and three octal digits for other bytes."""

    def plain(escape: re.Match[bytes]) -> bytes:
        code = escape[1]
        if code.isdigit():
            return bytes([int(code, 8) & 0xFF])
        return bytes([_ESCAPES[code]]) if code in _ESCAPES else code

    return re.sub(rb"\\([0-7]{3}|.)", plain, text, flags=re.DOTALL)

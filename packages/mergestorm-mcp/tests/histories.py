"""Random histories of a branch, and a checkout that has one: shared by the tests that build such histories again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

NAMES = [
    "a",
    "dir/a",
    "dir/b",
    "dir/deep/c",
    'quo"te',
    "line\nbreak",
    "tab\t",
    "日本/ü",
    "-dash",
    " ",
    "back\\slash",
]
CONTENTS = st.sampled_from([
    b"",
    b"one\n",
    b"two\r\n",
    b"\0\1\2",
    b"no line end",
    "ünï".encode(),
    b"x" * 5000,
])
MODES = st.sampled_from(["100644", "100755", "120000"])
PEOPLE = st.sampled_from([
    b"A U Thor <a@example.invalid>",
    b"<nameless@example.invalid>",
    "Åsa Öberg <å@example.invalid>".encode(),
    b"Latin \xe9 <l@example.invalid>",
    b"No Address <>",
    b"Many   Spaces  <s@example.invalid>",
])
TIMES = st.sampled_from([
    b"0 +0000",
    b"1700000000 +0545",
    b"1700000000 -0330",
    b"2147483648 +1400",
    b"1 -0000",
])
MESSAGES = st.sampled_from([
    b"subject\n\nbody\n",
    b"",
    b"no line end",
    b"\n\nleading blank lines\n",
    b"caf\xe9 in latin-1\n",
    b"trailing spaces   \n\n\n",
    "ünï \u202e turned\n".encode(),
    b"parent " + b"0" * 40 + b"\ngpgsig looks like a header\n",
    b"carriage\r\nreturns\r\n",
])
ENCODINGS = st.sampled_from([None, None, b"ISO-8859-1", b"no-such-encoding"])
EDITS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), MODES, CONTENTS),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
)
COMMIT = st.fixed_dictionaries({
    "author": PEOPLE,
    "committer": PEOPLE,
    "written": TIMES,
    "committed": TIMES,
    "message": MESSAGES,
    "encoding": ENCODINGS,
    "edits": st.lists(EDITS, max_size=5),
    "signed": st.sampled_from([False, False, False, True]),
})


def _quoted(path: str) -> bytes:
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def fast_import(commits: list[dict[str, Any]], base: str) -> Iterator[bytes]:
    """The history as a stream for git's own importer; edits that make no sense are left out."""
    yield b"feature done\n"
    files = {"tide.txt"}
    parent = base.encode()
    for number, commit in enumerate(commits, 1):
        yield b"commit refs/heads/topic\nmark :%d\n" % number
        yield b"author " + commit["author"] + b" " + commit["written"] + b"\n"
        yield b"committer " + commit["committer"] + b" " + commit["committed"] + b"\n"
        if commit["encoding"] is not None:
            yield b"encoding " + commit["encoding"] + b"\n"
        yield b"data %d\n" % len(commit["message"]) + commit["message"] + b"\n"
        yield b"from " + parent + b"\n"
        for edit in commit["edits"]:
            match edit:
                case ("put", path, mode, content):
                    if _clashes(path, files):
                        continue
                    files.add(path)
                    yield f"M {mode} inline ".encode() + _quoted(path) + b"\n"
                    yield b"data %d\n" % len(content) + content + b"\n"
                case ("delete", path) if path in files:
                    files.discard(path)
                    yield b"D " + _quoted(path) + b"\n"
                case ("rename", old, new) if old in files and old != new and not _clashes(new, files - {old}):
                    files.discard(old)
                    files.add(new)
                    yield b"R " + _quoted(old) + b" " + _quoted(new) + b"\n"
                case _:
                    pass
        parent = b":%d" % number
    yield b"done\n"


def _clashes(path: str, files: set[str]) -> bool:
    return any(other.startswith(path + "/") or path.startswith(other + "/") for other in files)


def sign(checkout: Any, commits: list[dict[str, Any]], base: str) -> None:
    """Give the commits that want one a signature header, and all later ones the new parent."""
    ids = checkout.git("rev-list", "--reverse", f"{base}..topic").split()
    parent = base
    for oid, commit in zip(ids, commits, strict=True):
        raw = checkout.git_bytes("cat-file", "commit", oid)
        head, _, message = raw.partition(b"\n\n")
        lines = head.split(b"\n")
        lines[1] = b"parent " + parent.encode()
        if commit["signed"]:
            lines += [
                b"gpgsig -----BEGIN PGP SIGNATURE-----",
                b" ",
                b" c2lnbmVk",
                b" -----END PGP SIGNATURE-----",
            ]
        signed = b"\n".join(lines) + b"\n\n" + message
        parent = checkout.git("hash-object", "-w", "-t", "commit", "--stdin", data=signed)
    checkout.git("update-ref", "refs/heads/topic", parent)


HISTORIES = st.lists(COMMIT, min_size=1, max_size=4)
"""Commits for `write_history`."""


def write_history(checkout: Any, commits: list[dict[str, Any]], base: str) -> None:
    """Give a checkout the branch `topic` with these commits upon `base`."""
    checkout.git("fast-import", "--quiet", data=b"".join(fast_import(commits, base)))
    if any(commit["signed"] for commit in commits):
        sign(checkout, commits, base)

"""Any history that may be published is built again from its request alone: identical trees, and identical commit ids
up to the first signature; from there on the ids that were foretold."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows cannot express some of the names"),
]

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
COMMITS = st.fixed_dictionaries({
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


def _fast_import(commits: list[dict[str, Any]], base: str) -> Iterator[bytes]:
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


def _sign(checkout: Any, commits: list[dict[str, Any]], base: str) -> None:
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


@pytest.fixture
def repositories(
    tmp_path: Path, make_checkout: Callable[..., Any]
) -> Callable[[list[dict[str, Any]]], tuple[Any, Environment]]:
    """`repositories(commits)` makes a checkout with that history on topic, and the environment to publish it in."""
    serial = itertools.count()

    def made(commits: list[dict[str, Any]]) -> tuple[Any, Environment]:
        place = tmp_path / f"work-{next(serial)}"
        checkout = make_checkout(place)
        base = checkout.commit({"tide.txt": b"low\n"})
        checkout.git("fast-import", "--quiet", data=b"".join(_fast_import(commits, base)))
        if any(commit["signed"] for commit in commits):
            _sign(checkout, commits, base)
        return checkout, Environment({}, str(tmp_path / "home"), str(place))

    return made


@given(commits=st.lists(COMMITS, min_size=1, max_size=4))
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_history_is_built_again_bit_by_bit(
    repositories: Any, rebuild: Any, commits: list[dict[str, Any]]
) -> None:
    checkout, environment = repositories(commits)
    request = PublishRequest(owner="kestrel-labs", repo="tidepool", branch="topic")
    made = prepare_publication(environment, request)
    rebuilt = rebuild(checkout, made.body)
    originals = checkout.git("rev-list", "--reverse", "main..topic").split()
    assert rebuilt.trees == [checkout.git("rev-parse", f"{oid}^{{tree}}") for oid in originals]
    assert rebuilt.commits == [copy.oid for copy in made.made]
    unsigned = list(itertools.takewhile(lambda commit: not commit["signed"], commits))
    assert rebuilt.commits[: len(unsigned)] == originals[: len(unsigned)]
    assert [copy.original.signed for copy in made.made] == [commit["signed"] for commit in commits]
    if len(unsigned) < len(commits):
        assert not set(rebuilt.commits[len(unsigned) :]) & set(originals)

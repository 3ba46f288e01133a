"""What a publication carries: every kind of change, sized before it is read, and the words of the pull request."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Any

import pytest

from mcpkit.git import BlobReader
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.publication.limits import MAX_FILE_BYTES, MAX_PATHS, MAX_TOTAL_BYTES
from mergestorm_mcp.publication.publish import Publication, PublishRequest, prepare_publication


@pytest.fixture
def prepared(environment: Environment) -> Callable[..., Publication]:
    def run(**request: Any) -> Publication:
        return prepare_publication(environment, PublishRequest(**request))

    return run


@pytest.fixture
def refusal(environment: Environment) -> Callable[..., str | None]:
    def run(**request: Any) -> str | None:
        with pytest.raises(CommandError) as refused:
            prepare_publication(environment, PublishRequest(**request))
        assert refused.value.exit_code == 2
        return refused.value.code

    return run


def test_each_kind_of_change_is_a_put_or_a_delete(checkout: Any, prepared: Any, rebuild: Any) -> None:
    checkout.commit({"gone": b"x\n", "moved": b"same\n", "run": b"#!/bin/sh\n", "swap": b"s\n"}, "base")
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    checkout.git("mv", "moved", "here")
    checkout.git("update-index", "--chmod=+x", "run")
    blob = checkout.git("hash-object", "-w", "--stdin", data=b"tide.txt")
    checkout.git("update-index", "--add", "--cacheinfo", f"120000,{blob},link")
    checkout.git("rm", "--quiet", "--cached", "gone", "swap")
    checkout.git("update-index", "--add", "--cacheinfo", f"100644,{blob},swap/inner")
    checkout.git("commit", "--quiet", "-m", "all of it")
    made = prepared()
    changes = {change["path"]: change for change in made.body["commits"][0]["changes"]}
    same = checkout.git("rev-parse", "HEAD:here")
    assert changes == {
        "moved": {"path": "moved", "op": "delete"},
        "here": {"path": "here", "op": "put", "mode": "100644", "blob": same},
        "run": {
            "path": "run",
            "op": "put",
            "mode": "100755",
            "blob": checkout.git("rev-parse", "HEAD:run"),
        },
        "link": {"path": "link", "op": "put", "mode": "120000", "blob": blob},
        "gone": {"path": "gone", "op": "delete"},
        "swap": {"path": "swap", "op": "delete"},
        "swap/inner": {"path": "swap/inner", "op": "put", "mode": "100644", "blob": blob},
    }
    assert rebuild(checkout, made.body).commits == [made.body["head_sha"]]


def test_a_content_is_sent_once(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"same\n", "b": b"same\n"})
    checkout.commit({"c": b"same\n"})
    blobs = prepared().body["blobs"]
    assert [base64.b64decode(blob["base64"]) for blob in blobs.values()] == [b"same\n"]


def test_contents_come_from_the_commits_and_not_from_the_work_tree(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"committed\n"})
    (checkout.path / "a").write_bytes(b"not committed\n")
    made = prepared()
    assert [base64.b64decode(blob["base64"]) for blob in made.body["blobs"].values()] == [b"committed\n"]
    assert made.dirty is True


@pytest.mark.parametrize("left", ["nothing", "an untracked file", "an ignored file"])
def test_what_is_not_committed_is_told(checkout: Any, prepared: Any, left: str) -> None:
    checkout.commit({"a": b"1\n", ".gitignore": b"*.log\n"})
    if left == "an untracked file":
        (checkout.path / "forgotten").write_bytes(b"x")
    if left == "an ignored file":
        (checkout.path / "x.log").write_bytes(b"x")
    assert prepared().dirty is (left == "an untracked file")


def test_a_submodule_that_changes_is_refused_and_one_that_stays_is_not(
    checkout: Any, prepared: Any, refusal: Any, rebuild: Any
) -> None:
    one, other = checkout.git("rev-parse", "main"), "1" * 40
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{one},vendor")
    checkout.git("commit", "--quiet", "-m", "a submodule")
    assert refusal() == "submodule"
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    checkout.git(
        "update-index", "--add", "--cacheinfo", f"100644,{checkout.git('rev-parse', 'HEAD:tide.txt')},b"
    )
    checkout.git("commit", "--quiet", "-m", "beside it")
    made = prepared()
    assert rebuild(checkout, made.body).trees == [made.body["tree_sha"]]
    checkout.git("update-index", "--cacheinfo", f"160000,{other},vendor")
    checkout.git("commit", "--quiet", "-m", "moved")
    assert refusal() == "submodule"
    checkout.git("rm", "--quiet", "--cached", "vendor")
    checkout.git("commit", "--quiet", "-m", "removed")
    assert refusal() == "submodule"


@pytest.mark.parametrize("name", [b"caf\xe9", b".GIT/x", b"a/.git/config", b"GIT~1/x", b"a/../b", b"./a"])
def test_names_that_github_does_not_take_are_refused(checkout: Any, refusal: Any, name: bytes) -> None:
    _commit_tree(checkout, name)
    assert refusal() == "bad_path"


def _commit_tree(checkout: Any, path: bytes) -> None:
    """Commit a tree as a hostile repository could hold it, with no check of its names."""
    blob = checkout.git("rev-parse", "HEAD:tide.txt")
    *parents, name = path.split(b"/")
    entry = b"100644 " + name + b"\0" + bytes.fromhex(blob)
    tree = ""
    for part in (*reversed(parents), None):
        tree = checkout.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=entry)
        if part is not None:
            entry = b"40000 " + part + b"\0" + bytes.fromhex(tree)
    commit = checkout.git("commit-tree", tree, "-p", "HEAD", "-m", "odd names")
    checkout.git("update-ref", "refs/heads/topic", commit)


@pytest.mark.parametrize(
    "name",
    ['quo"te', "tab\tand\nline", "ünïcode/日本", "-dash", ":(glob)*", "back\\slash", "gitmodules", " "],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot express these names")
def test_unusual_names_are_published(checkout: Any, prepared: Any, rebuild: Any, name: str) -> None:
    tip = checkout.commit({name: b"odd\n"})
    made = prepared()
    assert [change["path"] for change in made.body["commits"][0]["changes"]] == [name]
    assert rebuild(checkout, made.body).commits == [tip]


def test_a_file_at_the_limit_is_published_and_one_byte_more_is_not(
    checkout: Any, prepared: Any, refusal: Any
) -> None:
    checkout.commit({"big": b"\0" * MAX_FILE_BYTES})
    assert [blob["size"] for blob in prepared().body["blobs"].values()] == [MAX_FILE_BYTES]
    checkout.commit({"big": b"\0" * (MAX_FILE_BYTES + 1)})
    assert refusal() == "file_too_large"


def test_the_sum_of_different_contents_is_limited(checkout: Any, prepared: Any, refusal: Any) -> None:
    quarter = MAX_TOTAL_BYTES // 4
    checkout.commit({f"{n}": bytes([n]) * quarter for n in range(4)})
    checkout.commit({"again": bytes([1]) * quarter})
    assert sum(blob["size"] for blob in prepared().body["blobs"].values()) == MAX_TOTAL_BYTES
    checkout.commit({"more": b"x"})
    assert refusal() == "payload_too_large"


def test_paths_are_counted_once_over_all_commits(checkout: Any, prepared: Any, refusal: Any) -> None:
    checkout.commit({f"d/{n}": b"1" for n in range(MAX_PATHS)})
    checkout.commit({f"d/{n}": b"2" for n in range(MAX_PATHS)})
    assert len(prepared().body["commits"][1]["changes"]) == MAX_PATHS
    checkout.commit({"one more": b"1"})
    assert refusal() == "too_many_paths"


def test_one_commit_of_far_too_many_paths_is_refused(checkout: Any, refusal: Any) -> None:
    checkout.commit({f"d/{n}": b"1" for n in range(MAX_PATHS + 200)})
    assert refusal() == "too_many_paths"


def test_nothing_is_read_before_all_limits_are_checked(
    checkout: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.commit({"a": b"1\n", "b": b"2\n", "big": b"\0" * (MAX_FILE_BYTES + 1)})
    asked: list[str | None] = []
    real = BlobReader.read_many

    def watched(reader: BlobReader, oids: Any, **options: Any) -> Any:
        asked.append(options.get("expect"))
        return real(reader, oids, **options)

    monkeypatch.setattr(BlobReader, "read_many", watched)
    assert refusal() == "file_too_large"
    assert asked == ["commit"]


def test_a_message_of_megabytes_is_refused(checkout: Any, refusal: Any) -> None:
    commit = checkout.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", data=b"word " * 100_000)
    checkout.git("update-ref", "refs/heads/topic", commit)
    assert refusal() == "payload_too_large"


def test_a_commit_that_is_not_well_formed_is_refused(checkout: Any, refusal: Any) -> None:
    raw = checkout.git("cat-file", "commit", "HEAD").encode()
    parent = checkout.git("rev-parse", "HEAD")
    lines = raw.split(b"\n")
    broken = b"\n".join([lines[0], f"parent {parent}".encode(), b"author nobody", *lines[2:]])
    commit = checkout.git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", data=broken)
    checkout.git("update-ref", "refs/heads/topic", commit)
    assert refusal() == "unverifiable_commit"


def test_an_object_that_is_missing_is_refused_and_not_fetched(checkout: Any, refusal: Any) -> None:
    checkout.commit({"a": b"will be gone\n"})
    blob = checkout.git("rev-parse", "HEAD:a")
    (checkout.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert refusal() == "usage"


def test_the_pull_request_takes_its_words_from_the_newest_commit(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"}, "older")
    checkout.commit({"a": b"2\n"}, "Raise the tide\n\nIt was low.\n\nFixes #12\n")
    body = prepared().body
    assert (body["title"], body["body"]) == ("Raise the tide", "It was low.\n\nFixes #12")
    body = prepared(title=" Other ", body="Mine").body
    assert (body["title"], body["body"]) == ("Other", "Mine")
    assert prepared(body="").body["body"] == ""


def test_a_commit_without_words_takes_the_branch_s_name(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("commit", "--quiet", "--amend", "--allow-empty-message", "-m", "")
    assert prepared().body["title"] == "topic"


def test_words_in_another_encoding_are_read_and_hidden_characters_dropped(
    checkout: Any, prepared: Any
) -> None:
    checkout.commit({"a": b"1\n"})
    commit = checkout.git(
        "-c", "i18n.commitEncoding=ISO-8859-1", "commit-tree", "HEAD^{tree}", "-p", "main",
        data="Größe\x1b[31m\n\nStraße".encode("latin-1"),
    )  # fmt: skip
    checkout.git("update-ref", "refs/heads/topic", commit)
    body = prepared().body
    assert (body["title"], body["body"]) == ("Größe", "Straße")


def test_only_what_was_asked_for_is_sent(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"})
    assert not {"auto_land", "replace_head"} & set(prepared().body)
    body = prepared(auto_land=False, replace_head="A" * 40).body
    assert (body["auto_land"], body["replace_head"]) == (False, "a" * 40)

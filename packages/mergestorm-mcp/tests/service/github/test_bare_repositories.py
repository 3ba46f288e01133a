"""One bare repository: what is written is what git reads, merges are git's, and a moved ref is moved once."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mcpkit.git import GitError
from mergestorm_mcp.service.github.bare import Bare, FileContent, MergeResult
from mergestorm_mcp.service.github.packing import GitObject, object_id
from mergestorm_mcp.service.github.trees import TreeConflict

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def fsck(bare: Bare) -> str:
    done = subprocess.run(
        ["git", "--git-dir", str(bare.path), "fsck", "--strict", "--full", "--no-dangling"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=60,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_files_are_committed_with_their_modes_and_read_again(bare: Bare, first: str) -> None:
    made = bare.commit_files(
        [first],
        {
            "run.sh": FileContent(b"#!/bin/sh\n", "100755"),
            "link": FileContent(b"tide.txt", "120000"),
            "deep/er/file": None,
            "ü/日本": b"\0\1",
        },
        message="more",
        when=NOON,
    )
    modes = {entry.path.decode(): entry.mode for entry in bare.repository.list_tree(made)}
    assert modes == {"run.sh": "100755", "link": "120000", "tide.txt": "100644", "ü/日本": "100644"}
    assert bare.file(made, "ü/日本") == b"\0\1"
    assert bare.file(made, "deep/er/file") is None
    assert bare.file(made, "ü") is None
    assert bare.changed_paths(first, made) == ["deep/er/file", "link", "run.sh", "ü/日本"]
    assert bare.commit(made).subject == "more"
    assert fsck(bare) == ""


def test_a_file_takes_the_place_of_a_directory_and_the_other_way_round(bare: Bare, first: str) -> None:
    file = bare.commit_files([first], {"deep": b"file\n", "deep/er/file": None}, message="file", when=NOON)
    assert bare.files(file) == ["deep", "tide.txt"]
    again = bare.commit_files([file], {"deep/er/file": b"x\n", "deep": None}, message="again", when=NOON)
    assert bare.tree_of(again) == bare.tree_of(first)


def test_names_are_ordered_as_git_orders_them(bare: Bare, first: str) -> None:
    names = ["a", "a.b", "a-b", "a0", "ab/c", "ab.c", "ab-c", "Z", "é"]
    made = bare.commit_files([first], dict.fromkeys(names, b"x\n"), message="names", when=NOON)
    assert set(names) <= set(bare.files(made))
    assert fsck(bare) == ""


def test_all_files_deleted_is_the_empty_tree(bare: Bare, first: str) -> None:
    made = bare.commit_files([first], {"tide.txt": None, "deep/er/file": None}, message="nothing", when=NOON)
    assert bare.tree_of(made) == bare.repository.empty_tree
    assert fsck(bare) == ""


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"nowhere": None}, "absent"),
        ({"nowhere/at/all": None}, "absent"),
        ({"deep/er": None}, "absent"),
        ({"tide.txt/below": None}, "absent"),
        ({"deep": b"file"}, "occupied"),
        ({"tide.txt/below": b"file"}, "occupied"),
    ],
)
def test_a_change_that_does_not_fit_the_tree_is_refused(
    bare: Bare, first: str, files: dict[str, bytes | None], kind: str
) -> None:
    with pytest.raises(TreeConflict) as caught:
        bare.commit_files([first], files, message="no", when=NOON)
    assert caught.value.kind == kind


def test_a_submodule_is_carried_along_and_never_changed(bare: Bare, first: str) -> None:
    entries = bare.repository.list_tree(first)
    listing = b"".join(
        f"{entry.mode} {entry.type} {entry.oid}\t".encode() + entry.path + b"\n"
        for entry in entries
        if b"/" not in entry.path
    )
    listing += b"160000 commit " + b"1" * 40 + b"\tvendor\n"
    tree = bare.repository.run_checked("mktree", "--missing", data=listing).decode().strip()
    commit = bare.commit_tree(tree, [first], message="submodule", when=NOON)
    made = bare.commit_files([commit], {"other": b"x\n"}, message="other", when=NOON)
    assert ("160000", b"vendor") in {(entry.mode, entry.path) for entry in bare.repository.list_tree(made)}
    for files in ({"vendor": None}, {"vendor": b"x"}, {"vendor/file": b"x"}, {"vendor/file": None}):
        with pytest.raises(TreeConflict) as caught:
            bare.commit_files([commit], files, message="no", when=NOON)
        assert caught.value.kind == "submodule"


@pytest.mark.parametrize("size", [0, 1, 15, 16, 2047, 2048, 70_000, 5_000_000])
def test_a_packed_object_of_any_size_is_what_git_names_it(bare: Bare, size: int) -> None:
    item = GitObject("blob", os.urandom(size))
    bare.store([item, item])
    bare.store([item])
    with bare.repository.blobs() as reader:
        assert reader.read(object_id(item)) == item.content


def test_a_branch_moves_only_from_where_it_is_said_to_stand(bare: Bare, first: str) -> None:
    second = bare.commit_files([first], {"a": b"1\n"}, message="second", when=NOON)
    for new, old in ((second, None), (second, second), (None, second)):
        with pytest.raises(GitError) as caught:
            bare.move("main", new, old)
        assert caught.value.kind == "ref_changed"
    assert bare.head("main") == first
    bare.move("main", second, first)
    bare.move("side/way", first, None)
    assert bare.branches() == {"main": second, "side/way": first}
    bare.move("side/way", None, first)
    assert bare.head("side/way") is None


def test_a_merge_has_both_parents_and_both_changes(bare: Bare, first: str) -> None:
    ours = bare.commit_files([first], {"ours": b"x\n"}, message="ours", when=NOON)
    theirs = bare.commit_files([first], {"theirs": b"y\n"}, message="theirs", when=NOON)
    made = bare.merge_commit(ours, theirs, message="Merge", when=NOON)
    assert isinstance(made, str)
    assert bare.commit(made).parents == (ours, theirs)
    assert {"ours", "theirs"} <= set(bare.files(made))
    assert bare.is_ancestor(theirs, made)
    assert not bare.is_ancestor(made, theirs)
    assert [commit.oid for commit in bare.commits_between(first, theirs)] == [theirs]


def test_a_conflict_names_its_paths(bare: Bare, first: str) -> None:
    ours = bare.commit_files([first], {"tide.txt": b"1\nours\n3\n", "n": b"1\n"}, message="ours", when=NOON)
    theirs = bare.commit_files(
        [first], {"tide.txt": b"1\ntheirs\n3\n", "n": b"2\n"}, message="theirs", when=NOON
    )
    assert bare.merge(ours, theirs) == MergeResult(None, ("n", "tide.txt"))
    assert bare.merge_commit(ours, theirs, message="no", when=NOON) == MergeResult(None, ("n", "tide.txt"))
    assert bare.replay([bare.commit(theirs)], ours, when=NOON) == MergeResult(None, ("n", "tide.txt"))


def test_unrelated_histories_do_not_merge(bare: Bare, first: str) -> None:
    other = bare.commit_files([], {"other": b"x\n"}, message="other", when=NOON)
    assert bare.merge(first, other) == MergeResult(None)
    assert bare.merge_base(first, other) is None


def test_commits_are_replayed_with_their_authors_and_messages(bare: Bare, first: str) -> None:
    new_base = bare.commit_files([first], {"base": b"x\n"}, message="base", when=NOON)
    one = bare.commit_files([first], {"one": b"1\n", "tide.txt": b"1\n2\n3\n4\n"}, message="one", when=NOON)
    two = bare.commit_files([one], {"one": b"2\n"}, message="two", when=NOON)
    made = bare.replay(bare.commits_between(first, two), new_base, when=NOON)
    assert isinstance(made, str)
    copies = bare.commits_between(new_base, made)
    assert [commit.subject for commit in copies] == ["one", "two"]
    assert [commit.author for commit in copies] == [bare.commit(oid).author for oid in (one, two)]
    assert bare.file(made, "one") == b"2\n"
    assert bare.file(made, "base") == b"x\n"
    assert bare.patch(new_base, made) == bare.patch(first, two)
    assert bare.line_counts(new_base, made) == (2, 0)


def test_an_unfinished_directory_is_made_anew(tmp_path: Path) -> None:
    for left in ("a.git", ".a.git.new"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "HEAD").write_text("half", encoding="ascii")
    assert Bare.create(tmp_path / "a.git", "trunk").branches() == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.git"]

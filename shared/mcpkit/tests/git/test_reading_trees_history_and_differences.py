"""Reading: what the room answers is what plain git answers, in both object formats and for any name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpkit.git import GitError, Limits, Repository, parse_commit, without_signature

Git = Callable[..., bytes]
CommitFiles = Callable[..., str]

posix_only = pytest.mark.skipif(os.name == "nt", reason="file names of any bytes, links and modes")
any_bytes_in_names = pytest.mark.skipif(
    os.name == "nt" or sys.platform == "darwin", reason="the file system allows only UTF-8 names"
)


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        call()
    assert caught.value.reason
    return caught.value.kind


class TestRevisions:
    def test_branches_tags_and_abbreviations_name_their_commit(
        self, repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        first = commit_files(repository, {"a": b"1"})
        second = commit_files(repository, {"a": b"2"})
        git(repository, "tag", "-a", "v1", "-m", "tag", first)
        opened = Repository.open(repository)
        assert opened.resolve() == opened.resolve("main") == opened.resolve("refs/heads/main") == second
        assert opened.resolve("v1") == opened.resolve("HEAD~1") == opened.resolve("main^") == first
        assert opened.resolve(second[:10]) == opened.resolve(second[:10].upper()) == second
        assert opened.commits_with_prefix(first[:8]) == [first]
        assert opened.refs() == {"refs/heads/main": second}
        assert opened.read_ref("refs/heads/main") == second
        assert opened.read_ref("refs/heads/none") is None
        assert opened.symbolic_ref("HEAD") == "refs/heads/main"
        assert opened.symbolic_ref("refs/remotes/origin/HEAD") is None

    def test_a_name_of_no_commit_is_told(self, repository: Path, git: Git, commit_files: CommitFiles) -> None:
        commit_files(repository, {"a": b"1"})
        blob = git(repository, "rev-parse", "HEAD:a").decode().strip()
        opened = Repository.open(repository)
        for revision in ("none", "v1", "deadbeef", blob, "0" * 40, "HEAD~99", "main@{5}"):
            assert kind_of(lambda revision=revision: opened.resolve(revision)) == "unknown_revision"  # type: ignore[misc]

    @pytest.mark.parametrize(
        "revision",
        [
            "",
            "-n",
            "--all",
            "--output=/etc/x",
            "a..b",
            "a...b",
            "^main",
            ":a",
            ":/fix",
            "HEAD^{/fix}",
            "a b",
            "a\nb",
            "a\0b",
            "x" * 2000,
        ],
    )
    def test_text_that_is_more_than_a_name_never_reaches_git(
        self, sha1_repository: Path, commit_files: CommitFiles, revision: str
    ) -> None:
        commit_files(sha1_repository, {"a": b"1"})
        opened = Repository.open(sha1_repository)
        assert kind_of(lambda: opened.resolve(revision)) == "bad_argument"

    def test_an_abbreviation_that_fits_several_commits_is_ambiguous(
        self, sha1_repository: Path, git: Git
    ) -> None:
        tree = git(sha1_repository, "mktree", data=b"").decode().strip()
        seen: dict[str, bytes] = {}
        number = 0
        while True:  # two ids among some hundreds share four digits
            number += 1
            raw = b"tree %s\nauthor A <a@b> %d +0000\ncommitter A <a@b> 1 +0000\n\nx\n" % (
                tree.encode(),
                number,
            )
            start = hashlib.sha1(b"commit %d\0" % len(raw) + raw).hexdigest()[:4]
            if start in seen:
                break
            seen[start] = raw
        pair = [
            git(sha1_repository, "hash-object", "-t", "commit", "-w", "--stdin", data=one).decode().strip()
            for one in (seen[start], raw)
        ]
        opened = Repository.open(sha1_repository)
        assert opened.commits_with_prefix(start) == sorted(pair)
        assert kind_of(lambda: opened.resolve(start)) == "ambiguous_revision"

    @pytest.mark.parametrize(
        "oid", ["HEAD", "main", "abc123", "-x", "A" * 40, "g" * 40, "0" * 39, "0" * 65, ""]
    )
    def test_plumbing_takes_full_ids_only(
        self, sha1_repository: Path, commit_files: CommitFiles, oid: str
    ) -> None:
        good = commit_files(sha1_repository, {"a": b"1"})
        opened = Repository.open(sha1_repository)
        calls: list[Callable[[], object]] = [
            lambda: opened.list_tree(oid),
            lambda: opened.commit(oid),
            lambda: opened.rev_list([oid]),
            lambda: opened.rev_list([good], exclude=[oid]),
            lambda: opened.merge_bases(good, oid),
            lambda: opened.is_ancestor(oid, good),
            lambda: opened.diff_names(oid, good),
            lambda: opened.diff_patch(good, oid),
        ]
        for call in calls:
            assert kind_of(call) == "bad_argument"

    @pytest.mark.parametrize(
        "ref",
        [
            "main",
            "refs/heads",
            "refs/heads/-a/..",
            "refs/heads/a b",
            "refs//a",
            "refs/heads/a.lock",
            "refs/heads/a^",
        ],
    )
    def test_a_ref_that_git_would_not_store_is_refused(self, sha1_repository: Path, ref: str) -> None:
        opened = Repository.open(sha1_repository)
        assert kind_of(lambda: opened.read_ref(ref)) == "bad_argument"


class TestTrees:
    def test_every_file_is_listed_with_mode_size_and_place(
        self, repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(repository, {"a.md": b"12345", "d/e/f": b"", "d/big": b"x" * 70_000})
        opened = Repository.open(repository)
        entries = opened.list_tree(oid)
        assert [(entry.mode, entry.type, entry.size, entry.path) for entry in entries] == [
            ("100644", "blob", 5, b"a.md"),
            ("100644", "blob", 70_000, b"d/big"),
            ("100644", "blob", 0, b"d/e/f"),
        ]
        assert [entry._replace(size=None) for entry in entries] == opened.list_tree(oid, sizes=False)
        assert [entry.path for entry in opened.list_tree(oid, path=b"d")] == [b"d/big", b"d/e/f"]
        assert opened.list_tree(opened.empty_tree) == []

    @posix_only
    def test_links_and_executables_keep_their_modes(
        self, repository: Path, commit_files: CommitFiles
    ) -> None:
        (repository / "run").write_bytes(b"#!/bin/sh\n")
        (repository / "run").chmod(0o755)
        (repository / "link").symlink_to("/etc/passwd")
        oid = commit_files(repository, {})
        opened = Repository.open(repository)
        assert [(entry.mode, entry.path) for entry in opened.list_tree(oid)] == [
            ("120000", b"link"),
            ("100755", b"run"),
        ]
        with opened.blobs() as reader:
            assert reader.read(opened.list_tree(oid)[0].oid) == b"/etc/passwd"

    @any_bytes_in_names
    def test_names_of_any_bytes_come_through_unchanged(self, repository: Path, git: Git) -> None:
        names = [
            b"\xff\xfe.md",
            b"tab\tnew\nline",
            b'quo"te',
            b"-dash",
            b":(top)x",
            b"*",
            b"\xe2\x80\xae",
            b" lead",
        ]
        for name in names:
            with open(os.path.join(os.fsencode(repository), name), "wb") as stream:
                stream.write(name)
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "-m", "names")
        opened = Repository.open(repository)
        oid = opened.resolve()
        assert sorted(entry.path for entry in opened.list_tree(oid)) == sorted(names)
        for name in names:
            assert [entry.path for entry in opened.list_tree(oid, path=name)] == [name]
            assert opened.is_tracked(name)
            assert [entry.path for entry in opened.diff_names(opened.empty_tree, oid, paths=[name])] == [name]
        assert [entry.path for entry in opened.list_tree(oid, path=b"*")] == [b"*"]

    def test_a_tracked_path_is_recognised_as_file_directory_or_in_other_case(
        self, sha1_repository: Path, commit_files: CommitFiles
    ) -> None:
        first = commit_files(sha1_repository, {"a": b"a"})
        commit_files(sha1_repository, {".ragit/store/x": b"x"})
        opened = Repository.open(sha1_repository)
        assert opened.is_tracked(".ragit/store")
        assert opened.is_tracked(".ragit/store/")
        assert opened.is_tracked(b".ragit/store/x")
        assert not opened.is_tracked(".ragit/sto")
        assert not opened.is_tracked(".RAGIT/Store")
        assert opened.is_tracked(".RAGIT/Store", ignore_case=True)
        assert not opened.is_tracked(".RAGIT/Sto", ignore_case=True)
        assert not opened.is_tracked(".ragit/store", commit=first)

    @pytest.mark.parametrize("path", [b"", b"/etc/passwd", b"a\0b"])
    def test_a_path_that_is_none_below_the_top_is_refused(
        self, sha1_repository: Path, commit_files: CommitFiles, path: bytes
    ) -> None:
        oid = commit_files(sha1_repository, {"a": b"a"})
        opened = Repository.open(sha1_repository)
        assert kind_of(lambda: opened.list_tree(oid, path=path)) == "bad_argument"
        assert kind_of(lambda: opened.diff_patch(oid, oid, paths=[path])) == "bad_argument"

    def test_a_listing_over_its_limit_is_an_error_and_not_a_part(
        self, sha1_repository: Path, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(sha1_repository, {f"f{number}": b"x" for number in range(20)})
        opened = Repository.open(sha1_repository)
        assert len(opened.bounded(limits=Limits(entries=20)).list_tree(oid)) == 20
        assert kind_of(lambda: opened.bounded(limits=Limits(entries=19)).list_tree(oid)) == "too_many_entries"
        assert (
            kind_of(lambda: opened.bounded(limits=Limits(output_bytes=100)).list_tree(oid))
            == "output_too_large"
        )

    def test_what_lies_in_the_work_tree_or_the_index_is_not_seen(
        self, sha1_repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(sha1_repository, {"a": b"a"})
        (sha1_repository / "a").write_bytes(b"changed")
        (sha1_repository / "b").write_bytes(b"new")
        git(sha1_repository, "add", "b")
        (sha1_repository / ".git" / "index").write_bytes(b"rubbish")
        opened = Repository.open(sha1_repository)
        assert [entry.path for entry in opened.list_tree(opened.resolve())] == [b"a"]
        assert b"+a" in opened.diff_patch(opened.empty_tree, oid)
        assert not opened.is_tracked("b")

    def test_replacement_objects_and_grafts_change_nothing(
        self, sha1_repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        first = commit_files(sha1_repository, {"a": b"genuine"})
        second = commit_files(sha1_repository, {"a": b"later"})
        forged = git(sha1_repository, "hash-object", "-w", "--stdin", data=b"forged").decode().strip()
        genuine = git(sha1_repository, "rev-parse", f"{first}:a").decode().strip()
        git(sha1_repository, "replace", genuine, forged)
        (sha1_repository / ".git" / "info" / "grafts").write_text(f"{second}\n", encoding="ascii")
        opened = Repository.open(sha1_repository)
        with opened.blobs() as reader:
            assert reader.read(genuine) == b"genuine"
        assert opened.rev_list([second]) == [(second, (first,)), (first, ())]


class TestHistory:
    @pytest.fixture
    def forked(
        self, repository: Path, git: Git, commit_files: CommitFiles
    ) -> tuple[Repository, dict[str, str]]:
        names = {"root": commit_files(repository, {"a": b"1"}, "root\n\nbody")}
        names["main"] = commit_files(repository, {"a": b"2"}, "on main")
        git(repository, "checkout", "--quiet", "-b", "side", names["root"])
        names["side"] = commit_files(repository, {"b": b"1"}, "on side")
        git(repository, "checkout", "--quiet", "main")
        git(repository, "merge", "--quiet", "--no-ff", "-m", "merged", "side")
        names["merge"] = git(repository, "rev-parse", "HEAD").decode().strip()
        git(repository, "checkout", "--quiet", "--orphan", "island")
        names["island"] = commit_files(repository, {"c": b"1"}, "island")
        return Repository.open(repository), names

    def test_commits_are_listed_with_their_parents(
        self, forked: tuple[Repository, dict[str, str]], git: Git, repository: Path
    ) -> None:
        opened, names = forked
        listed = opened.rev_list([names["merge"]])
        expected = (
            git(repository, "rev-list", "--topo-order", "--parents", names["merge"]).decode().splitlines()
        )
        assert [" ".join([oid, *parents]) for oid, parents in listed] == expected
        assert opened.rev_list([names["merge"]], exclude=[names["main"], names["side"]]) == [
            (names["merge"], (names["main"], names["side"]))
        ]
        assert [
            oid for oid, _ in opened.rev_list([names["merge"]], first_parent=True, oldest_first=True)
        ] == [
            names["root"],
            names["main"],
            names["merge"],
        ]
        assert len(opened.rev_list([names["merge"]], max_count=2)) == 2
        short = opened.bounded(limits=Limits(entries=3))
        assert kind_of(lambda: short.rev_list([names["merge"]])) == "too_many_entries"

    def test_common_ancestors_are_found(self, forked: tuple[Repository, dict[str, str]]) -> None:
        opened, names = forked
        assert opened.merge_base(names["main"], names["side"]) == names["root"]
        assert opened.merge_bases(names["merge"], names["side"]) == [names["side"]]
        assert opened.merge_base(names["main"], names["island"]) is None
        assert opened.is_ancestor(names["root"], names["merge"])
        assert not opened.is_ancestor(names["merge"], names["root"])

    def test_a_commit_is_read_to_the_byte(
        self, forked: tuple[Repository, dict[str, str]], git: Git, repository: Path
    ) -> None:
        opened, names = forked
        found = opened.commit(names["root"])
        assert found.raw == git(repository, "cat-file", "commit", names["root"])
        assert (found.author.name, found.author.email, found.author.time, found.author.zone) == (
            b"A U Thor",
            b"author@example.invalid",
            1700000000,
            "+0200",
        )
        assert (found.committer.time, found.committer.zone) == (1700000001, "-0330")
        assert (found.message, found.subject, found.encoding, found.signed) == (
            b"root\n\nbody\n",
            "root",
            None,
            False,
        )
        assert next(info.subject for info in opened.log(names["merge"], max_count=10)) == "merged"
        assert kind_of(lambda: opened.commit(found.tree)) == "wrong_type"
        blob = opened.list_tree(names["root"])[0].oid
        assert kind_of(lambda: opened.list_tree(blob)) == "wrong_type"

    def test_the_newest_commits_come_first_and_no_more_than_asked_for(
        self, forked: tuple[Repository, dict[str, str]]
    ) -> None:
        opened, names = forked
        listed = list(opened.log(names["merge"], max_count=2, first_parent=True))
        assert [info.oid for info in listed] == [names["merge"], names["main"]]


class TestCommitObjects:
    HEAD = b"tree " + b"1" * 40 + b"\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 -0930\n"

    def test_headers_of_several_lines_are_understood_and_signatures_taken_off(self) -> None:
        signed = (
            self.HEAD
            + b"encoding ISO-8859-1\ngpgsig -----BEGIN\n \n line\n -----END\nmergetag object x\n gpgsig inside\n"
            + b"\nTitle \xe9\n\ngpgsig is a word here\n"
        )
        found = parse_commit("x", signed)
        assert (found.signed, found.encoding, found.subject) == (True, "ISO-8859-1", "Title é")
        assert without_signature(signed) == signed.replace(b"gpgsig -----BEGIN\n \n line\n -----END\n", b"")
        assert not parse_commit("x", without_signature(signed)).signed
        assert without_signature(self.HEAD + b"\nmessage") == self.HEAD + b"\nmessage"

    @pytest.mark.parametrize("message", [b"", b"\n", b"no newline", b"\n\nleading", b"a\0b", b"\xff\xfe"])
    def test_the_message_is_everything_after_the_headers(self, message: bytes) -> None:
        assert parse_commit("x", self.HEAD + b"\n" + message).message == message

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"\n\n",
            b"tree x",
            b"\xff" * 50,
            HEAD.replace(b"author", b"writer"),
            HEAD.replace(b"<a@b>", b""),
        ],
    )
    def test_what_is_no_commit_is_a_coded_error(self, raw: bytes) -> None:
        assert kind_of(lambda: parse_commit("x", raw)) == "bad_object"

    def test_an_unknown_encoding_does_not_hide_the_subject(self) -> None:
        raw = self.HEAD + b"encoding klingon\n\nSubject\n"
        assert parse_commit("x", raw).subject == "Subject"


class TestDifferences:
    @pytest.fixture
    def changed(self, repository: Path, commit_files: CommitFiles) -> tuple[Repository, str, str]:
        text = b"".join(b"line %d\n" % number for number in range(60))
        old = commit_files(
            repository, {"keep": b"k", "edit": text, "gone": b"gone\n", "move": text * 2, "bin": b"\0\1\2"}
        )
        (repository / "gone").unlink()
        (repository / "move").rename(repository / "moved")
        new = commit_files(
            repository, {"edit": text.replace(b"line 30\n", b"LINE\n"), "new/ü": b"n", "bin": b"\0\1\3"}
        )
        return Repository.open(repository), old, new

    def test_changed_paths_are_listed_with_their_kind(self, changed: tuple[Repository, str, str]) -> None:
        opened, old, new = changed
        entries = opened.diff_names(old, new)
        assert {entry.path: entry.status for entry in entries} == {
            b"bin": "M",
            b"edit": "M",
            b"gone": "D",
            b"move": "D",
            b"moved": "A",
            "new/ü".encode(): "A",
        }
        added = next(entry for entry in entries if entry.path == b"moved")
        assert (added.old_mode, added.new_mode, set(added.old_oid)) == ("000000", "100644", {"0"})
        renamed = [entry for entry in opened.diff_names(old, new, find_renames=True) if entry.status == "R"]
        assert [(entry.old_path, entry.path) for entry in renamed] == [(b"move", b"moved")]

    def test_a_patch_is_what_plain_git_shows(
        self, changed: tuple[Repository, str, str], git: Git, repository: Path
    ) -> None:
        opened, old, new = changed
        plain = git(repository, "-c", "core.quotePath=false", "diff", old, new)
        assert opened.diff_patch(old, new) == plain
        assert opened.diff_patch(opened.empty_tree, old) == git(repository, "diff", opened.empty_tree, old)
        assert opened.diff_patch(old, old) == b""
        some = opened.diff_patch(old, new, paths=[b"edit", b"new"], context=0)
        assert some == git(
            repository, "-c", "core.quotePath=false", "diff", "-U0", old, new, "--", "edit", "new"
        )

    def test_no_paths_means_no_difference_and_many_paths_are_all_compared(
        self, sha1_repository: Path, commit_files: CommitFiles
    ) -> None:
        names = {f"{'deep/' * 10}file-{number:04}": b"x\n" for number in range(1200)}
        oid = commit_files(sha1_repository, names)
        opened = Repository.open(sha1_repository)
        paths = [name.encode() for name in names]
        assert opened.diff_names(opened.empty_tree, oid, paths=[]) == []
        assert [entry.path for entry in opened.diff_names(opened.empty_tree, oid, paths=paths)] == sorted(
            paths
        )
        assert opened.diff_patch(opened.empty_tree, oid, paths=paths).count(b"diff --git ") == 1200

    def test_differences_over_their_limits_are_errors(self, changed: tuple[Repository, str, str]) -> None:
        opened, old, new = changed
        few = opened.bounded(limits=Limits(entries=2))
        assert kind_of(lambda: few.diff_names(old, new)) == "too_many_entries"
        small = opened.bounded(limits=Limits(output_bytes=50))
        assert kind_of(lambda: small.diff_patch(old, new)) == "output_too_large"


class TestConfiguration:
    def test_a_value_is_read_as_data(self, sha1_repository: Path, git: Git) -> None:
        git(sha1_repository, "config", "remote.origin.url", "https://example.invalid/ü.git")
        opened = Repository.open(sha1_repository)
        assert opened.config_value("remote.origin.url") == "https://example.invalid/ü.git"
        assert opened.config_value("remote.other.url") is None

    @pytest.mark.parametrize("key", ["", "x", "--list", "core", "a.b\nc", "-a.b"])
    def test_what_is_no_key_is_refused(self, sha1_repository: Path, key: str) -> None:
        opened = Repository.open(sha1_repository)
        assert kind_of(lambda: opened.config_value(key)) == "bad_argument"


def test_objects_that_are_missing_are_told_by_every_call(
    sha1_repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    old = commit_files(sha1_repository, {"a": b"1\n"})
    new = commit_files(sha1_repository, {"a": b"2\n"})
    blob = git(sha1_repository, "rev-parse", "HEAD:a").decode().strip()
    (sha1_repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    opened = Repository.open(sha1_repository)
    assert [(entry.oid, entry.size) for entry in opened.list_tree(new)] == [(blob, None)]
    with opened.blobs() as reader:
        assert kind_of(lambda: reader.read(blob)) == "missing_object"
        assert kind_of(lambda: reader.header(blob)) == "missing_object"
    assert kind_of(lambda: opened.diff_patch(old, new)) == "missing_object"
    (sha1_repository / ".git" / "objects" / old[:2] / old[2:]).unlink()
    assert kind_of(lambda: opened.rev_list([new])) == "missing_object"
    assert kind_of(lambda: opened.commit(old)) == "missing_object"
    assert kind_of(lambda: opened.list_tree(old)) == "missing_object"


def test_an_error_tells_a_client_neither_path_nor_revision(sha1_repository: Path) -> None:
    opened = Repository.open(sha1_repository)
    with pytest.raises(GitError) as caught:
        opened.resolve("canary-revision")
    with pytest.raises(GitError) as missing:
        opened.list_tree("0" * 39 + "1")
    for error in (caught.value, missing.value):
        assert "canary" not in str(error) + error.reason
        assert str(sha1_repository) not in str(error) + error.reason


def test_gitpython_is_imported_when_git_is_first_started_and_not_before(sha1_repository: Path) -> None:
    script = (
        "import sys, mcpkit.git, mcpkit.git.writing, mcpkit.threads;"
        "print([m for m in ('git', 'anyio', 'asyncio', 'fastmcp') if m in sys.modules]);"
        "mcpkit.git.discover(sys.argv[1]); print('git' in sys.modules);"
        "mcpkit.git.Repository.open(sys.argv[1]); print('git' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, str(sha1_repository)], capture_output=True, check=True, timeout=60
    )
    assert answer.stdout.split() == [b"[]", b"False", b"True"]


def test_a_reader_cannot_reach_the_writing_module() -> None:
    script = "import sys, mcpkit.git; print('mcpkit.git.writing' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert answer.stdout.strip() == b"False"

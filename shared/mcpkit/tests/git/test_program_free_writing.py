"""Writing objects and refs: bit for bit what was given, and never over somebody else's change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpkit.git import GitError, Repository, Signature
from mcpkit.git.writing import TreeFile, Writer

Git = Callable[..., bytes]
CommitFiles = Callable[..., str]

PERSON = Signature(b"A U Thor", b"author@example.invalid", 1700000000, "+0200")
OTHER = Signature("Ünï".encode("latin-1"), b"", 5, "-0330")


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        call()
    return caught.value.kind


@pytest.mark.parametrize("data", [b"", b"text\n", b"crlf\r\n", b"\0\xff" * 1000, b"x" * 3_000_000])
def test_a_blob_is_stored_byte_for_byte(repository: Path, git: Git, data: bytes) -> None:
    (repository / ".gitattributes").write_text("* text=auto eol=crlf ident\n", encoding="ascii")
    opened = Repository.open(repository)
    oid = Writer(opened).write_blob(data)
    assert git(repository, "cat-file", "blob", oid) == data


class TestTrees:
    def test_a_tree_rebuilt_from_its_listing_has_the_same_id(
        self, repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(
            repository,
            {"a": b"1", "a.b": b"2", "a-b/c": b"3", "a0": b"4", "d/e/f/g": b"5", "d/e.x": b"6", "d/é": b"7"},
        )
        if os.name != "nt":
            (repository / "link").symlink_to("a")
            (repository / "a").chmod(0o755)
            oid = commit_files(repository, {})
        opened = Repository.open(repository)
        files = [TreeFile(entry.mode, entry.oid, entry.path) for entry in reversed(opened.list_tree(oid))]
        assert Writer(opened).write_tree(files) == opened.commit(oid).tree
        assert Writer(opened).write_tree([]) == opened.empty_tree

    def test_a_submodule_is_kept_without_its_commit(self, sha1_repository: Path) -> None:
        opened = Repository.open(sha1_repository)
        tree = Writer(opened).write_tree([TreeFile("160000", "1" * 40, b"module")])
        assert [(entry.mode, entry.oid) for entry in opened.list_tree(tree)] == [("160000", "1" * 40)]

    @pytest.mark.parametrize(
        "path", [b"", b"/a", b"a/", b"a//b", b".", b"..", b"a/../b", b".git/x", b"a/.GIT/config", b"a\0b"]
    )
    def test_a_path_that_would_be_dangerous_to_check_out_is_refused(
        self, sha1_repository: Path, path: bytes
    ) -> None:
        writer = Writer(Repository.open(sha1_repository))
        oid = writer.write_blob(b"x")
        assert kind_of(lambda: writer.write_tree([TreeFile("100644", oid, path)])) == "bad_argument"

    def test_contradictions_are_refused(self, sha1_repository: Path) -> None:
        writer = Writer(Repository.open(sha1_repository))
        oid = writer.write_blob(b"x")
        for files in (
            [TreeFile("100644", oid, b"a"), TreeFile("100755", oid, b"a")],
            [TreeFile("100644", oid, b"a"), TreeFile("100644", oid, b"a/b")],
            [TreeFile("040000", oid, b"a")],
            [TreeFile("100644", oid[:10], b"a")],
        ):
            assert kind_of(lambda files=files: writer.write_tree(files)) == "bad_argument"  # type: ignore[misc]

    def test_a_blob_that_was_not_stored_is_missed(self, sha1_repository: Path) -> None:
        writer = Writer(Repository.open(sha1_repository))
        assert kind_of(lambda: writer.write_tree([TreeFile("100644", "1" * 40, b"a")])) == "missing_object"
        tree = writer.write_tree([])
        assert kind_of(lambda: writer.write_tree([TreeFile("100644", tree, b"a")])) == "wrong_type"

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        paths=st.sets(
            st.lists(
                st.binary(min_size=1, max_size=6).filter(
                    lambda part: (
                        not set(part) & set(b"/\0") and part not in {b".", b".."} and part.lower() != b".git"
                    )
                ),
                min_size=1,
                max_size=3,
            ).map(b"/".join),
            max_size=15,
        )
    )
    def test_any_set_of_paths_comes_back_from_the_tree(
        self, sha1_repository: Path, paths: set[bytes]
    ) -> None:
        kept = {path for path in paths if not any(other.startswith(path + b"/") for other in paths)}
        opened = Repository.open(sha1_repository)
        writer = Writer(opened)
        blob = writer.write_blob(b"x")
        tree = writer.write_tree([TreeFile("100644", blob, path) for path in kept])
        assert {entry.path for entry in opened.list_tree(tree)} == kept


class TestCommits:
    def test_a_commit_rebuilt_from_its_parts_has_the_same_id(
        self, repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        commit_files(repository, {"a": b"1"})
        oid = commit_files(repository, {"a": b"2"}, "subject\n\nbody")
        opened = Repository.open(repository)
        found = opened.commit(oid)
        rebuilt = Writer(opened).commit_tree(
            found.tree,
            parents=found.parents,
            author=found.author,
            committer=found.committer,
            message=found.message,
            encoding=found.encoding,
        )
        assert rebuilt == oid
        assert Writer(opened).write_commit(found.raw) == oid

    @pytest.mark.parametrize(
        "message", [b"", b"no newline at the end", b"\n\n", b"\xff\xfe\n", b"# comment\n"]
    )
    def test_the_message_is_stored_byte_for_byte(self, sha1_repository: Path, message: bytes) -> None:
        opened = Repository.open(sha1_repository)
        writer = Writer(opened)
        tree = writer.write_tree([])
        oid = writer.commit_tree(tree, author=PERSON, committer=OTHER, message=message, encoding="ISO-8859-1")
        found = opened.commit(oid)
        assert (found.message, found.author, found.committer, found.encoding, found.parents) == (
            message,
            PERSON,
            OTHER,
            "ISO-8859-1",
            (),
        )

    @pytest.mark.parametrize(
        "person",
        [
            Signature(b"a\nb", b"", 1, "+0000"),
            Signature(b"a", b"b>", 1, "+0000"),
            Signature(b"a<", b"b", 1, "+0000"),
            Signature(b"a\0", b"b", 1, "+0000"),
            Signature(b"a", b"b", 1, "UTC"),
            Signature(b"a", b"b", 1, "+0000\nparent x"),
        ],
    )
    def test_a_person_that_would_break_the_header_is_refused(
        self, sha1_repository: Path, person: Signature
    ) -> None:
        writer = Writer(Repository.open(sha1_repository))
        tree = writer.write_tree([])
        for author, committer in ((person, PERSON), (PERSON, person)):
            assert (
                kind_of(
                    lambda author=author, committer=committer: writer.commit_tree(  # type: ignore[misc]
                        tree, author=author, committer=committer, message=b""
                    )
                )
                == "bad_argument"
            )

    def test_what_a_commit_names_must_be_there_and_of_the_right_type(self, sha1_repository: Path) -> None:
        writer = Writer(Repository.open(sha1_repository))
        tree, blob = writer.write_tree([]), writer.write_blob(b"x")

        def commit(tree: str, parents: list[str]) -> str:
            return writer.commit_tree(tree, parents=parents, author=PERSON, committer=PERSON, message=b"m")

        assert kind_of(lambda: commit("1" * 40, [])) == "missing_object"
        assert kind_of(lambda: commit(blob, [])) == "wrong_type"
        assert kind_of(lambda: commit(tree, ["1" * 40])) == "missing_object"
        assert kind_of(lambda: commit(tree, [tree])) == "wrong_type"
        assert kind_of(lambda: writer.write_commit(b"rubbish")) == "bad_object"


class TestRefs:
    @pytest.fixture
    def commits(self, repository: Path, commit_files: CommitFiles) -> tuple[Repository, str, str]:
        first, second = commit_files(repository, {"a": b"1"}), commit_files(repository, {"a": b"2"})
        return Repository.open(repository), first, second

    def test_a_ref_is_created_moved_and_deleted_only_from_the_expected_value(
        self, commits: tuple[Repository, str, str]
    ) -> None:
        opened, first, second = commits
        writer, ref = Writer(opened), "refs/heads/topic"
        assert kind_of(lambda: writer.update_ref(ref, second, first)) == "ref_changed"
        writer.update_ref(ref, first, None)
        assert kind_of(lambda: writer.update_ref(ref, second, None)) == "ref_changed"
        assert kind_of(lambda: writer.update_ref(ref, first, second)) == "ref_changed"
        writer.update_ref(ref, second, first)
        assert opened.read_ref(ref) == second
        assert kind_of(lambda: writer.delete_ref(ref, first)) == "ref_changed"
        writer.delete_ref(ref, second)
        assert opened.read_ref(ref) is None

    def test_a_ref_never_names_what_is_not_there(self, commits: tuple[Repository, str, str]) -> None:
        opened, first, _ = commits
        missing = "1" * len(first)
        assert kind_of(lambda: Writer(opened).update_ref("refs/heads/x", missing, None)) in {
            "missing_object",
            "git_failed",
        }
        assert opened.read_ref("refs/heads/x") is None

    @pytest.mark.parametrize(
        "ref", ["HEAD", "main", "-d", "refs/heads/../x", "refs/heads/x\n", "refs/heads/x y"]
    )
    def test_only_full_ref_names_are_moved(self, commits: tuple[Repository, str, str], ref: str) -> None:
        opened, first, _ = commits
        assert kind_of(lambda: Writer(opened).update_ref(ref, first, None)) == "bad_argument"

    def test_a_lock_held_by_another_is_an_error_and_changes_nothing(
        self, commits: tuple[Repository, str, str], repository: Path
    ) -> None:
        opened, first, second = commits
        (repository / ".git" / "refs" / "heads" / "main.lock").touch()
        assert kind_of(lambda: Writer(opened).update_ref("refs/heads/main", first, second)) == "git_failed"
        assert opened.read_ref("refs/heads/main") == second

    def test_of_many_who_move_a_ref_at_once_exactly_one_succeeds(
        self, commits: tuple[Repository, str, str]
    ) -> None:
        opened, first, second = commits
        writer = Writer(opened)
        outcomes: list[str] = []

        def attempt() -> None:
            try:
                writer.update_ref("refs/heads/main", first, second)
                outcomes.append("moved")
            except GitError as error:
                outcomes.append(error.kind)

        threads = [threading.Thread(target=attempt) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert outcomes.count("moved") == 1
        assert set(outcomes) <= {"moved", "ref_changed", "git_failed"}
        assert opened.read_ref("refs/heads/main") == first

"""Finding a repository: by looking only, with every layout git has, and never somebody else's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpkit.git import GitError, Repository, discover

Git = Callable[..., bytes]
CommitFiles = Callable[..., str]

posix_only = pytest.mark.skipif(os.name == "nt", reason="makes symbolic links")


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        call()
    return caught.value.kind


def test_a_repository_is_found_from_any_place_in_its_work_tree(
    repository: Path, commit_files: CommitFiles
) -> None:
    oid = commit_files(repository, {"docs/deep/a.md": b"a"})
    for place in (repository, repository / "docs" / "deep", repository / "docs" / "deep" / "a.md"):
        opened = Repository.open(place)
        assert opened.layout.kind == "main"
        assert opened.layout.work_tree == os.path.realpath(repository)
        assert opened.layout.git_dir == opened.layout.common_dir == os.path.realpath(repository / ".git")
        assert opened.head().oid == oid
        assert opened.object_format == ("sha256" if len(oid) == 64 else "sha1")
        assert not opened.shallow


def test_a_directory_outside_any_repository_is_told(tmp_path: Path) -> None:
    assert kind_of(lambda: Repository.open(tmp_path)) == "not_a_repository"
    assert kind_of(lambda: Repository.open(tmp_path / "none" / "none")) == "not_a_repository"


def test_a_directory_named_git_that_is_none_is_passed_over(
    sha1_repository: Path, commit_files: CommitFiles
) -> None:
    commit_files(sha1_repository, {"sub/a": b"a"})
    (sha1_repository / "sub" / ".git").mkdir()
    assert discover(sha1_repository / "sub").work_tree == os.path.realpath(sha1_repository)


def test_head_before_the_first_commit_is_unborn(repository: Path) -> None:
    opened = Repository.open(repository)
    head = opened.head()
    assert (head.oid, head.ref, head.branch, head.unborn, head.detached) == (
        None,
        "refs/heads/main",
        "main",
        True,
        False,
    )
    assert kind_of(opened.resolve) == "unborn_head"
    assert not opened.is_tracked("a.md")


def test_a_detached_head_has_no_branch(repository: Path, git: Git, commit_files: CommitFiles) -> None:
    oid = commit_files(repository, {"a": b"a"})
    git(repository, "checkout", "--quiet", "--detach")
    head = Repository.open(repository).head()
    assert (head.oid, head.ref, head.branch, head.detached, head.unborn) == (oid, None, None, True, False)


def test_a_linked_worktree_shares_objects_and_has_its_own_head(
    repository: Path, tmp_path: Path, git: Git, commit_files: CommitFiles
) -> None:
    first = commit_files(repository, {"a": b"a"})
    git(repository, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    second = commit_files(tmp_path / "linked", {"b": b"b"})
    opened = Repository.open(tmp_path / "linked")
    assert opened.layout.kind == "linked_worktree"
    assert opened.layout.linked_back
    assert opened.layout.work_tree == os.path.realpath(tmp_path / "linked")
    assert opened.layout.common_dir == os.path.realpath(repository / ".git")
    assert opened.head().branch == "other"
    assert opened.resolve("main") == first
    assert opened.resolve() == second
    assert Repository.open(repository).resolve() == first
    assert opened.rev_list([second], exclude=[first]) == [(second, (first,))]


def test_a_submodule_is_told_from_a_linked_worktree(
    sha1_repository: Path, tmp_path: Path, git: Git, commit_files: CommitFiles
) -> None:
    inner = tmp_path / "inner"
    git(tmp_path, "init", "--quiet", "-b", "main", str(inner))
    oid = commit_files(inner, {"a": b"a"})
    git(
        sha1_repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "module",
    )
    outer = commit_files(sha1_repository, {})
    opened = Repository.open(sha1_repository / "module")
    assert opened.layout.kind == "submodule"
    assert opened.resolve() == oid
    links = [entry for entry in Repository.open(sha1_repository).list_tree(outer) if entry.mode == "160000"]
    assert [(link.path, link.type, link.oid, link.size) for link in links] == [
        (b"module", "commit", oid, None)
    ]


def test_a_separate_git_directory_is_followed(tmp_path: Path, git: Git, commit_files: CommitFiles) -> None:
    git(tmp_path, "init", "--quiet", f"--separate-git-dir={tmp_path / 'store'}", str(tmp_path / "tree"))
    oid = commit_files(tmp_path / "tree", {"a": b"a"})
    opened = Repository.open(tmp_path / "tree")
    assert (opened.layout.kind, opened.resolve()) == ("separate", oid)


def test_a_shallow_clone_is_known_as_such(
    repository: Path, tmp_path: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"1"})
    tip = commit_files(repository, {"a": b"2"})
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), str(tmp_path / "clone"))
    opened = Repository.open(tmp_path / "clone")
    assert opened.shallow
    assert opened.rev_list([tip]) == [(tip, ())]
    assert len(opened.commit(tip).parents) == 1


class TestBareRepositories:
    def test_a_bare_repository_is_opened_only_where_it_was_asked_for(
        self, repository: Path, tmp_path: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(repository, {"a": b"a"})
        git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(tmp_path / "bare"))
        assert kind_of(lambda: Repository.open(tmp_path / "bare")) == "bare_repository"
        opened = Repository.open(tmp_path / "bare", bare=True)
        assert (opened.layout.kind, opened.layout.work_tree, opened.resolve()) == ("bare", None, oid)

    def test_one_that_a_checkout_carries_is_not_entered(
        self, sha1_repository: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        commit_files(sha1_repository, {"a": b"a"})
        git(sha1_repository, "init", "--quiet", "--bare", "embedded")
        (sha1_repository / "embedded" / "deep").mkdir()
        assert kind_of(lambda: discover(sha1_repository / "embedded")) == "bare_repository"
        assert (
            kind_of(lambda: discover(sha1_repository / "embedded" / "deep", bare=True)) == "bare_repository"
        )

    def test_the_inside_of_a_git_directory_is_not_a_work_tree(self, sha1_repository: Path) -> None:
        assert kind_of(lambda: discover(sha1_repository / ".git" / "refs")) == "bare_repository"


class TestStayingWithin:
    @pytest.fixture
    def victim(self, tmp_path: Path, git: Git, commit_files: CommitFiles) -> Path:
        path = tmp_path / "victim"
        git(tmp_path, "init", "--quiet", "-b", "main", str(path))
        commit_files(path, {"secret": b"secret"})
        return path

    @pytest.fixture
    def root(self, tmp_path: Path, git: Git, commit_files: CommitFiles) -> Path:
        root = tmp_path / "root"
        git(tmp_path, "init", "--quiet", "-b", "main", str(root))
        commit_files(root, {"a": b"a"})
        return root

    def test_a_repository_wholly_inside_is_accepted(self, root: Path, tmp_path: Path) -> None:
        assert discover(root, within=[root]).kind == "main"
        assert discover(root, within=[tmp_path / "other", root]).kind == "main"

    def test_a_repository_that_surrounds_the_root_is_refused(self, root: Path) -> None:
        (root / "sub").mkdir()
        assert kind_of(lambda: discover(root / "sub", within=[root / "sub"])) == "outside_root"

    def test_a_git_file_that_points_outside_is_refused(self, root: Path, victim: Path) -> None:
        (root / "sub").mkdir()
        (root / "sub" / ".git").write_text(f"gitdir: {victim / '.git'}\n", encoding="utf-8")
        assert kind_of(lambda: discover(root / "sub", within=[root])) == "outside_root"

    def test_an_alternate_object_directory_outside_is_refused(self, root: Path, victim: Path) -> None:
        listed = root / ".git" / "objects" / "info" / "alternates"
        listed.write_text(f"# comment\n{victim / '.git' / 'objects'}\n", encoding="utf-8")
        assert os.path.realpath(victim / ".git" / "objects") in discover(root).object_dirs
        assert kind_of(lambda: discover(root, within=[root])) == "outside_root"

    @posix_only
    @pytest.mark.parametrize(
        "part", ["objects", "objects/pack", "refs/heads", "refs", "packed-refs", "HEAD", "config"]
    )
    def test_a_link_out_of_the_git_directory_is_refused(
        self, root: Path, victim: Path, git: Git, part: str
    ) -> None:
        git(victim, "pack-refs", "--all")
        place, target = root / ".git" / part, victim / ".git" / part
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        place.symlink_to(target)
        assert kind_of(lambda: discover(root, within=[root])) in {"outside_root", "not_a_repository"}

    @posix_only
    def test_a_single_linked_object_is_refused(self, root: Path, victim: Path) -> None:
        stolen = next(path for path in (victim / ".git" / "objects").glob("??/*"))
        place = root / ".git" / "objects" / stolen.parent.name / stolen.name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(stolen)
        assert kind_of(lambda: discover(root, within=[root])) == "outside_root"

    def test_a_linked_worktree_is_accepted_when_its_repository_is_allowed_too(
        self, root: Path, tmp_path: Path, git: Git
    ) -> None:
        git(root, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
        assert kind_of(lambda: discover(tmp_path / "linked", within=[tmp_path / "linked"])) == "outside_root"
        assert discover(tmp_path / "linked", within=[tmp_path / "linked", root]).kind == "linked_worktree"

    def test_a_git_file_that_claims_anothers_worktree_is_noticed(
        self, root: Path, tmp_path: Path, git: Git
    ) -> None:
        git(root, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
        (tmp_path / "thief").mkdir()
        shutil.copy(tmp_path / "linked" / ".git", tmp_path / "thief" / ".git")
        assert not discover(tmp_path / "thief").linked_back
        assert kind_of(lambda: discover(tmp_path / "thief", within=[tmp_path])) == "outside_root"


class TestDamagedLayouts:
    @pytest.mark.parametrize(
        "content",
        ["", "gitdir:", "gitdir: /nowhere/at/all\n", "gitdir: a\0b", "something else", "x" * 100_000],
    )
    def test_a_git_file_that_leads_nowhere_is_refused(self, tmp_path: Path, content: str) -> None:
        (tmp_path / ".git").write_text(content, encoding="utf-8")
        assert kind_of(lambda: discover(tmp_path)) == "unsupported_repository"

    @posix_only
    def test_a_fifo_in_place_of_head_is_not_waited_for(self, sha1_repository: Path) -> None:
        (sha1_repository / ".git" / "HEAD").unlink()
        os.mkfifo(sha1_repository / ".git" / "HEAD")
        assert kind_of(lambda: discover(sha1_repository)) in {"not_a_repository", "bare_repository"}

    def test_alternates_that_name_each_other_end(self, sha1_repository: Path) -> None:
        objects = sha1_repository / ".git" / "objects"
        (objects / "info" / "alternates").write_text("../objects\n.\n", encoding="utf-8")
        assert len(discover(sha1_repository).object_dirs) == 1

    def test_an_unknown_extension_is_a_coded_refusal(self, sha1_repository: Path, git: Git) -> None:
        git(sha1_repository, "config", "core.repositoryFormatVersion", "1")
        git(sha1_repository, "config", "extensions.fromTheFuture", "true")
        assert kind_of(lambda: Repository.open(sha1_repository)) == "unsupported_repository"

    def test_a_worktree_setting_of_the_repository_moves_nothing(
        self, sha1_repository: Path, tmp_path: Path, git: Git, commit_files: CommitFiles
    ) -> None:
        oid = commit_files(sha1_repository, {"a": b"a", "d/b": b"b"})
        for place in ("/", str(tmp_path), "d"):
            git(
                sha1_repository,
                "config",
                "core.worktree",
                place,
                env={"GIT_DIR": str(sha1_repository / ".git")},
            )
            assert [entry.path for entry in Repository.open(sha1_repository).list_tree(oid)] == [b"a", b"d/b"]

"""Which commits are published, and every reason for which none are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit.git import GitError, Repository
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.publication.publish import Publication, PublishRequest, prepare_publication


@pytest.fixture
def prepared(environment: Environment) -> Callable[..., Publication]:
    """`prepared(**request)` reads a publication in the working directory."""

    def run(**request: Any) -> Publication:
        return prepare_publication(environment, PublishRequest(**request))

    return run


@pytest.fixture
def refusal(environment: Environment) -> Callable[..., str | None]:
    """`refusal(**request)` is the code with which a publication is refused; the exit code is 2."""

    def run(**request: Any) -> str | None:
        with pytest.raises(CommandError) as refused:
            prepare_publication(environment, PublishRequest(**request))
        assert refused.value.exit_code == 2
        return refused.value.code

    return run


def test_a_branch_s_own_commits_are_published_oldest_first(checkout: Any, prepared: Any) -> None:
    base = checkout.git("rev-parse", "main")
    one, two = checkout.commit({"a": b"1\n"}), checkout.commit({"a": b"2\n"})
    made = prepared()
    assert (made.options.owner, made.options.repo) == ("kestrel-labs", "tidepool")
    assert (made.line.branch, made.line.base, made.line.base_oid) == ("topic", "main", base)
    assert [commit.oid for commit in made.line.commits] == [one, two]
    assert made.body["head_sha"] == two
    assert [commit["parent"] for commit in made.body["commits"]] == [base, one]


def test_a_branch_that_is_not_checked_out_can_be_named(checkout: Any, prepared: Any) -> None:
    tip = checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "main")
    made = prepared(branch="topic")
    assert made.body["head_sha"] == tip
    assert made.dirty is None


def test_the_base_as_last_fetched_is_preferred_to_the_local_one(checkout: Any, prepared: Any) -> None:
    one = checkout.commit({"a": b"1\n"})
    checkout.git("update-ref", "refs/remotes/origin/main", one)
    checkout.commit({"a": b"2\n"})
    made = prepared()
    assert (made.line.base_oid, len(made.line.commits)) == (one, 1)


def test_the_base_is_the_default_branch_of_origin(checkout: Any, prepared: Any) -> None:
    checkout.git("update-ref", "refs/remotes/origin/develop", "main")
    checkout.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    checkout.commit({"a": b"1\n"})
    assert prepared().line.base == "develop"
    assert prepared(base="main").line.base == "main"


def test_a_base_that_went_on_changes_nothing(checkout: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"})
    start = checkout.git("rev-parse", "main")
    checkout.git("checkout", "--quiet", "main")
    later = checkout.commit({"b": b"1\n"})
    checkout.git("update-ref", "refs/remotes/origin/main", later)
    assert prepared(branch="topic").line.base_oid == start


def test_a_linked_worktree_publishes_its_own_branch(
    checkout: Any, environment: Environment, folders: dict[str, str]
) -> None:
    place = os.path.join(folders["work"], "linked")
    checkout.git("worktree", "add", "--quiet", "-b", "side", place, "topic")
    linked = type(checkout)(Path(place))
    tip = linked.commit({"a": b"1\n"})
    made = prepare_publication(environment, PublishRequest(cwd="linked"))
    assert (made.line.branch, made.body["head_sha"], made.dirty) == ("side", tip, False)


def test_twenty_commits_are_published_and_one_more_is_not(checkout: Any, prepared: Any, refusal: Any) -> None:
    for number in range(20):
        checkout.commit({"a": b"%d\n" % number})
    assert len(prepared().line.commits) == 20
    checkout.commit()
    assert refusal() == "too_many_commits"


def test_a_shallow_clone_that_reaches_back_to_the_base_is_published(
    checkout: Any, prepared: Any, folders: dict[str, str]
) -> None:
    _deepen(checkout, folders, depth=3)
    assert len(prepared().line.commits) == 2


def test_a_shallow_clone_that_does_not_reach_back_is_refused(
    checkout: Any, refusal: Any, folders: dict[str, str]
) -> None:
    _deepen(checkout, folders, depth=1)
    assert refusal() == "shallow_history"


def _deepen(checkout: Any, folders: dict[str, str], depth: int) -> None:
    """Make the working directory a shallow clone of what it was, with two commits on topic."""
    checkout.commit({"a": b"1\n"})
    checkout.commit({"a": b"2\n"})
    full = os.path.join(folders["outside"], "full")
    shutil.copytree(checkout.path, full, symlinks=True)
    type(checkout)(Path(full)).git("symbolic-ref", "HEAD", "refs/heads/main")
    for entry in checkout.path.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    url = Path(full).as_uri()
    checkout.git("clone", "--quiet", f"--depth={depth}", "--no-single-branch", "-b", "topic", url, ".")
    checkout.git("remote", "set-url", "origin", "https://github.com/kestrel-labs/tidepool")


def test_a_merge_is_refused(checkout: Any, refusal: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "-b", "other", "main")
    checkout.commit({"b": b"1\n"})
    checkout.git("checkout", "--quiet", "topic")
    checkout.git("merge", "--quiet", "--no-edit", "other")
    assert refusal() == "merge_commit"


def test_a_branch_without_commits_of_its_own_is_refused(checkout: Any, refusal: Any) -> None:
    assert refusal() == "no_commits"


def test_a_repository_without_a_commit_is_refused(make_checkout: Any, folders: Any, refusal: Any) -> None:
    fresh = make_checkout(folders["work"])
    fresh.git("remote", "add", "origin", "git@github.com:kestrel-labs/tidepool.git")
    assert refusal() == "no_commits"


def test_no_branch_checked_out_is_refused_unless_one_is_named(
    checkout: Any, refusal: Any, prepared: Any
) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "--detach")
    assert refusal() == "detached_head"
    assert prepared(branch="topic").line.branch == "topic"


@pytest.mark.parametrize("name", ["mg-stack-4", "mg-park-x"])
def test_names_that_are_mergestorm_s_are_refused(checkout: Any, refusal: Any, name: str) -> None:
    checkout.git("checkout", "--quiet", "-b", name)
    checkout.commit({"a": b"1\n"})
    assert refusal() == "reserved_branch"


def test_the_trunk_and_the_base_are_not_published(checkout: Any, refusal: Any) -> None:
    checkout.git("checkout", "--quiet", "main")
    checkout.commit({"a": b"1\n"})
    assert refusal() == "reserved_branch"
    checkout.git("branch", "other", "topic")
    assert refusal(base="other") == "reserved_branch"
    assert refusal(branch="topic", base="topic") == "reserved_branch"


@pytest.mark.parametrize("base", ["nowhere", "-x", "a..b", "a b"])
def test_a_base_that_is_not_here_is_refused(checkout: Any, refusal: Any, base: str) -> None:
    checkout.commit({"a": b"1\n"})
    assert refusal(base=base) == "base_not_found"


def test_a_repository_with_no_trunk_needs_a_base(checkout: Any, refusal: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("branch", "--move", "main", "stem")
    checkout.git("update-ref", "-d", "refs/remotes/origin/main")
    assert refusal() == "base_not_found"
    assert prepared(base="stem").line.base == "stem"


def test_histories_that_share_nothing_are_refused(checkout: Any, refusal: Any) -> None:
    checkout.git("checkout", "--quiet", "--orphan", "island")
    checkout.commit({"a": b"1\n"})
    assert refusal() == "unrelated_history"


def test_a_criss_cross_is_refused(checkout: Any, refusal: Any) -> None:
    one = checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "-b", "other", "main")
    two = checkout.commit({"b": b"1\n"})
    tree = checkout.git("rev-parse", f"{one}^{{tree}}")
    left = checkout.git("commit-tree", tree, "-p", one, "-p", two, "-m", "left")
    right = checkout.git("commit-tree", tree, "-p", two, "-p", one, "-m", "right")
    checkout.git("update-ref", "refs/heads/topic", left)
    checkout.git("update-ref", "refs/remotes/origin/main", right)
    assert refusal(branch="topic") == "ambiguous_base"


def test_sha256_repositories_are_refused(make_checkout: Any, folders: Any, refusal: Any) -> None:
    other = make_checkout(folders["work"], "--object-format=sha256")
    other.commit({"a": b"1\n"})
    other.git("remote", "add", "origin", "git@github.com:kestrel-labs/tidepool.git")
    other.git("checkout", "--quiet", "-b", "topic")
    other.commit({"a": b"2\n"})
    assert refusal() == "unsupported_object_format"


def test_what_is_no_checkout_or_lies_outside_is_refused(folders: dict[str, str], refusal: Any) -> None:
    assert refusal() == "not_a_repo"
    assert refusal(cwd=folders["outside"]) == "usage"


@pytest.mark.parametrize(
    "request_",
    [
        {"owner": "o"},
        {"repo": "r"},
        {"owner": " ", "repo": "r"},
        {"replace_head": "abc"},
        {"replace_head": "g" * 40},
        {"title": "  "},
        {"branch": "-x"},
        {"branch": "a..b"},
        {"branch": "nowhere"},
        {"branch": "refs/heads/topic"},
    ],
)
def test_arguments_that_mean_nothing_are_usage(checkout: Any, refusal: Any, request_: dict[str, str]) -> None:
    checkout.commit({"a": b"1\n"})
    assert refusal(**request_) == "usage"


def test_an_origin_elsewhere_needs_owner_and_repo(checkout: Any, refusal: Any, prepared: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("remote", "set-url", "origin", "https://gitlab.example.invalid/a/b")
    assert refusal() == "usage"
    made = prepared(owner=" kestrel-labs ", repo="lagoon")
    assert (made.options.owner, made.options.repo) == ("kestrel-labs", "lagoon")


def test_a_replaced_object_is_published_as_it_really_is(checkout: Any, prepared: Any, rebuild: Any) -> None:
    tip = checkout.commit({"a": b"1\n"})
    other = checkout.git("commit-tree", f"{tip}^{{tree}}", "-m", "another")
    checkout.git("replace", tip, other)
    made = prepared()
    assert rebuild(checkout, made.body).commits == [tip]


def test_a_head_that_moves_while_it_is_read_is_published_as_it_was(
    checkout: Any, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = checkout.commit({"a": b"1\n"})
    real, moved = Repository.merge_bases, list[str]()

    def move(repository: Repository, one: str, other: str) -> list[str]:
        if not moved:
            moved.append(checkout.commit({"a": b"2\n"}))
        return real(repository, one, other)

    monkeypatch.setattr(Repository, "merge_bases", move)
    assert prepare_publication(environment, PublishRequest()).body["head_sha"] == tip


def test_a_cancelled_reading_ends(checkout: Any, environment: Environment) -> None:
    checkout.commit({"a": b"1\n"})
    with pytest.raises((CommandError, GitError)):
        prepare_publication(environment, PublishRequest(), lambda: True)

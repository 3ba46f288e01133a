"""What a review is made of: the branch's own changes as they are at its head, and nothing the host did not allow."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.reviews.collect import MAX_DIFF_BYTES, MAX_FILE_BYTES, MAX_FILES, Changes, collect_changes

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make links")


@pytest.fixture
def collected(environment: Environment) -> Callable[..., Changes]:
    """`collected(**arguments)` collects in the working directory."""

    def run(
        cwd: str | None = None,
        base: str | None = None,
        head: str | None = None,
        within: Environment | None = None,
    ) -> Changes:
        return collect_changes(within or environment, cwd=cwd, base=base, head=head)

    return run


def refused(collected: Any, **arguments: Any) -> str | None:
    with pytest.raises(CommandError) as error:
        collected(**arguments)
    assert error.value.exit_code == 2
    return error.value.code


def paths(changes: Changes) -> list[str]:
    return [file["path"] for file in changes.files]


def test_contents_come_from_the_head_and_not_from_the_work_tree(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": b"committed\n"})
    (checkout.path / "a").write_bytes(b"not committed\n")
    (checkout.path / "b").write_bytes(b"untracked\n")
    changes = collected()
    assert changes.files == [{"path": "a", "content": "committed\n"}]
    assert "not committed" not in changes.diff
    assert (changes.branch, changes.thread, changes.repo) == ("topic", "local/topic", "kestrel-labs/tidepool")


def test_another_head_brings_its_own_contents(checkout: Any, collected: Any) -> None:
    one = checkout.commit({"a": b"1\n"})
    checkout.commit({"a": b"2\n"})
    changes = collected(head=one)
    assert changes.files == [{"path": "a", "content": "1\n"}]
    assert (changes.base_label, changes.head_label) == ("main", one)


def test_what_the_base_did_meanwhile_is_not_part_of_it(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "main")
    checkout.commit({"b": b"1\n"})
    checkout.git("checkout", "--quiet", "topic")
    assert paths(collected()) == ["a"]


def test_the_diff_is_git_s_own(checkout: Any, collected: Any) -> None:
    checkout.commit({"gone": b"x\n", "moved": b"a\nb\nc\nd\n"}, "base")
    checkout.git("branch", "--force", "main")
    checkout.commit({"gone": None, "moved": None, "here": b"a\nb\nc\nd\n", "ünï code": b"1\n"})
    wanted = checkout.git_bytes(
        "-c", "core.quotePath=false", "diff", "--no-ext-diff", "--full-index", "main...topic"
    )
    shown = collected().diff
    for line in wanted.decode().splitlines():
        if not line.startswith("index "):
            assert line in shown.splitlines()


def test_a_branch_that_only_deletes_is_reviewed(checkout: Any, collected: Any) -> None:
    checkout.commit({"tide.txt": None})
    changes = collected()
    assert "-low" in changes.diff
    assert changes.files == []


@pytest.mark.parametrize("with_commit", [False, True])
def test_a_branch_without_changes_has_nothing_to_review(
    checkout: Any, collected: Any, with_commit: bool
) -> None:
    if with_commit:
        checkout.commit()
    assert collected().diff == ""


def test_a_base_that_only_origin_has_is_found(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("branch", "-D", "main")
    assert paths(collected()) == ["a"]
    assert paths(collected(base="main")) == ["a"]


def test_links_and_submodules_are_in_the_diff_and_not_among_the_files(checkout: Any, collected: Any) -> None:
    blob = checkout.git("hash-object", "-w", "--stdin", data=b"/etc/passwd")
    checkout.git("update-index", "--add", "--cacheinfo", f"120000,{blob},link")
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor")
    checkout.git("commit", "--quiet", "-m", "links")
    changes = collected()
    assert "link" in changes.diff
    assert "vendor" in changes.diff
    assert changes.files == []


@POSIX
def test_a_directory_that_became_a_link_today_changes_nothing(
    checkout: Any, collected: Any, folders: dict[str, str]
) -> None:
    checkout.commit({"dir/a": b"inside\n"})
    Path(folders["outside"], "a").write_bytes(b"outside\n")
    (checkout.path / "dir" / "a").unlink()
    (checkout.path / "dir").rmdir()
    (checkout.path / "dir").symlink_to(folders["outside"])
    assert collected().files == [{"path": "dir/a", "content": "inside\n"}]


def test_files_that_are_no_text_or_too_large_are_left_to_the_diff(checkout: Any, collected: Any) -> None:
    checkout.commit({
        "binary": b"a\0b",
        "latin": b"caf\xe9\n",
        "large": b"x" * (MAX_FILE_BYTES + 1),
        "limit": b"x" * MAX_FILE_BYTES,
    })
    changes = collected()
    assert paths(changes) == ["limit"]
    assert len(changes.notes) == 2


def test_only_the_first_files_are_sent(checkout: Any, collected: Any) -> None:
    checkout.commit({f"d/{number:03}": b"1\n" for number in range(MAX_FILES + 5)})
    changes = collected()
    assert len(changes.files) == MAX_FILES
    assert f"d/{MAX_FILES + 4:03}" in changes.diff
    assert len(changes.notes) == 1


def test_a_diff_beyond_the_service_s_limit_is_refused(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": b"x" * 79 + b"\n", "big": (b"y" * 79 + b"\n") * (MAX_DIFF_BYTES // 80)})
    assert refused(collected) == "usage"


def test_bytes_that_grow_when_they_are_shown_count_as_they_are_sent(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": (b"\xff" * 79 + b"\n") * (MAX_DIFF_BYTES // 160)})
    assert refused(collected) == "usage"


@pytest.mark.parametrize("argument", ["base", "head"])
@pytest.mark.parametrize(
    "revision", ["-x", "--output=x", "main..topic", "main:tide.txt", ":/first", "nowhere", "a\nb", "^main"]
)
def test_what_is_no_commit_s_name_is_refused(
    checkout: Any, collected: Any, argument: str, revision: str
) -> None:
    checkout.commit({"a": b"1\n"})
    assert refused(collected, **{argument: revision}) == "usage"
    assert not (checkout.path / "x").exists()


def test_histories_that_share_nothing_are_refused(checkout: Any, collected: Any) -> None:
    checkout.git("checkout", "--quiet", "--orphan", "island")
    checkout.commit({"a": b"1\n"})
    assert refused(collected) == "usage"


def test_a_checkout_without_trunk_or_commits_is_refused(
    make_checkout: Any, collected: Any, folders: dict[str, str]
) -> None:
    fresh = make_checkout(folders["work"])
    assert refused(collected) == "usage"
    assert refused(collected, base="main") == "usage"
    fresh.git("symbolic-ref", "HEAD", "refs/heads/other")
    fresh.commit({"a": b"1\n"})
    assert refused(collected) == "usage"


def test_places_outside_the_sandbox_are_refused(
    checkout: Any, collected: Any, folders: dict[str, str]
) -> None:
    subprocess.run(["git", "init", "-q", folders["outside"]], check=True)
    assert refused(collected, cwd=folders["outside"]) == "usage"
    assert refused(collected, cwd="../outside") == "usage"
    assert refused(collected, cwd="nowhere") == "usage"


def test_a_directory_that_is_no_checkout_is_refused(collected: Any) -> None:
    assert refused(collected) == "not_a_repo"


def test_a_root_inside_the_checkout_admits_only_what_lies_below_it(
    checkout: Any, collected: Any, environment: Environment
) -> None:
    checkout.commit({"sub/a": b"1\n", "b": b"2\n"})
    sub = str(checkout.path / "sub")
    narrow = Environment(
        {**environment.variables, "MERGESTORM_SANDBOX_ROOT": sub},
        environment.home,
        environment.working_directory,
    )
    assert refused(collected, cwd=sub, within=narrow) == "outside_sandbox"
    allowed = Environment(
        {**narrow.variables, "MERGESTORM_SANDBOX_GIT_DIRS": str(checkout.path)},
        environment.home,
        environment.working_directory,
    )
    changes = collected(cwd=sub, within=allowed)
    assert paths(changes) == ["sub/a"]
    assert "+2" not in changes.diff
    assert len(changes.notes) == 1


def test_mergestorm_s_own_configuration_is_never_sent(
    checkout: Any, collected: Any, environment: Environment
) -> None:
    checkout.commit({".mergestorm/config.json": b'{"apiKey": "x"}\n', "a": b"1\n"})
    at_home = Environment(
        {**environment.variables, "MERGESTORM_SANDBOX_ROOT": str(checkout.path)},
        str(checkout.path),
        str(checkout.path),
    )
    changes = collected(within=at_home)
    assert paths(changes) == ["a"]
    assert "apiKey" not in changes.diff


def test_a_detached_head_has_the_name_git_gives_it(checkout: Any, collected: Any) -> None:
    checkout.commit({"a": b"1\n"})
    checkout.git("checkout", "--quiet", "--detach")
    assert (collected().branch, collected().thread) == ("HEAD", "local/HEAD")


def test_a_long_branch_s_thread_is_cut(checkout: Any, collected: Any) -> None:
    checkout.git("checkout", "--quiet", "-b", "t" * 200)
    checkout.commit({"a": b"1\n"})
    assert len(collected().thread) == 120

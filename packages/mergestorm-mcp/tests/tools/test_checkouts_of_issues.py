"""Which repository an issue goes to, and which directories may be asked for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.checkout import github_repository, origin_repository
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.sandbox import directory_inside, lies_below, sandbox_root

SYMLINKS = pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make links")


def make_checkout(folder: str | Path, url: str | None = "git@github.com:kestrel-labs/tidepool.git") -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    if url is not None:
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/kestrel-labs/tide.pool",
        "https://github.com/kestrel-labs/tide.pool.git",
        "https://GitHub.com/kestrel-labs/tide.pool/",
        "https://user:secret@github.com/kestrel-labs/tide.pool.git/",
        "ssh://git@github.com/kestrel-labs/tide.pool.git",
        "ssh://git@github.com:22/kestrel-labs/tide.pool",
        "git@github.com:kestrel-labs/tide.pool.git",
        "github.com:kestrel-labs/tide.pool",
    ],
)
def test_a_github_remote_names_its_repository_in_any_form(url: str) -> None:
    assert github_repository(url) == ("kestrel-labs", "tide.pool")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://gitlab.com/a/b",
        "https://github.com.evil.example/a/b",
        "https://evil.example/github.com/a/b",
        "https://github.com/a",
        "https://github.com/a/b/c",
        "https://github.com/a/..",
        "https://github.com/a/.git",
        "ext::sh -c github.com:a/b",
        "git@notgithub.com:a/b.git",
        "/srv/github.com:a/b",
        "https://github.com/a b/c",
        "https://github.com/-a/c",
    ],
)
def test_any_other_remote_names_none(url: str) -> None:
    assert github_repository(url) is None


def test_the_origin_of_a_directory_in_a_checkout_is_found(environment: Environment) -> None:
    make_checkout(environment.working_directory)
    inner = Path(environment.working_directory, "a", "b")
    inner.mkdir(parents=True)
    for cwd in (None, ".", str(inner), "a/b"):
        assert origin_repository(environment, cwd) == ("kestrel-labs", "tidepool")


@pytest.mark.parametrize("url", [None, "https://gitlab.com/a/b"])
def test_an_origin_elsewhere_is_usage(environment: Environment, url: str | None) -> None:
    make_checkout(environment.working_directory, url)
    with pytest.raises(CommandError) as refused:
        origin_repository(environment, None)
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)


def test_a_directory_without_a_repository_is_told_so(environment: Environment) -> None:
    with pytest.raises(CommandError) as refused:
        origin_repository(environment, None)
    assert (refused.value.code, refused.value.exit_code) == ("not_a_repo", 2)


@pytest.mark.parametrize("cwd", ["..", "../outside", "/", "", "  ", "nowhere", "a\0b"])
def test_a_directory_outside_the_sandbox_is_refused(environment: Environment, cwd: str) -> None:
    with pytest.raises(CommandError) as refused:
        directory_inside(environment, cwd)
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)


@SYMLINKS
def test_a_link_out_of_the_sandbox_is_refused(environment: Environment, folders: dict[str, str]) -> None:
    os.symlink(folders["outside"], os.path.join(folders["work"], "way-out"))
    with pytest.raises(CommandError):
        directory_inside(environment, "way-out")


def test_a_checkout_whose_git_directory_lies_outside_is_refused_until_the_host_allows_it(
    environment: Environment, folders: dict[str, str]
) -> None:
    main, work = os.path.join(folders["outside"], "main"), os.path.join(folders["work"], "tree")
    make_checkout(main)
    identity = ["-c", "user.name=V", "-c", "user.email=v@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", main, *identity, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run(["git", "-C", main, "worktree", "add", "-q", "-b", "side", work], check=True)
    with pytest.raises(CommandError) as refused:
        origin_repository(environment, "tree")
    assert (refused.value.code, refused.value.exit_code) == ("outside_sandbox", 2)
    allowed = Environment(
        {**environment.variables, "MERGESTORM_SANDBOX_GIT_DIRS": main},
        environment.home,
        environment.working_directory,
    )
    assert origin_repository(allowed, "tree") == ("kestrel-labs", "tidepool")


@pytest.mark.parametrize("place", ["home", "above"])
def test_standing_at_home_or_above_it_needs_a_configured_root(folders: dict[str, str], place: str) -> None:
    stand = folders["home"] if place == "home" else os.path.dirname(folders["home"])
    bare = Environment({}, folders["home"], stand)
    with pytest.raises(CommandError) as refused:
        sandbox_root(bare)
    assert (refused.value.code, refused.value.exit_code) == ("sandbox_root_required", 2)
    told = Environment({"MERGESTORM_SANDBOX_ROOT": folders["work"]}, folders["home"], stand)
    assert sandbox_root(told) == folders["work"]


def test_the_file_system_s_root_is_no_default(folders: dict[str, str]) -> None:
    with pytest.raises(CommandError) as refused:
        sandbox_root(Environment({}, folders["home"], os.path.abspath(os.sep)))
    assert refused.value.code == "sandbox_root_required"


def test_a_name_that_only_begins_like_the_root_is_not_below_it(folders: dict[str, str]) -> None:
    assert lies_below(os.path.join(folders["work"], "a"), folders["work"])
    assert not lies_below(folders["work"] + "-evil", folders["work"])


@pytest.mark.anyio
async def test_an_issue_for_a_named_repository_reads_no_checkout(
    server: Any, service: Any, folders: Any
) -> None:
    service.play([
        {
            "expect": {
                "method": "POST",
                "path": "/api/v1/issues",
                "body": {"owner": "o", "repo": "r", "title": "t"},
            },
            "respond": {"status": 201, "body": {"created": True, "number": 5, "url": None}},
        }
    ])
    async with connect_memory(server()) as client:
        await client.initialize()
        arguments = {"title": " t ", "owner": " o", "repo": "r ", "cwd": folders["outside"]}
        outcome = await client.call("issue_create", arguments)
    assert outcome.structured == {
        "created": True,
        "number": 5,
        "url": None,
        "title": "t",
        "owner": "o",
        "repo": "r",
        "labels": [],
    }

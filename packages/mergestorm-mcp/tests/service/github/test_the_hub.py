"""Rows of the GitHub side: numbers, permissions, pull requests, issues and checks."""

from __future__ import annotations

import shutil
import sqlite3
from typing import Any

import pytest

from mcpkit.git import GitError
from mergestorm_mcp.service.github.hub import Check, GitHubRepository, Hub

AT = "2026-01-02T12:00:00.000Z"
LATER = "2026-01-02T13:00:00.000Z"


@pytest.fixture
def opened(hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository) -> Any:
    def made(head: str, base: str = "main") -> Any:
        return hub.open_pull(
            connection, repository.id, title="t", body="b", head=head, base=base, author="mira", at=AT
        )

    return made


def test_a_repository_is_found_whatever_its_case_and_made_once(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository
) -> None:
    assert hub.find_repository(connection, "KESTREL-labs", "TidePool") == repository
    assert hub.repositories(connection) == [repository]
    with pytest.raises(ValueError, match="name"):
        hub.create_repository(connection, "kestrel-labs", "TIDEPOOL")
    with pytest.raises(LookupError):
        hub.repository(connection, 99)


@pytest.mark.parametrize("name", ["", "..", "a/b", "x.git", "-x", "x" * 101, "a\n", "x.lock"])
def test_names_that_could_leave_their_directory_are_refused(
    hub: Hub, connection: sqlite3.Connection, name: str
) -> None:
    with pytest.raises(ValueError, match="name"):
        hub.create_repository(connection, "kestrel-labs", name)


def test_a_repository_is_opened_again_by_another_hub(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository, first: str
) -> None:
    again = Hub(hub.root)
    assert again.git(repository).head("main") == first
    shutil.rmtree(hub.root / repository.path)
    with pytest.raises(GitError) as caught:
        again.git(repository)
    assert caught.value.kind == "not_a_repository"


def test_pull_requests_and_issues_share_their_numbers(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository, opened: Any
) -> None:
    one = opened("a")
    issue = hub.open_issue(
        connection, repository.id, title="i", body="", labels=["bug"], author="mira", account_id=3, at=AT
    )
    two = opened("b")
    assert [one.number, issue.number, two.number] == [1, 2, 3]
    assert hub.find_open_issue(connection, repository.id, "i") == issue
    assert hub.find_open_issue(connection, repository.id, "i", account_id=4) is None
    hub.close_issue(connection, repository.id, 2)
    assert hub.find_open_issue(connection, repository.id, "i") is None
    assert hub.pull_url(repository, 3) == "https://github.com/Kestrel-Labs/tidepool/pull/3"


def test_a_branch_has_one_open_pull_request_per_base(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository, opened: Any
) -> None:
    one = opened("a")
    with pytest.raises(sqlite3.IntegrityError):
        opened("a")
    hub.close_pull(connection, repository.id, one.number, at=LATER, head="1" * 40)
    closed = hub.pull(connection, repository.id, one.number)
    assert closed is not None
    assert (closed.state, closed.closed_at, closed.last_head) == ("closed", LATER, "1" * 40)
    again = opened("a")
    assert hub.find_open_pull(connection, repository.id, "a") == again
    assert [pull.number for pull in hub.pulls(connection, repository.id, head="a")] == [1, again.number]


def test_a_merged_pull_request_stays_what_it_was(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository, opened: Any
) -> None:
    number = opened("a").number
    merged: dict[str, Any] = {"head": "1" * 40, "base": "2" * 40, "merge_sha": "3" * 40}
    hub.mark_merged(connection, repository.id, number, at=LATER, **merged)
    hub.mark_merged(connection, repository.id, number, at=AT, head="9" * 40, base=None, merge_sha="9" * 40)
    hub.close_pull(connection, repository.id, number, at=AT, head=None)
    hub.retarget(connection, repository.id, number, "elsewhere")
    pull = hub.pull(connection, repository.id, number)
    assert pull is not None
    assert (pull.state, pull.merged_at, pull.base_branch) == ("merged", LATER, "main")
    assert (pull.last_head, pull.last_base, pull.merge_sha) == tuple(merged.values())


def test_permissions_follow_the_repository_s_visibility(hub: Hub, connection: sqlite3.Connection) -> None:
    public = hub.create_repository(connection, "o", "public")
    private = hub.create_repository(connection, "o", "private", private=True)
    assert hub.permission(connection, public, "mira") == "read"
    assert hub.permission(connection, private, "mira") is None
    hub.set_permission(connection, private.id, "Mira", "write")
    assert hub.may_write(connection, private, "mira")
    assert not hub.may_write(connection, public, "mira")


def test_an_app_is_absent_ready_or_may_only_read(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository
) -> None:
    assert hub.app(connection, repository.id, "surge") == "absent"
    hub.install_app(connection, repository.id, "surge")
    assert hub.app(connection, repository.id, "surge") == "ready"
    hub.install_app(connection, repository.id, "surge", may_write=False)
    assert hub.app(connection, repository.id, "surge") == "read_only"
    hub.uninstall_app(connection, repository.id, "surge")
    assert hub.app(connection, repository.id, "surge") == "absent"


def test_a_check_starts_finishes_and_starts_again(
    hub: Hub, connection: sqlite3.Connection, repository: GitHubRepository
) -> None:
    sha = "1" * 40
    hub.set_check(connection, repository.id, sha, "test", "pending", AT)
    hub.set_check(connection, repository.id, sha, "test", "failure", LATER)
    assert hub.checks(connection, repository.id, sha) == [Check("test", "failure", AT, LATER)]
    hub.set_check(connection, repository.id, sha, "test", "pending", LATER)
    assert hub.checks(connection, repository.id, sha) == [Check("test", "pending", LATER, None)]
    assert hub.checks(connection, repository.id, "2" * 40) == []

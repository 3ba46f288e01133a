"""Makes a new service what its scenario says: accounts and keys, repositories with real commits, pull requests, stacks.

All rows are written in one transaction, and a repository without its row is made anew, so a service that is killed while
it is seeded is seeded again from the beginning. Commits carry fixed dates: their ids are the same on every machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.accounts.keys import Caller, account_named, add_key, create_account
from mergestorm_mcp.service.agents.reactions import on_head_changed
from mergestorm_mcp.service.agents.scripts import set_script
from mergestorm_mcp.service.github.bare import Bare, FileContent
from mergestorm_mcp.service.github.hub import GitHubRepository
from mergestorm_mcp.service.github.people import CommitAuthor
from mergestorm_mcp.service.github.trees import TreeConflict
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.scenarios.form import Account, Commit, RepositorySpec, Scenario, StackSpec
from mergestorm_mcp.service.scenarios.loader import ScenarioError
from mergestorm_mcp.service.settings.values import change_account_settings, change_repository_settings
from mergestorm_mcp.service.stacks.registration import adopt
from mergestorm_mcp.service.world import World

__all__ = ["Seeded", "seed"]

_FIRST_COMMIT: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
_BETWEEN_COMMITS: Final = timedelta(minutes=30)
_DIAL: Final = "scenario"


@dataclass(frozen=True, slots=True)
class Seeded:
    """What was made.

    Attributes:
        title: of the scenario.
        keys: login to API key, the first account first; empty where the service had been seeded before, because keys
            cannot be shown twice.
    """

    title: str
    keys: Mapping[str, str]


def seed(world: World, scenario: Scenario) -> Seeded:
    """Fill a new service. One that was filled before keeps what it has.

    Args:
        world: the service.
        scenario: what it is to hold.

    Raises:
        ScenarioError: a commit's files do not fit onto those before, or a stack cannot be registered (for want of write
            access or an App, for instance). Nothing was kept then.
        GitError: git cannot write.
    """
    try:
        return _seed(world, scenario)
    except Refusal as refusal:
        raise ScenarioError(scenario.title, None, refusal.message) from None
    except TreeConflict as conflict:
        path = conflict.path.decode("utf-8", "replace")
        raise ScenarioError(
            scenario.title, None, f"commits: {path} cannot be changed so ({conflict.kind})"
        ) from None


def _seed(world: World, scenario: Scenario) -> Seeded:
    with world.store.write() as connection:
        earlier = knobs.dial(connection, _DIAL, None)
        if earlier is not None:
            return Seeded(str(earlier), {})
        keys = {account.login: _account(world, connection, account) for account in scenario.accounts}
        for spec in scenario.repositories:
            _repository(world, connection, spec)
        for knob in scenario.knobs:
            knobs.turn(world, connection, **knob.model_dump())
        knobs.set_dial(connection, _DIAL, scenario.title)
    return Seeded(scenario.title, keys)


def _account(world: World, connection: sqlite3.Connection, account: Account) -> str:
    made = create_account(
        world,
        connection,
        account.login,
        name=account.name,
        plan=account.plan,
        credits_limit=account.credits_limit,
        bonus_credits=account.bonus_credits,
        cyclone_connected=account.cyclone_connected,
        github_connected=account.github_connected,
        stacks_ready=account.stacks_ready,
    )
    if account.settings:
        change_account_settings(connection, made, account.settings)
    return add_key(world, connection, made, "scenario", key=account.key)


def _repository(world: World, connection: sqlite3.Connection, spec: RepositorySpec) -> None:
    hub = world.hub
    owner, _, name = spec.name.partition("/")
    repository = hub.create_repository(
        connection, owner, name, default_branch=spec.default_branch, private=spec.private
    )
    for login, permission in spec.people.items():
        hub.set_permission(connection, repository.id, login, permission)
    if spec.surge != "absent":
        hub.install_app(connection, repository.id, "surge", may_write=spec.surge == "ready")
    if spec.cyclone != "absent":
        hub.install_app(connection, repository.id, "cyclone", may_write=spec.cyclone == "ready")
    hub.add_labels(connection, repository.id, spec.labels)
    for login, values in spec.settings.items():
        caller = _caller(connection, login)
        change_repository_settings(world, connection, caller, owner, name, values)
    git = hub.git(repository)
    when = _FIRST_COMMIT
    for commit in spec.commits:
        _commit(git, commit, spec.default_branch, when)
        when += _BETWEEN_COMMITS
    set_script(connection, repository.id, spec.agents)
    _pulls(world, connection, repository, spec)
    for stack in spec.stacks:
        _stack(world, connection, repository, stack)
    # Only now, so that a pull request of a stack is first looked at as one.
    for pull in spec.pulls:
        head = git.head(pull.head)
        if head is not None:
            on_head_changed(world, connection, repository.id, pull.head, head)


def _commit(git: Bare, commit: Commit, default_branch: str, when: datetime) -> None:
    tip = git.head(commit.branch)
    parent = tip or git.head(commit.start or default_branch)
    name, _, address = commit.author.removesuffix(">").partition(" <")
    files = {
        path: None
        if content is None
        else FileContent(content.encode())
        if isinstance(content, str)
        else FileContent(content.text.encode(), content.mode)
        for path, content in commit.files.items()
    }
    made = git.commit_files(
        [parent] if parent is not None else [],
        files,
        message=commit.message,
        author=CommitAuthor(name, address),
        when=when,
    )
    git.move(commit.branch, made, tip)


def _pulls(
    world: World, connection: sqlite3.Connection, repository: GitHubRepository, spec: RepositorySpec
) -> None:
    for pull in spec.pulls:
        world.hub.open_pull(
            connection,
            repository.id,
            title=pull.title,
            body=pull.body,
            head=pull.head,
            base=pull.base or spec.default_branch,
            author=pull.author,
            at=iso(world.pace.now()),
            draft=pull.draft,
        )


def _stack(
    world: World, connection: sqlite3.Connection, repository: GitHubRepository, stack: StackSpec
) -> None:
    pull = world.hub.find_open_pull(connection, repository.id, stack.head)
    assert pull is not None  # noqa: S101 - the form refuses a stack without one
    policy: dict[str, bool | None] = {"autoEnqueueWhenReady": stack.auto_land}
    if stack.auto_patch is not None:
        policy["autoPatchOverride"] = stack.auto_patch
    adopt(world, connection, _caller(connection, stack.account), repository.id, pull.number, policy)


def _caller(connection: sqlite3.Connection, login: str) -> Caller:
    account = account_named(connection, login)
    assert account is not None  # noqa: S101 - the form refuses a login without an account
    return Caller(account["id"], account["login"], 0)

"""Reading and changing settings. A stack's own policy comes first, then the repository's value, then the account's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.hub import GitHubRepository
from mergestorm_mcp.service.refusals import Refusal, invalid_input, not_found
from mergestorm_mcp.service.settings.catalog import DEFAULTS, REPOSITORY_SETTINGS
from mergestorm_mcp.service.world import World

__all__ = [
    "account_setting",
    "account_settings",
    "change_account_settings",
    "change_repository_settings",
    "connected_repositories",
    "connected_repository",
    "effective_setting",
    "repository_settings",
]


def account_settings(connection: sqlite3.Connection, account_id: int) -> dict[str, Any]:
    """All settings of an account, the members that only Mergestorm sets included."""
    account = connection.execute("SELECT * FROM accounts WHERE id = ?", (account_id,)).fetchone()
    return {
        **DEFAULTS,
        **_stored(connection, account_id),
        "cyclone_connected": bool(account["cyclone_connected"]),
        "github_connected": bool(account["github_connected"]),
        "stacks_ready": bool(account["stacks_ready"]),
    }


def account_setting(connection: sqlite3.Connection, account_id: int, name: str) -> Any:
    """One setting of an account."""
    return _stored(connection, account_id).get(name, DEFAULTS[name])


def effective_setting(connection: sqlite3.Connection, account_id: int, repo_id: int, name: str) -> Any:
    """The value that counts in a repository: its own if one was set, else the account's.

    Args:
        connection: to read with.
        account_id: whose settings.
        repo_id: the repository.
        name: a setting that repositories can have.
    """
    value = _stored_for(connection, account_id, repo_id).get(name)
    return account_setting(connection, account_id, name) if value is None else value


def change_account_settings(
    connection: sqlite3.Connection, account_id: int, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Set what is given and nothing else; all settings as stored.

    Raises:
        Refusal: 400 `invalid_input`, if nothing is given.
    """
    if not changes:
        raise invalid_input("Give at least one setting.")
    stored = {**_stored(connection, account_id), **changes}
    connection.execute(
        "INSERT INTO account_settings (account_id, values_json) VALUES (?, ?) "
        "ON CONFLICT (account_id) DO UPDATE SET values_json = excluded.values_json",
        (account_id, json.dumps(stored)),
    )
    return account_settings(connection, account_id)


def connected_repositories(
    world: World, connection: sqlite3.Connection, caller: Caller
) -> list[GitHubRepository]:
    """The repositories that an account monitors: those its GitHub login was given access to."""
    given = {
        row["repo_id"]
        for row in connection.execute("SELECT repo_id FROM collaborators WHERE login = ?", (caller.login,))
    }
    return [found for found in world.hub.repositories(connection) if found.id in given]


def connected_repository(
    world: World, connection: sqlite3.Connection, caller: Caller, owner: str, repo: str
) -> GitHubRepository:
    """The monitored repository of that name, whatever its case.

    Raises:
        Refusal: 404 `not_found`.
    """
    wanted = (owner.lower(), repo.lower())
    for found in connected_repositories(world, connection, caller):
        if (found.owner.lower(), found.name.lower()) == wanted:
            return found
    raise not_found("The repository")


def repository_settings(
    connection: sqlite3.Connection, account_id: int, repository: GitHubRepository
) -> dict[str, Any]:
    """A repository's own settings; null is not set."""
    stored = _stored_for(connection, account_id, repository.id)
    return {
        "owner": repository.owner,
        "repo": repository.name,
        **{name: stored.get(name) for name in REPOSITORY_SETTINGS},
    }


def change_repository_settings(
    world: World,
    connection: sqlite3.Connection,
    caller: Caller,
    owner: str,
    repo: str,
    changes: Mapping[str, Any],
) -> dict[str, Any]:
    """Set what is given, null clearing it; the repository's settings as stored.

    Raises:
        Refusal: 404 for a repository the account does not monitor, 403 without write access, 400 if nothing is given.
    """
    repository = connected_repository(world, connection, caller, owner, repo)
    if not world.hub.may_write(connection, repository, caller.login):
        raise Refusal(403, "forbidden", "Changing a repository's settings takes write access to it.")
    if not changes:
        raise invalid_input("Give at least one setting.")
    merged = {**_stored_for(connection, caller.account_id, repository.id), **changes}
    connection.execute(
        "INSERT INTO repository_settings (account_id, repo_id, values_json) VALUES (?, ?, ?) "
        "ON CONFLICT (account_id, repo_id) DO UPDATE SET values_json = excluded.values_json",
        (
            caller.account_id,
            repository.id,
            json.dumps({name: value for name, value in merged.items() if value is not None}),
        ),
    )
    return repository_settings(connection, caller.account_id, repository)


def _stored(connection: sqlite3.Connection, account_id: int) -> dict[str, Any]:
    row = connection.execute(
        "SELECT values_json FROM account_settings WHERE account_id = ?", (account_id,)
    ).fetchone()
    return {} if row is None else dict(json.loads(row["values_json"]))


def _stored_for(connection: sqlite3.Connection, account_id: int, repo_id: int) -> dict[str, Any]:
    row = connection.execute(
        "SELECT values_json FROM repository_settings WHERE account_id = ? AND repo_id = ?",
        (account_id, repo_id),
    ).fetchone()
    return {} if row is None else dict(json.loads(row["values_json"]))

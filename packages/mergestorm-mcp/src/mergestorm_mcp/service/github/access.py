"""Who may see and write a repository, and whether the App that writes for them can."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mcpkit.git import GitError
from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.hub import GitHubRepository
from mergestorm_mcp.service.refusals import Refusal, not_found

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["SURGE_INSTALL_URL", "reading_github", "require_surge", "require_write", "visible_repository"]

SURGE_INSTALL_URL: Final = "https://github.com/apps/mergestorm-surge/installations/new"


def visible_repository(
    world: World, connection: sqlite3.Connection, caller: Caller, owner: str, name: str
) -> GitHubRepository:
    """The repository, if the caller may read it.

    Raises:
        Refusal: 404 `not_found`, the same for one that is not there and one that is hidden.
    """
    repository = world.hub.find_repository(connection, owner, name)
    if repository is None or world.hub.permission(connection, repository, caller.login) is None:
        raise not_found("The repository")
    return repository


def require_write(
    world: World, connection: sqlite3.Connection, caller: Caller, repository: GitHubRepository
) -> None:
    """Refuse who may not push to the repository.

    Raises:
        Refusal: 403 `forbidden`.
    """
    if not world.hub.may_write(connection, repository, caller.login):
        raise Refusal(403, "forbidden", f"{caller.login} has no write access to {repository.full_name}.")


def require_surge(
    world: World, connection: sqlite3.Connection, caller: Caller, repository: GitHubRepository
) -> None:
    """Refuse where the Surge App cannot write.

    Raises:
        Refusal: 400 `cyclone_not_connected`, `cyclone_not_installed` or `cyclone_permission_missing`, each with a reason
            that begins with `surge_`.
    """
    account = connection.execute(
        "SELECT github_connected FROM accounts WHERE id = ?", (caller.account_id,)
    ).fetchone()
    if account is None or not account["github_connected"]:
        raise Refusal(
            400,
            "cyclone_not_connected",
            "Mergestorm Surge is not connected to a GitHub account; connect one in the account's settings.",
            reason="surge_not_connected",
        )
    state = world.hub.app(connection, repository.id, "surge")
    if state == "absent":
        raise Refusal(
            400,
            "cyclone_not_installed",
            f"Mergestorm Surge is not installed on {repository.full_name}.",
            reason="surge_not_installed",
            install_url=SURGE_INSTALL_URL,
        )
    if state == "read_only":
        raise Refusal(
            400,
            "cyclone_permission_missing",
            f"Mergestorm Surge may not write to {repository.full_name}; accept its new permissions on GitHub.",
            reason="surge_permission_missing",
            install_url=SURGE_INSTALL_URL,
        )


@contextmanager
def reading_github() -> Iterator[None]:
    """What git cannot do within becomes a refusal of the service.

    Raises:
        Refusal: 503 `busy` where a ref moved or is locked meanwhile, 503 `github_unreadable` otherwise.
    """
    try:
        yield
    except GitError as error:
        if error.kind == "ref_changed" or "lock" in (error.detail or ""):
            raise Refusal(
                503, "busy", "The branch is being written to; try again.", retry_after_seconds=1
            ) from None
        raise Refusal(503, "github_unreadable", "GitHub cannot be read at the moment.") from None

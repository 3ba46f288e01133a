"""What the agents may do in a stack: its own pins first, then the repository's setting, then the account's."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.service.accounts.keys import account_named
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.settings.values import (
    account_setting,
    effective_setting,
    repository_settings,
)
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.records import goes_on
from mergestorm_mcp.service.stacks.site import Site

__all__ = [
    "PINS",
    "change_policy",
    "disarm",
    "off_reason",
    "paying_account",
    "policy_of",
    "require_cyclone",
    "reviews_land_pulls",
    "seam_reviewed",
    "settle_seconds",
    "skip_reason",
    "switched_on",
]

PINS: Final[Mapping[str, str]] = {
    "autoReviewOverride": "auto_review",
    "autoPatchOverride": "auto_patch",
    "autoResolveConflictsOverride": "auto_resolve",
    "autoFixCiOverride": "auto_fix_ci",
}
"""The pins as requests name them, and their columns."""

_SETTINGS: Final = {
    "auto_review": "auto_review_enabled",
    "auto_patch": "auto_patch_enabled",
    "auto_resolve": "auto_resolve_conflicts_enabled",
    "auto_fix_ci": "auto_fix_ci_enabled",
}
_OF_REPOSITORIES: Final = frozenset({"auto_review", "auto_patch"})
_INSTALL: Final = "https://github.com/apps/{app}/installations/new"


def switched_on(site: Site, stack: sqlite3.Row, pin: str) -> bool:
    """Whether an agent's automatic work is on for a stack, Apps aside."""
    if stack[pin] is not None:
        return bool(stack[pin])
    return _setting(site, stack["account_id"], pin)


def off_reason(site: Site, stack: sqlite3.Row, pin: str) -> str | None:
    """Why Cyclone leaves something alone in a stack; None if it may do it."""
    if not switched_on(site, stack, pin):
        return f"{'stack' if stack[pin] is not None else 'account'}_{pin}_off"
    return None if _cyclone_connected(site, stack["account_id"]) else "cyclone_not_connected"


def skip_reason(site: Site, stack: sqlite3.Row | None, pull: Pull) -> str | None:
    """Why Vortex does not review a pull request; None if it does.

    The settings are those of the stack's account; outside a stack, those of the author's account if there is one.
    """
    connection = site.connection
    account_id = paying_account(site, stack, pull)
    if account_id is None:
        return None
    ignored = account_setting(connection, account_id, "ignored_bot_logins")
    if pull.author_login.lower() in {login.lower() for login in ignored}:
        return "ignored_author"
    if stack is not None and stack["auto_review"] is not None:
        return None if stack["auto_review"] else "auto_review_off"
    own = repository_settings(connection, account_id, site.repository)["auto_review_enabled"]
    if own is not None:
        return None if own else "repo_disabled"
    return None if account_setting(connection, account_id, "auto_review_enabled") else "auto_review_off"


def paying_account(site: Site, stack: sqlite3.Row | None, pull: Pull) -> int | None:
    """Whose settings and credits a review of a pull request goes by: its stack's account, else its author's."""
    if stack is not None:
        return int(stack["account_id"])
    author = account_named(site.connection, pull.author_login)
    return None if author is None else int(author["id"])


def reviews_land_pulls(site: Site, stack: sqlite3.Row | None) -> bool:
    """Whether Vortex also reviews the pull request that lands a unit."""
    return stack is None or bool(
        account_setting(site.connection, stack["account_id"], "review_unit_land_prs_enabled")
    )


def seam_reviewed(site: Site, stack: sqlite3.Row) -> bool:
    """Whether members are reviewed together with the unit they go into."""
    return bool(account_setting(site.connection, stack["account_id"], "vortex_seam_specialist_enabled"))


def settle_seconds(site: Site, stack: sqlite3.Row) -> float:
    """How long Auto land lets a ready head settle."""
    return float(account_setting(site.connection, stack["account_id"], "auto_land_settle_seconds"))


def policy_of(stack: sqlite3.Row) -> dict[str, Any]:
    """A stack's policy as the service answers it."""
    pins = {name: None if stack[pin] is None else bool(stack[pin]) for name, pin in PINS.items()}
    return {"autoEnqueueWhenReady": bool(stack["auto_land"]), **pins}


def change_policy(site: Site, stack: sqlite3.Row, changes: Mapping[str, bool | None]) -> None:
    """Set what is given of a stack's policy; null takes a pin off.

    Args:
        site: the stack's repository.
        stack: its row.
        changes: `autoEnqueueWhenReady` and the names of `PINS`.

    Raises:
        Refusal: 400 `cyclone_not_connected` where Cyclone is missing for what is switched on; 409 `stack_over`.
    """
    if not goes_on(stack):
        raise Refusal(
            409, "stack_over", "The stack has landed or is archived; its policy cannot change any more."
        )
    wanted = [pin for name, pin in PINS.items() if changes.get(name) is True and pin != "auto_review"]
    if wanted:
        require_cyclone(site, stack["account_id"])
    for name, pin in PINS.items():
        if name in changes:
            value = changes[name]
            site.connection.execute(
                f"UPDATE stacks SET {pin} = ? WHERE id = ?",  # noqa: S608 - a column named above
                (None if value is None else int(value), stack["id"]),
            )
    armed = changes.get("autoEnqueueWhenReady")
    if armed is True:
        if not stack["auto_land"]:
            site.connection.execute(
                "UPDATE stacks SET auto_land = 1, land_off_reason = NULL, land_off_entry = NULL, land_off_at = NULL,"
                " wait_reason = NULL, wait_attempts = NULL WHERE id = ?",
                (stack["id"],),
            )
    elif armed is False and stack["auto_land"]:
        disarm(site, stack["id"], "user")
    words = ", ".join(
        f"{name} {'cleared' if value is None else 'on' if value else 'off'}"
        for name, value in changes.items()
    )
    record(site.world, site.connection, "policy", f"Policy: {words}", stack_id=stack["id"])


def disarm(site: Site, stack_id: str, reason: str, entry_id: str | None = None) -> None:
    """Switch Auto land off and keep why."""
    site.connection.execute(
        "UPDATE stacks SET auto_land = 0, land_off_reason = ?, land_off_entry = ?, land_off_at = ?, settle_action = NULL,"
        " settle_pull = NULL, settle_head = NULL, settle_started_at = NULL, settle_seconds = NULL, wait_reason = NULL"
        " WHERE id = ?",
        (reason, entry_id, site.now(), stack_id),
    )


def require_cyclone(site: Site, account_id: int) -> None:
    """Make sure that Cyclone can patch in the repository.

    Raises:
        Refusal: 400 `cyclone_not_connected`.
    """
    if not _cyclone_connected(site, account_id):
        raise Refusal(
            400,
            "cyclone_not_connected",
            "Cyclone is not connected to this repository, so it cannot be switched on.",
            install_url=_INSTALL.format(app="mergestorm-cyclone"),
        )


def _cyclone_connected(site: Site, account_id: int) -> bool:
    if site.hub.app(site.connection, site.repo_id, "cyclone") != "ready":
        return False
    row = site.connection.execute(
        "SELECT cyclone_connected FROM accounts WHERE id = ?", (account_id,)
    ).fetchone()
    return row is not None and bool(row["cyclone_connected"])


def _setting(site: Site, account_id: int, pin: str) -> bool:
    name = _SETTINGS[pin]
    if pin in _OF_REPOSITORIES:
        return bool(effective_setting(site.connection, account_id, site.repo_id, name))
    return bool(account_setting(site.connection, account_id, name))

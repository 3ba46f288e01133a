"""Accounts and API keys. A key is shown once, when it is made; what is kept of it is its SHA-256 and its beginning."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from mergestorm_mcp.service.pace import iso, parse_iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

__all__ = [
    "MAX_KEYS",
    "PREFIX",
    "Caller",
    "account_named",
    "add_key",
    "authenticate",
    "create_account",
    "digest",
    "touch_key",
]

PREFIX: Final = "msk_live_"
MAX_KEYS: Final = 25
"""Keys of one account that are in force."""

_SHOWN: Final = len(PREFIX) + 3
_MAX_KEY: Final = 256
_FRESH: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request.

    Attributes:
        account_id: the account.
        login: its GitHub login.
        key_id: the key that was used.
    """

    account_id: int
    login: str
    key_id: int


def create_account(
    world: World,
    connection: sqlite3.Connection,
    login: str,
    *,
    name: str | None = None,
    plan: str = "pro",
    credits_limit: int | None = 100,
    bonus_credits: int = 0,
    cyclone_connected: bool = True,
    github_connected: bool = True,
    stacks_ready: bool = True,
) -> int:
    """Make an account; returns its id.

    Args:
        world: the service.
        connection: of a write.
        login: GitHub login, unique whatever its case.
        name: what it is called; its login by default.
        plan: key of its plan.
        credits_limit: review credits of a month; None for no limit.
        bonus_credits: credits beyond them, used up once.
        cyclone_connected: whether the patching App is connected.
        github_connected: whether a GitHub account is linked; without one nothing can be written on GitHub.
        stacks_ready: whether the Surge App is set up for stacks.
    """
    row = connection.execute(
        "INSERT INTO accounts (login, name, plan_key, plan_label_key, credits_limit, bonus_credits, "
        "cyclone_connected, github_connected, stacks_ready, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            login,
            name or login,
            plan,
            f"plans.{plan}",
            credits_limit,
            bonus_credits,
            cyclone_connected,
            github_connected,
            stacks_ready,
            iso(world.pace.now()),
        ),
    )
    assert row.lastrowid is not None  # noqa: S101 - always set after an INSERT
    return row.lastrowid


def account_named(connection: sqlite3.Connection, login: str) -> sqlite3.Row | None:
    """The account with a GitHub login, whatever its case."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM accounts WHERE login = ?", (login,)
    ).fetchone()
    return row


def add_key(
    world: World, connection: sqlite3.Connection, account_id: int, name: str, *, key: str | None = None
) -> str:
    """Make a key for an account; the only time it is seen whole.

    Args:
        world: the service.
        connection: of a write.
        account_id: whose.
        name: what its owner calls it.
        key: a fixed one, for scenarios and tests; a new random one by default.

    Raises:
        Refusal: 400 `key_limit_reached`.
    """
    count = connection.execute(
        "SELECT count(*) AS n FROM keys WHERE account_id = ? AND revoked_at IS NULL", (account_id,)
    ).fetchone()["n"]
    if count >= MAX_KEYS:
        raise Refusal(400, "key_limit_reached", f"The account has {MAX_KEYS} keys; revoke one first.")
    secret = key or PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO keys (account_id, hash, prefix, name, created_at) VALUES (?, ?, ?, ?, ?)",
        (account_id, digest(secret), secret[:_SHOWN], name, iso(world.pace.now())),
    )
    return secret


def authenticate(connection: sqlite3.Connection, authorization: str | None) -> Caller:
    """Whose key an Authorization header carries.

    Args:
        connection: to read with.
        authorization: the header, None if there was none or more than one.

    Raises:
        Refusal: 401, the same for a missing, a malformed and an unknown key.
    """
    scheme, _, key = (authorization or "").partition(" ")
    row = None
    if scheme.lower() == "bearer" and key.startswith(PREFIX) and len(key) <= _MAX_KEY:
        row = connection.execute(
            "SELECT keys.id AS key_id, accounts.id AS account_id, accounts.login FROM keys "
            "JOIN accounts ON accounts.id = keys.account_id WHERE hash = ? AND revoked_at IS NULL",
            (digest(key),),
        ).fetchone()
    if row is None:
        raise Refusal(401, "unauthorized", "A valid API key is needed: Authorization: Bearer msk_live_...")
    return Caller(row["account_id"], row["login"], row["key_id"])


def touch_key(world: World, caller: Caller) -> None:
    """Note that a key was used; once a minute is enough, every time would make every read a write."""
    now = world.pace.now()
    with world.store.read() as connection:
        last = connection.execute("SELECT last_used_at FROM keys WHERE id = ?", (caller.key_id,)).fetchone()
    if last["last_used_at"] is not None and now - parse_iso(last["last_used_at"]) < _FRESH:
        return
    with world.store.write() as connection:
        connection.execute("UPDATE keys SET last_used_at = ? WHERE id = ?", (iso(now), caller.key_id))


def digest(secret: str) -> str:
    """What is stored of a key or a device code: its SHA-256."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()

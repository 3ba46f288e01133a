"""The device login: a program shows a code, a person approves it on a page of the service, the program gets a key.

    pending -> approved -> redeemed         the key is made when it is redeemed, and handed over once
    pending -> denied

A code that nobody approves expires. The device code, which is worth the key, is stored as its SHA-256 only.
"""

from __future__ import annotations

import secrets
import sqlite3
from datetime import timedelta
from math import ceil
from typing import Any, Final, Literal

from mergestorm_mcp.service.accounts.keys import account_named, add_key, digest
from mergestorm_mcp.service.pace import iso, parse_iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.world import World

__all__ = ["begin", "decide", "find_pending", "redeem"]

_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no words come about, and nothing that looks like a digit (RFC 8628, section 6.1)."""

_EXPIRES_SECONDS: Final = 600
_INTERVAL_SECONDS: Final = 5.0
_EARLY: Final = 0.5
"""A poll is too early before this part of the interval: networks are late in one direction and early in the other."""

_MAX_OPEN: Final = 50


def begin(world: World, connection: sqlite3.Connection) -> dict[str, Any]:
    """A new pair of codes.

    Raises:
        Refusal: 429 `rate_limited`, while very many wait for approval.
    """
    now = world.pace.now()
    row = connection.execute(
        "SELECT count(*) AS n, min(expires_at) AS first FROM device_logins WHERE state = 'pending' AND expires_at > ?",
        (iso(now),),
    ).fetchone()
    if row["n"] >= _MAX_OPEN:
        wait = max(1, ceil((parse_iso(row["first"]) - now).total_seconds()))
        raise Refusal(429, "rate_limited", "Too many logins wait for approval.", retry_after_seconds=wait)
    device, user = secrets.token_urlsafe(32), _user_code()
    interval = world.pace.seconds(_INTERVAL_SECONDS)
    connection.execute(
        "INSERT INTO device_logins (device_code_hash, user_code, state, interval_seconds, created_at, expires_at) "
        "VALUES (?, ?, 'pending', ?, ?, ?)",
        (digest(device), user, interval, iso(now), iso(now + timedelta(seconds=_EXPIRES_SECONDS))),
    )
    page = f"{world.base_url}/device"
    return {
        "device_code": device,
        "user_code": user,
        "verification_uri": page,
        "verification_uri_complete": f"{page}?user_code={user}",
        "interval": max(1, ceil(interval)),
        "expires_in": _EXPIRES_SECONDS,
    }


def redeem(world: World, device_code: str) -> dict[str, Any]:
    """The key of an approved code, once.

    Raises:
        Refusal: 400 with `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `already_redeemed`,
            `key_limit_reached`, or `invalid_device_code`.
    """
    # That a poll came too early, or when it came, is kept although the request is refused.
    with world.store.write() as connection:
        outcome = _redeem(world, connection, device_code)
    if isinstance(outcome, Refusal):
        raise outcome
    return {"api_key": outcome}


def find_pending(world: World, connection: sqlite3.Connection, user_code: str) -> sqlite3.Row | None:
    """The login that waits for approval under a code."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM device_logins WHERE user_code = ? AND state = 'pending' AND expires_at > ?",
        (_normal_code(user_code), iso(world.pace.now())),
    ).fetchone()
    return row


def decide(
    world: World,
    connection: sqlite3.Connection,
    user_code: str,
    decision: Literal["approve", "deny"],
    login: str,
) -> None:
    """Approve a code for an account, or deny it.

    Raises:
        Refusal: 404 `code_not_found` or `account_not_found`.
    """
    pending = find_pending(world, connection, user_code)
    if pending is None:
        raise Refusal(404, "code_not_found", "No login waits under this code; it may have expired.")
    account = account_named(connection, login)
    if account is None:
        raise Refusal(404, "account_not_found", "There is no such account.")
    connection.execute(
        "UPDATE device_logins SET state = ?, account_id = ? WHERE id = ?",
        ("approved" if decision == "approve" else "denied", account["id"], pending["id"]),
    )
    line = f"Login {pending['user_code']} was {'approved' if decision == 'approve' else 'denied'}."
    record(world, connection, "login", line, account_id=account["id"])


def _redeem(world: World, connection: sqlite3.Connection, device_code: str) -> str | Refusal:
    now = world.pace.now()
    row = connection.execute(
        "SELECT * FROM device_logins WHERE device_code_hash = ?", (digest(device_code),)
    ).fetchone()
    if row is None:
        return Refusal(400, "invalid_device_code", "There is no such login; begin again.")
    if row["state"] == "redeemed":
        return Refusal(400, "already_redeemed", "The key of this login was handed over before; begin again.")
    if row["state"] == "denied":
        return Refusal(400, "access_denied", "The login was denied.")
    if row["expires_at"] <= iso(now):
        return Refusal(400, "expired_token", "The code has expired; begin again.")
    last, interval = row["last_polled_at"], row["interval_seconds"]
    connection.execute("UPDATE device_logins SET last_polled_at = ? WHERE id = ?", (iso(now), row["id"]))
    if row["state"] == "pending":
        if last is not None and (now - parse_iso(last)).total_seconds() < interval * _EARLY:
            return Refusal(400, "slow_down", "Ask less often.", retry_after_seconds=max(1, ceil(interval)))
        return Refusal(400, "authorization_pending", "Nobody has approved this login yet.")
    try:
        key = add_key(world, connection, row["account_id"], "mg login")
    except Refusal as refusal:
        return refusal
    connection.execute("UPDATE device_logins SET state = 'redeemed' WHERE id = ?", (row["id"],))
    return key


def _normal_code(text: str) -> str:
    """A code as it is stored, however it was typed: `bcdf ghjk` is `BCDF-GHJK`."""
    letters = "".join(letter for letter in text.upper() if letter.isalnum())[:16]
    return f"{letters[:4]}-{letters[4:]}"


def _user_code() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"

"""Credits: what an account has in a calendar month, what a review costs, and the account as `GET /me` shows it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Any, Final

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

__all__ = ["REVIEW_COST", "charge", "me", "refund"]

REVIEW_COST: Final = 1
"""Standard credits of one review job, whatever its router mode."""

_SURGE_PRICE: Final = 0.02


def charge(world: World, connection: sqlite3.Connection, account_id: int, job_id: str) -> None:
    """Take the cost of a job: from the month's credits, then from the bonus. A job is charged once, however often
    this is called.

    Raises:
        Refusal: 402 `quota_exceeded`; nothing was taken.
    """
    if connection.execute("SELECT 1 FROM charges WHERE job_id = ?", (job_id,)).fetchone() is not None:
        return
    now = world.pace.now()
    account = connection.execute("SELECT * FROM accounts WHERE id = ?", (account_id,)).fetchone()
    limit = account["credits_limit"]
    used = _used(connection, account_id, now)
    standard = REVIEW_COST if limit is None else min(REVIEW_COST, max(0, limit - used))
    bonus = REVIEW_COST - standard
    if bonus > account["bonus_credits"]:
        raise Refusal(
            402,
            "quota_exceeded",
            f"This month's {limit} review credits are used up; they are renewed at {iso(_renewal(now))}.",
        )
    connection.execute(
        "UPDATE accounts SET bonus_credits = bonus_credits - ? WHERE id = ?", (bonus, account_id)
    )
    connection.execute(
        "INSERT INTO charges (account_id, job_id, standard, bonus, charged_at) VALUES (?, ?, ?, ?, ?)",
        (account_id, job_id, standard, bonus, iso(now)),
    )


def refund(world: World, connection: sqlite3.Connection, job_id: str) -> None:
    """Give back what a job cost, once."""
    row = connection.execute(
        "UPDATE charges SET refunded_at = ? WHERE job_id = ? AND refunded_at IS NULL RETURNING account_id, bonus",
        (iso(world.pace.now()), job_id),
    ).fetchone()
    if row is not None:
        connection.execute(
            "UPDATE accounts SET bonus_credits = bonus_credits + ? WHERE id = ?",
            (row["bonus"], row["account_id"]),
        )


def me(world: World, connection: sqlite3.Connection, caller: Caller) -> dict[str, Any]:
    """The account and key of a caller, with what was used and what is left."""
    now = world.pace.now()
    key = connection.execute("SELECT * FROM keys WHERE id = ?", (caller.key_id,)).fetchone()
    account = connection.execute("SELECT * FROM accounts WHERE id = ?", (caller.account_id,)).fetchone()
    used, limit = _used(connection, caller.account_id, now), account["credits_limit"]
    return {
        "key": {
            "prefix": key["prefix"],
            "name": key["name"],
            "created_at": key["created_at"],
            "last_used_at": key["last_used_at"],
        },
        "plan_key": account["plan_key"],
        "plan_label_key": account["plan_label_key"],
        "resets_at": iso(_renewal(now)),
        "usage": {
            "standard": {
                "used": used,
                "limit": limit,
                "remaining": None if limit is None else max(0, limit - used),
            },
            "bonus": {"remaining": account["bonus_credits"]},
            "surge": {
                "includedMinutes": 0,
                "usedMinutes": 0,
                "walletMinutes": 0,
                "windowStart": iso(_month(now)),
                "pricePerMinuteUsd": _SURGE_PRICE,
            },
        },
    }


def _used(connection: sqlite3.Connection, account_id: int, now: datetime) -> int:
    row = connection.execute(
        "SELECT coalesce(sum(standard), 0) AS used FROM charges "
        "WHERE account_id = ? AND charged_at >= ? AND refunded_at IS NULL",
        (account_id, iso(_month(now))),
    ).fetchone()
    used: int = row["used"]
    return used


def _month(now: datetime) -> datetime:
    return datetime(now.year, now.month, 1, tzinfo=UTC)


def _renewal(now: datetime) -> datetime:
    return datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)

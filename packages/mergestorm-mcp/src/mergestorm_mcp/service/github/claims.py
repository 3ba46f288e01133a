"""Claims: whose the pull requests of some branches will be, said before they are opened with somebody's own credentials."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.access import require_write, visible_repository
from mergestorm_mcp.service.pace import iso

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["claim_heads", "claimed_by"]


def claim_heads(world: World, caller: Caller, owner: str, name: str, heads: Sequence[str]) -> dict[str, Any]:
    """Claim branches for the caller's account. What another account has claimed stays its own.

    Returns:
        `claimed`: those that are the caller's now.

    Raises:
        Refusal: 404 `not_found`, 403 `forbidden`.
    """
    with world.store.write() as connection:
        repository = visible_repository(world, connection, caller, owner, name)
        require_write(world, connection, caller, repository)
        connection.executemany(
            "INSERT OR IGNORE INTO pull_claims (repo_id, head_branch, account_id, at) VALUES (?, ?, ?, ?)",
            [(repository.id, head, caller.account_id, iso(world.pace.now())) for head in heads],
        )
        mine = [
            head
            for head in dict.fromkeys(heads)
            if claimed_by(connection, repository.id, head) == caller.account_id
        ]
    return {"claimed": mine}


def claimed_by(connection: sqlite3.Connection, repo_id: int, head: str) -> int | None:
    """The account that claimed a branch."""
    row = connection.execute(
        "SELECT account_id FROM pull_claims WHERE repo_id = ? AND head_branch = ?", (repo_id, head)
    ).fetchone()
    return int(row["account_id"]) if row is not None else None

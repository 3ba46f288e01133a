"""Local review jobs: `/reviews`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.api.client import DEFAULT_TIMEOUT_SECONDS, Api, Reply
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.api.refusals import failed_to
from mergestorm_mcp.errors import CommandError

__all__ = ["MAX_LISTED", "get_review", "list_reviews", "submit_review"]

MAX_LISTED: Final = 50


async def list_reviews(api: Api, limit: int) -> list[dict[str, Any]]:
    """The newest review jobs of the key's owner, `limit` clamped to 1..50.

    Raises:
        CommandError: without a code, for any status but 200 (429 included: contract 1.2, row 2).
    """
    reply = await api.get(resource("reviews"), {"limit": max(1, min(limit, MAX_LISTED))})
    if reply.status == 404:
        raise CommandError(
            "This Mergestorm service does not list review jobs; check the address or update it."
        )
    if not reply.ok:
        raise failed_to("list jobs", reply)
    items = reply.member("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


async def get_review(api: Api, job_id: str, *, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Reply:
    """One job, whatever the answer."""
    return await api.get(resource("reviews", job_id), seconds=seconds)


async def submit_review(api: Api, submission: Mapping[str, Any]) -> Reply:
    """Submit a job, whatever the answer. Never repeated by the client."""
    return await api.post(resource("reviews"), submission)

"""Stacks and their merge queue: `/stacks`. Every function hands back whatever the answer is; `stacks/` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mergestorm_mcp.api.client import DEFAULT_TIMEOUT_SECONDS, Api, Reply
from mergestorm_mcp.api.paths import resource

__all__ = ["adopt", "cancel_entry", "enqueue", "get_queue", "get_stacks", "get_stacks_enriched", "set_policy"]


async def get_stacks(api: Api, *, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Reply:
    """All stacks of the key's owner, without live checks."""
    return await api.get(resource("stacks"), seconds=seconds)


async def get_stacks_enriched(api: Api, stack_id: str, *, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Reply:
    """One stack with checks and agent state; an unknown id answers 200 with no stacks."""
    return await api.get(resource("stacks", "enrich"), {"stackId": stack_id}, seconds=seconds)


async def get_queue(
    api: Api,
    stack_id: str | None = None,
    *,
    wait: int | None = None,
    seen: str | None = None,
    landed: bool = False,
    seconds: float | None = None,
) -> Reply:
    """The merge queue, of one stack or of all.

    Args:
        api: the service.
        stack_id: always given where one stack is meant: the service cuts bounced entries of the unscoped list.
        wait: seconds the service may hold the answer until the queue differs from `seen`.
        seen: fingerprint of the last answer.
        landed: ask for the newest landed entry too.
        seconds: for the call; `wait` and 5 more for a held one, 30 for others.
    """
    query: dict[str, str | int] = {}
    if stack_id is not None:
        query["stackId"] = stack_id
    if wait is not None:
        query["wait"] = wait
    if seen:
        query["seen"] = seen
    if landed:
        query["landed"] = 1
    if seconds is None:
        seconds = DEFAULT_TIMEOUT_SECONDS if wait is None else wait + 5.0
    return await api.get(resource("stacks", "queue"), query or None, seconds=seconds)


async def adopt(api: Api, request: Mapping[str, Any]) -> Reply:
    """Adopt a chain of pull requests. Never repeated by the client."""
    return await api.post(resource("stacks", "adopt"), request)


async def set_policy(api: Api, stack_id: str, policy: Mapping[str, Any]) -> Reply:
    """Change the policy keys given of one stack. Never repeated by the client."""
    return await api.patch(resource("stacks", stack_id), policy)


async def enqueue(api: Api, stack_id: str) -> Reply:
    """Put a stack into the merge queue. Never repeated by the client."""
    return await api.post(resource("stacks", stack_id, "enqueue"), {})


async def cancel_entry(api: Api, entry_id: str) -> Reply:
    """Ask for an entry to be taken out of the merge queue. Never repeated by the client."""
    return await api.post(resource("stacks", "queue", entry_id, "cancel"), {})

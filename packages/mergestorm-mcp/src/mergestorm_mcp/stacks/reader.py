"""The two reads that a watch is made of, behind a face that tests can play (contract 3.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mergestorm_mcp.stacks.model import same_id

if TYPE_CHECKING:
    from mergestorm_mcp.api.client import Api, Reply

__all__ = ["ApiStackReader", "StackReader", "entries_of", "find_stack", "listed_stacks"]


class StackReader(Protocol):
    """Reads one stack and its queue. Failures are those of `mergestorm_mcp.api.client.Api.request`."""

    async def enrich(self, stack_id: str, seconds: float) -> Reply:
        """The stack with its live checks."""
        ...

    async def queue(
        self, stack_id: str, seconds: float, *, wait: int | None = None, seen: str | None = None
    ) -> Reply:
        """The stack's queue entries; with `wait` held until they differ from `seen`."""
        ...

    async def landed(self, stack_id: str, seconds: float) -> Reply:
        """The stack's queue with its newest landed entry."""
        ...


class ApiStackReader:
    """Reads from the service.

    Args:
        api: the service.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    async def enrich(self, stack_id: str, seconds: float) -> Reply:
        """See `StackReader.enrich`."""
        from mergestorm_mcp.api.stacks import get_stacks_enriched  # httpx is not needed before the first call

        return await get_stacks_enriched(self._api, stack_id, seconds=seconds)

    async def queue(
        self, stack_id: str, seconds: float, *, wait: int | None = None, seen: str | None = None
    ) -> Reply:
        """See `StackReader.queue`."""
        from mergestorm_mcp.api.stacks import get_queue

        return await get_queue(self._api, stack_id, wait=wait, seen=seen, seconds=seconds)

    async def landed(self, stack_id: str, seconds: float) -> Reply:
        """See `StackReader.landed`."""
        from mergestorm_mcp.api.stacks import get_queue

        return await get_queue(self._api, stack_id, landed=True, seconds=seconds)


def listed_stacks(body: Any) -> list[dict[str, Any]] | None:
    """The stacks of an answer; None if it lists none at all, which is not the same as an empty list."""
    stacks = body.get("stacks") if isinstance(body, dict) else None
    return [item for item in stacks if isinstance(item, dict)] if isinstance(stacks, list) else None


def find_stack(stacks: list[dict[str, Any]], stack_id: str) -> dict[str, Any] | None:
    """The stack with an id, compared without case and surrounding blanks."""
    return next(
        (item for item in stacks if isinstance(item.get("id"), str) and same_id(item["id"], stack_id)), None
    )


def entries_of(body: Any) -> list[Any] | None:
    """The queue entries of an answer; None if it lists none at all."""
    entries = body.get("entries") if isinstance(body, dict) else None
    return entries if isinstance(entries, list) else None

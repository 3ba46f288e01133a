"""Reviews of GitHub pull requests: `/stacks/pr-review`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mergestorm_mcp.api.client import DEFAULT_TIMEOUT_SECONDS, Api, Reply
from mergestorm_mcp.api.paths import resource

__all__ = ["dismiss_findings", "get_pr_review"]


async def get_pr_review(
    api: Api, query: Mapping[str, str | int], *, seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> Reply:
    """The latest or selected pass, whatever the answer."""
    return await api.get(resource("stacks", "pr-review"), query, seconds=seconds)


async def dismiss_findings(api: Api, request: Mapping[str, Any]) -> Reply:
    """Dismiss findings, or preview it, whatever the answer. Never repeated by the client."""
    return await api.post(resource("stacks", "pr-review", "dismiss"), request)

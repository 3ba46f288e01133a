"""Publications of branches: `/stacks/publish`. Whatever the answer is; `publication/` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.paths import resource

__all__ = ["PUBLISH_SECONDS", "get_publication", "publish"]

PUBLISH_SECONDS: Final = 120.0
"""How long the service may take: it writes every object to GitHub first (contract 5.4)."""


async def publish(api: Api, request: Mapping[str, Any]) -> Reply:
    """Publish a branch. Never repeated by the client."""
    return await api.post(resource("stacks", "publish"), request, seconds=PUBLISH_SECONDS)


async def get_publication(api: Api, *, owner: str, repo: str, branch: str) -> Reply:
    """How far a publication got."""
    return await api.get(resource("stacks", "publish"), {"owner": owner, "repo": repo, "branch": branch})

"""GitHub issues made by the Surge App: `/issues`.

The shape is ours until one is published (contract 1.3 and 3.18). The service names the caller in the body, wants the
labels to exist, and answers the same title again with the open issue it already made.
"""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.api.client import Api
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal
from mergestorm_mcp.errors import CommandError

__all__ = ["create_issue"]

_KNOWN_CODES: Final = frozenset({
    "busy",
    "cyclone_not_connected",
    "cyclone_not_installed",
    "cyclone_permission_missing",
    "forbidden",
    "github_unreadable",
    "invalid_input",
    "label_not_found",
    "not_found",
})


async def create_issue(
    api: Api, *, owner: str, repo: str, title: str, body: str | None, labels: list[str] | None
) -> dict[str, Any]:
    """Create an issue, or find the open one of the same title that was made before.

    Returns:
        `created`, `number`, `url`, `title`, `owner`, `repo`, `labels`.

    Raises:
        CommandError: `rate_limited`, `forbidden`, `label_not_found`, a Surge refusal, or without a code.
    """
    request: dict[str, Any] = {"owner": owner, "repo": repo, "title": title}
    if body is not None:
        request["body"] = body
    if labels is not None:
        request["labels"] = labels
    reply = await api.post(resource("issues"), request)
    number = reply.member("number")
    if reply.status in {200, 201} and isinstance(number, int) and not isinstance(number, bool):
        return {
            "created": reply.member("created") is not False,
            "number": number,
            "url": reply.text("url"),
            "title": reply.text("title") or title,
            "owner": reply.text("owner") or owner,
            "repo": reply.text("repo") or repo,
            "labels": reply.member("labels") if isinstance(reply.member("labels"), list) else labels or [],
        }
    raise_rate_limit(reply)
    surge = surge_refusal(reply)
    if surge is not None:
        raise surge
    code = reply.text("error")
    raise CommandError(
        service_words(reply) or failed_to("create the issue", reply).message,
        code=code if code in _KNOWN_CODES else None,
    )

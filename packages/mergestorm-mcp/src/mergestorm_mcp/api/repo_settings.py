"""A repository's own settings: `/repo-settings`.

The shape is ours until one is published (contract 1.3 and 3.17): a member that is null is not set, and the account's
value applies. Everything that knows the wire names is in this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal
from mergestorm_mcp.errors import CommandError

__all__ = ["WIRE_NAMES", "change_repo_settings", "read_repo_settings"]

WIRE_NAMES: Final[Mapping[str, str]] = {
    "auto_patch": "auto_patch_enabled",
    "auto_review": "auto_review_enabled",
    "auto_land": "auto_land_default",
    "merge_queue_batch": "merge_queue_batch_enabled",
    "merge_queue_overdrive": "merge_queue_overdrive",
    "merge_queue_batch_size": "merge_queue_batch_size",
    "merge_queue_lands_alone_paths": "merge_queue_lands_alone_paths",
}
"""What a tool or command calls a setting, and what the service does."""

_KNOWN_CODES: Final = frozenset({"forbidden", "not_found", "invalid_input"})


async def read_repo_settings(api: Api, repository: tuple[str, str] | None) -> list[dict[str, Any]]:
    """The settings of one repository (owner, name), or of every connected one.

    Raises:
        CommandError: `rate_limited`, `forbidden`, `not_found`, or without a code.
    """
    query = None if repository is None else {"owner": repository[0], "repo": repository[1]}
    reply = await api.get(resource("repo-settings"), query)
    listed = reply.member("repositories")
    if not reply.ok or not isinstance(listed, list):
        raise _refusal("read repository settings", reply)
    return [item for item in listed if isinstance(item, dict)]


async def change_repo_settings(
    api: Api, repository: tuple[str, str], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Change the settings given, null clearing one; the repository's settings as stored.

    Args:
        api: the service.
        repository: owner and name.
        changes: by the names of `WIRE_NAMES`.

    Raises:
        CommandError: `rate_limited`, `forbidden`, `not_found`, a Surge refusal, or without a code.
    """
    body = {"owner": repository[0], "repo": repository[1]}
    reply = await api.patch(
        resource("repo-settings"), {**body, **{WIRE_NAMES[name]: value for name, value in changes.items()}}
    )
    if not reply.ok or not isinstance(reply.body, dict):
        raise _refusal("update repository settings", reply)
    return reply.body


def _refusal(what: str, reply: Reply) -> CommandError:
    raise_rate_limit(reply)
    surge = surge_refusal(reply)
    if surge is not None:
        return surge
    code = reply.text("error")
    return CommandError(
        service_words(reply) or failed_to(what, reply).message, code=code if code in _KNOWN_CODES else None
    )

"""The account's settings: `/settings`, and the catalog of what can be set (contract 1.4 and 3.16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.api.client import Api
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout

__all__ = ["READ_ONLY", "change_settings", "read_settings"]

READ_ONLY: Final = ("cyclone_connected", "github_connected")
"""Members that are shown and cannot be set."""


async def read_settings(api: Api) -> dict[str, Any]:
    """The settings.

    Raises:
        CommandError: without a code where the service has no usable answer (429 included); `auth_invalid`.
    """
    try:
        reply = await api.get(resource("settings"))
    except (ConnectionFailed, RequestTimeout):
        reply = None
    if reply is None or not reply.ok or not isinstance(reply.body, dict):
        raise CommandError("Settings are not available from Mergestorm now; call again in a while.")
    return reply.body


async def change_settings(api: Api, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change the settings given and no others; the settings as stored.

    Raises:
        CommandError: `rate_limited`; without a code for a refusal, with the service's words where it sent any.
    """
    reply = await api.patch(resource("settings"), changes)
    raise_rate_limit(reply)
    if reply.status == 404:
        raise CommandError(
            "This Mergestorm service has no settings to change; check the address or update it."
        )
    if not reply.ok or not isinstance(reply.body, dict):
        raise CommandError(service_words(reply) or failed_to("update settings", reply).message)
    return reply.body

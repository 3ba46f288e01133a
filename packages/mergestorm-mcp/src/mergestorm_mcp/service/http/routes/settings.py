"""`/settings` and `/repo-settings`."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from mergestorm_mcp.service.agents.reactions import on_settings_changed
from mergestorm_mcp.service.http.bodies import Name, Query
from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.refusals import invalid_input
from mergestorm_mcp.service.settings import values
from mergestorm_mcp.service.settings.catalog import RepositorySettingsBody, SettingsBody

__all__ = ["routes"]


class _Which(Query):
    owner: Name | None = None
    repo: Name | None = None


def routes() -> list[Route]:
    """Reading and changing settings."""
    return [
        endpoint("GET", "/api/v1/settings", _read),
        endpoint("PATCH", "/api/v1/settings", _change, body=SettingsBody),
        endpoint("GET", "/api/v1/repo-settings", _read_repositories, query=_Which),
        endpoint(
            "PATCH",
            "/api/v1/repo-settings",
            _change_repository,
            body=RepositorySettingsBody,
            max_body=1 << 20,
        ),
    ]


def _read(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return values.account_settings(connection, call.caller.account_id)


def _change(call: Call) -> dict[str, Any]:
    with call.world.store.write() as connection:
        changed = values.change_account_settings(
            connection, call.caller.account_id, call.body.model_dump(exclude_unset=True)
        )
        on_settings_changed(call.world, connection, call.caller.account_id)
        return changed


def _read_repositories(call: Call) -> dict[str, Any]:
    owner, repo = call.query.owner, call.query.repo
    if (owner is None) != (repo is None):
        raise invalid_input("Give owner and repo, or neither.")
    with call.world.store.read() as connection:
        if owner is None:
            found = values.connected_repositories(call.world, connection, call.caller)
        else:
            found = [values.connected_repository(call.world, connection, call.caller, owner, repo)]
        account = call.caller.account_id
        return {"repositories": [values.repository_settings(connection, account, each) for each in found]}


def _change_repository(call: Call) -> dict[str, Any]:
    changes = call.body.model_dump(exclude_unset=True)
    owner, repo = changes.pop("owner"), changes.pop("repo")
    with call.world.store.write() as connection:
        changed = values.change_repository_settings(call.world, connection, call.caller, owner, repo, changes)
        on_settings_changed(call.world, connection, call.caller.account_id)
        return changed

"""Stacks: listing, adopting, policy, and moving them on by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.agents.reactions import on_pull_changed
from mergestorm_mcp.service.github.access import reading_github, require_write, visible_repository
from mergestorm_mcp.service.http.bodies import Body, Name, NotNull, Query
from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.refusals import invalid_input
from mergestorm_mcp.service.stacks.landing import land_next
from mergestorm_mcp.service.stacks.live import live_stack
from mergestorm_mcp.service.stacks.policy import change_policy, policy_of
from mergestorm_mcp.service.stacks.queue import enqueue, entry_view
from mergestorm_mcp.service.stacks.records import layers_of, owned_stack, stack_by_id, stacks_of
from mergestorm_mcp.service.stacks.registration import adopt
from mergestorm_mcp.service.stacks.restack import restack
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.stacks.units import ensure_upper_park
from mergestorm_mcp.service.stacks.view import listed_view, stack_view

__all__ = ["routes"]

StackId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Pin = bool | None


class _PolicyBody(Body):
    autoEnqueueWhenReady: Annotated[bool | None, NotNull] = None  # noqa: N815 - names of the wire
    autoReviewOverride: Pin = None  # noqa: N815
    autoPatchOverride: Pin = None  # noqa: N815
    autoResolveConflictsOverride: Pin = None  # noqa: N815
    autoFixCiOverride: Pin = None  # noqa: N815


class _AdoptBody(_PolicyBody):
    owner: Name
    repo: Name
    prNumber: Annotated[int, Field(ge=1, le=2**31)]  # noqa: N815


class _LandBody(Body):
    prNumber: Annotated[int | None, Field(ge=1, le=2**31), NotNull] = None  # noqa: N815


class _EnrichQuery(Query):
    stackId: StackId | None = None  # noqa: N815


def routes() -> list[Route]:
    """Stacks."""
    return [
        endpoint("GET", "/api/v1/stacks", _list),
        endpoint("GET", "/api/v1/stacks/enrich", _enrich, query=_EnrichQuery),
        endpoint("POST", "/api/v1/stacks/adopt", _adopt, body=_AdoptBody),
        endpoint("PATCH", "/api/v1/stacks/{id}", _set_policy, body=_PolicyBody),
        endpoint("POST", "/api/v1/stacks/{id}/restack", _restack),
        endpoint("POST", "/api/v1/stacks/{id}/land-next", _land_next, body=_LandBody),
        endpoint("POST", "/api/v1/stacks/{id}/enqueue", _enqueue),
        endpoint("POST", "/api/v1/stacks/{id}/ensure-upper-park", _park),
    ]


def _list(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection, reading_github():
        return {"stacks": [_shown(call, connection, row, listed_view) for row in _owned(call, connection)]}


def _enrich(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection, reading_github():
        wanted = call.query.stackId
        rows = _owned(call, connection)
        if wanted is not None:
            rows = [row for row in rows if row["id"] == wanted.strip().lower()]
        return {"stacks": [_shown(call, connection, row, stack_view) for row in rows]}


def _adopt(call: Call) -> dict[str, Any]:
    body = call.body
    policy = _given(body)
    with call.world.store.write() as connection, reading_github():
        repository = visible_repository(call.world, connection, call.caller, body.owner, body.repo)
        adopted = adopt(call.world, connection, call.caller, repository.id, body.prNumber, policy)
        row = stack_by_id(connection, adopted.stack_id)
        assert row is not None  # noqa: S101 - adopted just now
        return {
            "stack": {
                "id": row["id"],
                "owner": repository.owner,
                "repo": repository.name,
                "trunkBranch": row["trunk_branch"],
                "landTarget": row["trunk_branch"],
                **policy_of(row),
            },
            "chain": [
                {
                    "prNumber": layer["pull_number"],
                    "branch": layer["branch"],
                    "position": layer["position"],
                }
                for layer in layers_of(connection, row["id"])
            ],
        }


def _set_policy(call: Call) -> dict[str, Any]:
    policy = _given(call.body)
    with _owned_site(call) as (site, row):
        if not policy:
            raise invalid_input("Give at least one policy key.")
        change_policy(site, row, policy)
        for layer in layers_of(site.connection, row["id"]):
            on_pull_changed(call.world, site.connection, site.repo_id, layer["pull_number"])
        changed = owned_stack(site.connection, call.caller.account_id, row["id"])
        return {"id": row["id"], **policy_of(changed)}


def _restack(call: Call) -> dict[str, Any]:
    with _owned_site(call) as (site, row):
        source = restack(site, row["id"])
        return {} if source is None else {"fromBranch": source}


def _land_next(call: Call) -> dict[str, Any]:
    with _owned_site(call) as (site, row):
        return land_next(site, row, call.body.prNumber)


def _enqueue(call: Call) -> dict[str, Any]:
    with _owned_site(call) as (site, row):
        entry, duplicate = enqueue(site, live_stack(site, row), by="human", via="api")
        name = (site.repository.owner, site.repository.name)
        return {"entry": entry_view(site.connection, entry, name), "duplicate": duplicate}


def _park(call: Call) -> dict[str, Any]:
    with _owned_site(call) as (site, row):
        branch, created = ensure_upper_park(site, row)
        return {"freezeBranch": branch, "created": created}


def _given(body: _PolicyBody) -> dict[str, bool | None]:
    """The policy keys that were sent; null is a value."""
    return {name: getattr(body, name) for name in _PolicyBody.model_fields if name in body.model_fields_set}


def _owned(call: Call, connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return stacks_of(connection, call.caller.account_id)


def _shown(
    call: Call,
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    view: Callable[[Site, Any], dict[str, Any]],
) -> dict[str, Any]:
    site = Site.of(call.world, connection, row["repo_id"])
    return view(site, live_stack(site, row))


@contextmanager
def _owned_site(call: Call) -> Iterator[tuple[Site, sqlite3.Row]]:
    """The caller's stack of the path, within a write. A caller who may no longer write to its repository is refused."""
    with call.world.store.write() as connection, reading_github():
        row = owned_stack(connection, call.caller.account_id, call.part("id"))
        site = Site.of(call.world, connection, row["repo_id"])
        require_write(call.world, connection, call.caller, site.repository)
        yield site, row

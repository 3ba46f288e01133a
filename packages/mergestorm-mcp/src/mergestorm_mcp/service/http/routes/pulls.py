"""`GET` and `POST /stacks/pulls`, `POST /stacks/pull-claims`: pull requests of branches that were pushed with git."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.github.claims import claim_heads
from mergestorm_mcp.service.github.pull_opening import find_pull, open_pull
from mergestorm_mcp.service.http.bodies import Body, Name, Query
from mergestorm_mcp.service.http.endpoints import Answer, Call, endpoint

__all__ = ["routes"]

Branch = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class _PullQuery(Query):
    owner: Name
    repo: Name
    head: Branch


class _PullBody(Body):
    owner: Name
    repo: Name
    head: Branch
    base: Branch
    title: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    body: Annotated[str, StringConstraints(max_length=65_536)]


class _ClaimBody(Body):
    owner: Name
    repo: Name
    heads: Annotated[list[Branch], Field(min_length=1, max_length=20)]


def routes() -> list[Route]:
    """Pull requests."""
    return [
        endpoint("GET", "/api/v1/stacks/pulls", _find, query=_PullQuery),
        endpoint("POST", "/api/v1/stacks/pulls", _open, body=_PullBody, max_body=1 << 20),
        endpoint("POST", "/api/v1/stacks/pull-claims", _claim, body=_ClaimBody),
    ]


def _find(call: Call) -> dict[str, Any]:
    return {"number": find_pull(call.world, call.caller, call.query.owner, call.query.repo, call.query.head)}


def _open(call: Call) -> Answer:
    told = open_pull(
        call.world,
        call.caller,
        call.body.owner,
        call.body.repo,
        head=call.body.head,
        base=call.body.base,
        title=call.body.title,
        body=call.body.body,
    )
    return Answer(told, status=201 if told["created"] else 200)


def _claim(call: Call) -> dict[str, Any]:
    return claim_heads(call.world, call.caller, call.body.owner, call.body.repo, call.body.heads)

"""Reviews of pull requests: reading a pass, and dismissing findings."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.agents.reactions import on_pull_changed
from mergestorm_mcp.service.github.access import reading_github
from mergestorm_mcp.service.http.bodies import Body, Digits, Name, NotNull, Query
from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.pr_reviews.dismissal import Request, dismiss
from mergestorm_mcp.service.pr_reviews.reading import pr_review
from mergestorm_mcp.service.world import World

__all__ = ["routes"]

Number = Annotated[int, Field(ge=1, le=2**31), Digits]


def _web_address(value: str | None) -> str | None:
    if value is None:
        return None
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an http or https address")
    return value


class _ReviewQuery(Query):
    owner: Name
    repo: Name
    pr_number: Number
    after_sha: Annotated[str, StringConstraints(max_length=64, pattern=r"^[0-9A-Fa-f]{7,40}$")] | None = None
    pass_: Annotated[Number | None, Field(alias="pass")] = None
    after_pass: Number | None = None


class _DismissBody(Body):
    owner: Name
    repo: Name
    pr_number: Annotated[int, Field(ge=1, le=2**31)]
    head_sha: Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{40}$")]
    review_id: Annotated[int, Field(ge=1, le=2**53)]
    scope: Annotated[Literal["findings", "review"] | None, NotNull] = None
    finding_ids: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=200)]],
        Field(max_length=50, default_factory=list),
    ]
    reason: Annotated[Annotated[str, StringConstraints(max_length=20_000)] | None, NotNull] = None
    evidence_url: Annotated[
        Annotated[str, StringConstraints(max_length=2000)] | None, AfterValidator(_web_address), NotNull
    ] = None
    preview: bool = False


def routes() -> list[Route]:
    """Reviews of pull requests."""
    return [
        endpoint("GET", "/api/v1/stacks/pr-review", _read, query=_ReviewQuery),
        endpoint("POST", "/api/v1/stacks/pr-review/dismiss", _dismiss, body=_DismissBody, max_body=1 << 20),
    ]


def _read(call: Call) -> dict[str, Any]:
    query = call.query
    with call.world.store.read() as connection, reading_github():
        return pr_review(
            call.world,
            connection,
            call.caller,
            query.owner,
            query.repo,
            query.pr_number,
            after_sha=query.after_sha,
            pass_number=query.pass_,
            after_pass=query.after_pass,
        )


def _dismiss(call: Call) -> dict[str, Any]:
    request = Request(**call.body.model_dump())
    world: World = call.world
    if request.preview:
        with world.store.read() as connection, reading_github():
            return dismiss(world, connection, call.caller, request)
    with world.store.write() as connection, reading_github():
        result = dismiss(world, connection, call.caller, request)
        if result["dismissed"]:
            repository = world.hub.find_repository(connection, request.owner, request.repo)
            if repository is not None:
                on_pull_changed(world, connection, repository.id, request.pr_number)
        return result

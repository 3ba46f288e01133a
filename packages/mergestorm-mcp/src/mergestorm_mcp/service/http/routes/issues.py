"""`POST /issues`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.http.bodies import Body, Name
from mergestorm_mcp.service.http.endpoints import Answer, Call, endpoint
from mergestorm_mcp.service.issues.making import make_issue

__all__ = ["routes"]

_Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256, pattern=r"\S")]
_Label = Annotated[str, StringConstraints(min_length=1, max_length=50)]
_MAX_BODY = 65_536


class _IssueBody(Body):
    owner: Name
    repo: Name
    title: _Title
    body: Annotated[str, StringConstraints(max_length=_MAX_BODY)] = ""
    labels: Annotated[list[_Label], Field(max_length=100)] = Field(default_factory=list)


def routes() -> list[Route]:
    """Making issues."""
    return [endpoint("POST", "/api/v1/issues", _make, body=_IssueBody, max_body=1 << 20)]


def _make(call: Call) -> Answer:
    asked = call.body
    with call.world.store.write() as connection:
        made = make_issue(
            call.world,
            connection,
            call.caller,
            owner=asked.owner,
            repo=asked.repo,
            title=asked.title,
            body=asked.body,
            labels=asked.labels,
        )
    return Answer(made, 201 if made["created"] else 200)

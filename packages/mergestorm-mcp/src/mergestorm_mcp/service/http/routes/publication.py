"""`POST` and `GET /stacks/publish`."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.publication.limits import MAX_REQUEST_BYTES
from mergestorm_mcp.service.publication.publish import publish
from mergestorm_mcp.service.publication.request import PublicationQuery, PublishBody
from mergestorm_mcp.service.publication.status import publication_status

__all__ = ["routes"]


def routes() -> list[Route]:
    """Publications."""
    path = "/api/v1/stacks/publish"
    return [
        endpoint("POST", path, _publish, body=PublishBody, max_body=MAX_REQUEST_BYTES),
        endpoint("GET", path, _status, query=PublicationQuery),
    ]


def _publish(call: Call) -> dict[str, Any]:
    return publish(call.world, call.caller, call.body)


def _status(call: Call) -> dict[str, Any]:
    return publication_status(call.world, call.caller, call.query)

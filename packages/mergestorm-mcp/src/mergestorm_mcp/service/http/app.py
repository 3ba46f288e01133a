"""The application: every room's routes behind the guard."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp

from mergestorm_mcp.service.http import document
from mergestorm_mcp.service.http.endpoints import ApiRoute, envelope
from mergestorm_mcp.service.http.guard import Guard
from mergestorm_mcp.service.http.routes import (
    account,
    devices,
    issues,
    pr_reviews,
    publication,
    pulls,
    queue,
    reviews,
    settings,
    stacks,
    ui,
)
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

__all__ = ["api_routes", "application", "every_route"]


def every_route() -> list[Route]:
    """The routes of every room; literal paths come before those with parameters within a room."""
    rooms = (
        account,
        reviews,
        settings,
        issues,
        devices,
        pulls,
        publication,
        queue,
        pr_reviews,
        stacks,
        document,
        ui,
    )
    return [route for room in rooms for route in room.routes()]


def api_routes() -> list[ApiRoute]:
    """The routes of the API: those the OpenAPI document describes."""
    return [route for route in every_route() if isinstance(route, ApiRoute)]


def application(world: World) -> ASGIApp:
    """The ASGI application of one service."""
    app = Starlette(routes=every_route(), exception_handlers={HTTPException: _unanswered})
    app.router.redirect_slashes = False
    app.state.world = world
    return Guard(app)


async def _unanswered(request: Request, error: Exception) -> Response:
    """No such path, or a path that does not take the method; then with the methods it takes."""
    allowed = sorted({
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    })
    if not isinstance(error, HTTPException) or error.status_code != 405 or not allowed:
        return envelope(Refusal(404, "not_found", "There is nothing at this address."))
    response = envelope(Refusal(405, "method_not_allowed", f"This address takes {', '.join(allowed)}."))
    response.headers["Allow"] = ", ".join(allowed)
    return response

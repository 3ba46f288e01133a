"""The first page: what this is and where to go on."""

from __future__ import annotations

from html import escape

from starlette.routing import Route

from mergestorm_mcp.service.http.pages import Page, Visit, page

__all__ = ["routes"]


def routes() -> list[Route]:
    """The first page."""
    return [page("GET", "/", _home)]


def _home(visit: Visit) -> Page:
    return Page(
        "A local Mergestorm",
        f"<p>This service answers at <code>{escape(visit.world.base_url)}</code>.</p>\n"
        '<ul>\n<li><a href="/device">Approve a login</a></li>\n</ul>',
    )

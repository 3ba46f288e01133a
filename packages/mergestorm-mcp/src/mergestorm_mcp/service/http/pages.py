"""Pages for people: HTML out of this process, forms that only its own pages can send.

A form is taken with an Origin (which every browser sends with a form, and the guard holds against the service's own) and
the run token: typed in, or in the cookie that the link printed at the start gives. Nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mergestorm_mcp.service.http.receiving import media_type, receive
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

__all__ = [
    "Page",
    "Visit",
    "admission",
    "answered",
    "cookie_name",
    "entrance",
    "is_trusted",
    "page",
    "read_form",
]

_MAX_FORM: Final = 16 * 1024
_MAX_FIELDS: Final = 50

_STYLE: Final = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 40rem; padding: 1.5rem; }
label { display: block; font-weight: 600; margin-top: 1rem; }
input, select, button { font: inherit; padding: .5rem .75rem; min-height: 2.75rem; box-sizing: border-box; }
input, select { width: 100%; }
button { margin: 1.25rem .75rem 0 0; }
code { font-size: 1.1em; letter-spacing: .05em; }
[role=alert], [role=status] { border-left: .3rem solid; padding-left: .75rem; font-weight: 600; }
"""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-"
        + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        + "'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    # Not no-referrer: a browser would send the form's Origin as null then.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page.

    Attributes:
        world: the service.
        query: the parameters, the last of each name.
        form: the fields of a form that was sent; empty for a look.
        trusted: whether the visitor has shown the run token.
    """

    world: World
    query: Mapping[str, str]
    form: Mapping[str, str]
    trusted: bool


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown.

    Attributes:
        title: of the page, also its heading; plain text.
        content: HTML, with everything foreign escaped.
        status: HTTP status.
    """

    title: str
    content: str
    status: int = 200


def page(method: str, path: str, handle: Callable[[Visit], Page]) -> Route:
    """A route for a page. `handle` runs on a worker thread; a `Refusal` it raises is shown as a page."""

    async def run(request: Request) -> Response:
        world: World = request.app.state.world
        try:
            form = await read_form(request) if method == "POST" else {}
            visit = Visit(world, dict(request.query_params), form, is_trusted(world, request, form))
            shown = await anyio.to_thread.run_sync(handle, visit)
        except Refusal as refusal:
            shown = Page(
                "That did not work", f'<p role="alert">{escape(refusal.message)}</p>', refusal.status
            )
        except ClientDisconnect:
            return Response(status_code=400)
        return answered(shown)

    return Route(path, run, methods=[method])


def entrance(path: str = "/enter") -> Route:
    """Where the link printed at the start leads: takes the run token out of the address and into a cookie."""

    async def run(request: Request) -> Response:
        world: World = request.app.state.world
        if not _is_run_token(world, request.query_params.get("token", "")):
            shown = Page(
                "Not this link", '<p role="alert">The link is of another run of the service.</p>', 403
            )
            return answered(shown)
        return admission(world)

    return Route(path, run, methods=["GET"])


def admission(world: World) -> Response:
    """To the page, with the run token in a cookie that scripts cannot read and other sites cannot make use of."""
    answer = RedirectResponse("/", 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    answer.set_cookie(cookie_name(world), world.run_token, httponly=True, samesite="strict", path="/")
    return answer


def answered(shown: Page) -> Response:
    """A page as an answer."""
    return HTMLResponse(_document(shown), shown.status, _HEADERS)


def cookie_name(world: World) -> str:
    """The cookie that holds the run token; cookies do not tell ports apart, so the name does."""
    return f"mergestorm_local_{urlsplit(world.base_url).port}"


def is_trusted(world: World, request: Request, form: Mapping[str, str]) -> bool:
    """Whether a request shows the run token, in its form or in the cookie."""
    shown = (form.get("token", ""), request.cookies.get(cookie_name(world), ""))
    return any(_is_run_token(world, each) for each in shown)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that one of the service's own pages sent.

    Raises:
        Refusal: 403 `origin_missing`, 415, 413, 408, or 400 `invalid_input`.
        ClientDisconnect: it did not arrive.
    """
    if "origin" not in request.headers:
        raise Refusal(403, "origin_missing", "Forms are taken from the pages of the service only.")
    if media_type(request) != "application/x-www-form-urlencoded":
        raise Refusal(415, "unsupported_media_type", "This is not a form.")
    raw = await receive(
        request, _MAX_FORM, too_large="The form is too long.", too_slow="The form took too long to arrive."
    )
    try:
        return dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise Refusal(400, "invalid_input", "The form cannot be read.") from None


def _is_run_token(world: World, text: str) -> bool:
    return hmac.compare_digest(text.encode(), world.run_token.encode())


def _document(shown: Page) -> str:
    title = escape(shown.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title} · Mergestorm local</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{title}</h1>\n{shown.content}\n</main>\n</body>\n</html>\n"
    )

"""The page of the service at `/`, what it reads, and what a person can do on it.

Whoever looks needs the run token: in the cookie that the link of the start gives, or typed in. Whoever acts needs an
Origin besides, as `pages.read_form` wants it. The style, the script and the icon hold nothing that is secret.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from mergestorm_mcp.service.http.bodies import Digits
from mergestorm_mcp.service.http.endpoints import envelope
from mergestorm_mcp.service.http.pages import Page, admission, answered, is_trusted, read_form
from mergestorm_mcp.service.refusals import Refusal, invalid_input
from mergestorm_mcp.service.ui import actions
from mergestorm_mcp.service.ui.board import board
from mergestorm_mcp.service.world import World

__all__ = ["LONGEST_WAIT", "routes"]

LONGEST_WAIT: Final = 25.0
"""Seconds that a read is held at most."""

_BREATH: Final = 0.15
"""Seconds between two looks of a held read, so that a busy service is not read for the page all the time."""

_LOG: Final = logging.getLogger("mergestorm_mcp.service")
_ASSETS: Final = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_PAGE_HEADERS: Final = {
    **_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
}

StackId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Repository = Annotated[str, StringConstraints(pattern=r"^[^/\s]{1,100}/[^/\s]{1,100}$")]
Number = Annotated[int, Field(ge=1, le=2**31), Digits]


class _Form(BaseModel):
    """The fields of an action; a token may be among them, in place of the cookie."""

    model_config = ConfigDict(extra="forbid")


class _AutoLand(_Form):
    stack_id: StackId
    armed: bool

    def act(self, world: World) -> str:
        return actions.set_auto_land(world, self.stack_id, armed=self.armed)


class _Archive(_Form):
    stack_id: StackId

    def act(self, world: World) -> str:
        return actions.archive_stack(world, self.stack_id)


class _Land(_Form):
    stack_id: StackId
    number: Number

    def act(self, world: World) -> str:
        return actions.land_pull(world, self.stack_id, self.number)


class _Continue(_Form):
    stack_id: StackId
    number: Number

    def act(self, world: World) -> str:
        return actions.continue_review(world, self.stack_id, self.number)


class _Close(_Form):
    repository: Repository
    number: Number

    def act(self, world: World) -> str:
        return actions.close_pull(world, self.repository, self.number)


class _Rerun(_Form):
    repository: Repository
    number: Number

    def act(self, world: World) -> str:
        return actions.rerun(world, self.repository, self.number)


Action = _AutoLand | _Archive | _Land | _Continue | _Close | _Rerun

_ACTIONS: Final[dict[str, type[Action]]] = {
    "auto-land": _AutoLand,
    "archive": _Archive,
    "land": _Land,
    "continue": _Continue,
    "close": _Close,
    "rerun": _Rerun,
}


def routes() -> list[Route]:
    """The page and its parts."""
    return [
        Route("/", _page, methods=["GET"]),
        Route("/enter", _guarded(_enter), methods=["POST"]),
        Route("/ui/state", _guarded(_state), methods=["GET"]),
        *(Route(f"/ui/{name}", _asset(name, kind), methods=["GET"]) for name, kind in _ASSETS.items()),
        *(Route(f"/ui/{name}", _guarded(_act(form)), methods=["POST"]) for name, form in _ACTIONS.items()),
    ]


async def _page(request: Request) -> Response:
    if is_trusted(request.app.state.world, request, {}):
        return Response(_read("page.html"), 200, _PAGE_HEADERS, "text/html; charset=utf-8")
    return answered(_door())


async def _enter(request: Request) -> Response:
    """The token typed in at the door."""
    world: World = request.app.state.world
    if is_trusted(world, request, await read_form(request)):
        return admission(world)
    return answered(_door("That is not the run token of this run."))


def _door(problem: str = "") -> Page:
    alert = f'<p role="alert">{problem}</p>\n' if problem else ""
    return Page(
        "A local Mergestorm",
        f"{alert}<p>Open the link that <code>mergestorm-local serve</code> printed, or that <code>mergestorm-local ui"
        "</code> opens. The run token is at the end of it; you can also type it in here.</p>\n"
        '<form method="post" action="/enter">\n<label for="token">Run token</label>\n'
        '<input id="token" name="token" type="password" required autocomplete="off">\n'
        '<button type="submit">Enter</button>\n</form>',
        403,
    )


async def _state(request: Request) -> Response:
    """What the page shows; held while it is what the reader has `seen`."""
    world: World = request.app.state.world
    _require_token(world, request, {})
    seen = request.query_params.get("seen")
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        version = world.changes.version
        shown = await anyio.to_thread.run_sync(board, world)
        left = deadline - time.monotonic()
        if shown["seen"] != seen or left <= 0 or world.changes.closed:
            return _json(shown)
        await world.changes.wait(version, left)
        if not world.changes.closed:
            await anyio.sleep(_BREATH)


def _act(form: type[Action]) -> Callable[[Request], Awaitable[Response]]:
    async def run(request: Request) -> Response:
        world: World = request.app.state.world
        fields = await read_form(request)
        _require_token(world, request, fields)
        fields.pop("token", None)
        try:
            asked = form.model_validate(fields)
        except ValidationError:
            raise invalid_input("The fields of the form are not those of this action.") from None
        return _json({"done": await anyio.to_thread.run_sync(asked.act, world)})

    return run


def _require_token(world: World, request: Request, fields: dict[str, str]) -> None:
    if not is_trusted(world, request, fields):
        raise Refusal(403, "run_token_missing", "Open the page by the link that the service printed.")


def _guarded(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Answers refusals, and mistakes of the service, with the error envelope."""

    async def run(request: Request) -> Response:
        try:
            return await handle(request)
        except Refusal as refusal:
            return envelope(refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:  # noqa: BLE001 - the boundary: logged, and answered as what it is
            _LOG.exception("the page could not be served")
            return envelope(Refusal(500, "internal_error", "The service made a mistake; its log says which."))

    return run


def _asset(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def run(_request: Request) -> Response:
        return Response(_read(name), 200, _HEADERS, f"{kind}; charset=utf-8")

    return run


def _read(name: str) -> bytes:
    return resources.files("mergestorm_mcp.service.ui").joinpath("assets", name).read_bytes()


def _json(body: dict[str, Any]) -> Response:
    # ASCII only: a lone surrogate of a hostile name then still is JSON.
    return Response(json.dumps(body, allow_nan=False), 200, _HEADERS, "application/json")

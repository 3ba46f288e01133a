"""One endpoint: whose key, which knobs, is the body right, what the domain says, how it is answered.

    endpoint("GET", "/api/v1/me", handle)
    endpoint("POST", "/api/v1/issues", handle, body=IssueBody)

`handle(call)` is a plain function and runs on a worker thread; one declared `async` runs on the loop, for long polls, and
uses `call.in_thread` for whatever touches the database. It returns what is answered with 200, or an `Answer`; a
`Refusal` it raises becomes the error envelope.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.accounts.keys import Caller, authenticate, touch_key
from mergestorm_mcp.service.http.bodies import Body, Query
from mergestorm_mcp.service.http.receiving import media_type, receive
from mergestorm_mcp.service.refusals import Refusal, invalid_input
from mergestorm_mcp.service.world import World

__all__ = ["Answer", "ApiRoute", "Body", "Call", "Query", "endpoint", "envelope"]

_LOG = logging.getLogger("mergestorm_mcp.service")
T = TypeVar("T")

_SMALL_BODY: Final = 64 * 1024
_FIELDS_NAMED: Final = 5

_MAX_PIECES: Final = 400_000
"""Texts, members and items of a body. The largest publication there may be has 140,000; a million costs gigabytes."""

_MAX_PROBLEMS: Final = 1000
"""Problems of a body beyond which none is named: to name the first five, every one has to be described."""

# A text whole, ended or not, so that no place is looked at twice; or what begins or parts values.
_PIECES: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)


class _Nothing(Body):
    """A body without fields."""


class _NoQuery(Query):
    """No parameters."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered, if it is not a plain 200 with a JSON object.

    Attributes:
        body: what becomes JSON; text is sent as it is, as HTML.
        status: HTTP status.
        headers: further headers.
    """

    body: Mapping[str, Any] | str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked.

    Attributes:
        world: the service.
        request: as Starlette has it.
        body: the model of the endpoint's body, if it has one.
        query: the model of its query.
    """

    world: World
    request: Request
    identity: Caller | None
    body: Any
    query: Any

    @property
    def caller(self) -> Caller:
        """Whose key was shown.

        Raises:
            LookupError: the endpoint asks for no key.
        """
        if self.identity is None:
            raise LookupError("this endpoint asks for no key")
        return self.identity

    def part(self, name: str) -> str:
        """A part of the path."""
        value: str = self.request.path_params[name]
        return value

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function that blocks, on a worker thread."""
        return await anyio.to_thread.run_sync(function, *arguments)


Handle = Callable[[Call], Any]


class ApiRoute(Route):
    """A route of the API, with what it takes.

    Attributes:
        method: the one method it answers.
        body: model of the JSON body; None if there is none.
        query: model of the query; None if there is none.
        authenticated: whether it asks for a key.
    """

    def __init__(
        self,
        method: str,
        path: str,
        run: Callable[[Request], Awaitable[Response]],
        *,
        body: type[Body] | None,
        query: type[Query] | None,
        authenticated: bool,
    ) -> None:
        super().__init__(path, run, methods=[method])
        self.method = method
        self.body = body
        self.query = query
        self.authenticated = authenticated


def endpoint(
    method: str,
    path: str,
    handle: Handle,
    *,
    body: type[Body] | None = None,
    query: type[Query] | None = None,
    authenticated: bool = True,
    max_body: int = _SMALL_BODY,
) -> ApiRoute:
    """A route.

    Args:
        method: the one method it answers.
        path: as Starlette writes it; literal paths before those with parameters.
        handle: what answers it.
        body: model of the JSON body. Without one a body must be absent or an empty object.
        query: model of the query. Without one there must be no parameters.
        authenticated: whether it asks for a key.
        max_body: longest body in bytes.
    """

    async def run(request: Request) -> Response:
        world: World = request.app.state.world
        try:
            return await _answer(world, request)
        except Refusal as refusal:
            return envelope(refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        except sqlite3.OperationalError:
            _LOG.exception("the database could not be used")
            return envelope(Refusal(503, "storage_unavailable", "The service cannot reach its database now."))
        except Exception:  # noqa: BLE001 - the boundary: logged, and answered as what it is
            _LOG.exception("a request failed")
            return envelope(Refusal(500, "internal_error", "The service made a mistake; its log says which."))

    async def _answer(world: World, request: Request) -> Response:
        identity, trouble = await anyio.to_thread.run_sync(_admit, world, request, authenticated)
        if trouble.latency_seconds:
            await anyio.sleep(trouble.latency_seconds)
        if trouble.refusal is not None:
            raise trouble.refusal
        raw = await _read(request, max_body)
        call = Call(
            world,
            request,
            identity,
            _body(request, raw, body or _Nothing) if method not in {"GET", "HEAD"} else None,
            _parameters(request, query or _NoQuery),
        )
        if inspect.iscoroutinefunction(handle):
            told: Awaitable[Any] = handle(call)
            result = await told
        else:
            result = await anyio.to_thread.run_sync(handle, call)
        response = _response(result)
        return _Lost(response) if trouble.lose_answer else response

    return ApiRoute(method, path, run, body=body, query=query, authenticated=authenticated)


def envelope(refusal: Refusal) -> Response:
    """The answer that a refusal is."""
    headers = {}
    if refusal.retry_after_seconds is not None and refusal.retry_after_in_header:
        headers["Retry-After"] = str(ceil(refusal.retry_after_seconds))
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return _json(refusal.envelope(), refusal.status, headers)


def _admit(world: World, request: Request, authenticated: bool) -> tuple[Caller | None, knobs.Trouble]:
    """Whose request it is and what is to happen to it, looked up before its body is read."""
    identity = None
    trouble = knobs.meet(world, request.method, request.url.path)
    if trouble.refusal is None and authenticated:
        values = request.headers.getlist("authorization")
        with world.store.read() as connection:
            identity = authenticate(connection, values[0] if len(values) == 1 else None)
        touch_key(world, identity)
    return identity, trouble


async def _read(request: Request, limit: int) -> bytes:
    too_large = f"The request body is longer than {limit} bytes."
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise Refusal(413, "payload_too_large", too_large)
    return await receive(
        request, limit, too_large=too_large, too_slow="The request body took too long to arrive."
    )


def _body(request: Request, raw: bytes, model: type[Body]) -> Body:
    if not raw and not any(info.is_required() for info in model.model_fields.values()):
        return model()
    if media_type(request) != "application/json":
        raise Refusal(415, "unsupported_media_type", "Send the body as application/json.")
    _check_pieces(raw)
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise _invalid(error, "body") from None


def _check_pieces(raw: bytes) -> None:
    """Refuse a body of so many values that reading it would take the memory of the machine."""
    if len(raw) > _SMALL_BODY:
        for number, _ in enumerate(_PIECES.finditer(raw)):
            if number >= _MAX_PIECES:
                raise Refusal(413, "payload_too_large", "The request body holds too many values.")


def _parameters(request: Request, model: type[Query]) -> Query:
    pairs = request.query_params.multi_items()
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise invalid_input("A query parameter is given twice.")
    try:
        return model.model_validate(dict(pairs))
    except ValidationError as error:
        raise _invalid(error, "query") from None


def _invalid(error: ValidationError, where: str) -> Refusal:
    """Which fields are wrong and how, without their values: a value may be a secret."""
    problems: list[dict[str, str]] = []
    if error.error_count() > _MAX_PROBLEMS:
        return invalid_input(f"The {where} is not what this endpoint takes, in too many ways to name.")
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_FIELDS_NAMED]:
        place = ".".join(str(part) for part in item["loc"])[:200]
        problems.append({"field": place or where, "problem": item["type"]})
    words = ", ".join(f"{item['field']} ({item['problem']})" for item in problems)
    return invalid_input(f"The {where} is not what this endpoint takes: {words}.", fields=problems)


def _response(result: Any) -> Response:
    if not isinstance(result, Answer):
        return _json(result, 200, {})
    if isinstance(result.body, str):
        return Response(result.body, result.status, dict(result.headers), "text/html; charset=utf-8")
    return _json(result.body, result.status, result.headers)


def _json(body: Any, status: int, headers: Mapping[str, str]) -> Response:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    own = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **headers}
    # What cannot be encoded came in as a lone surrogate, which no JSON reader takes back.
    return Response(text.encode("utf-8", "replace"), status, own, "application/json")


class _Lost(Response):
    """An answer that is never received: the connection ends in the middle of it, after the work was done."""

    def __init__(self, response: Response) -> None:
        super().__init__(status_code=response.status_code)
        self._lost = response

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({
            "type": "http.response.start",
            "status": self._lost.status_code,
            "headers": self._lost.raw_headers,
        })

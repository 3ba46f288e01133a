"""The ASGI application in front of a FastMCP server: every check in its order, the body, the answers.

Order of the checks, the first that fails answers: path (404), Host (403), Origin (403), method (405), Content-Type
(415), Accept (400), protocol version (400), resumption (400), size (413), JSON and JSON-RPC shape (400). A request
that passes them all is answered with 200 and its result or error; what JSON-RPC itself refuses about the request as
such (a method no protocol version knows, a request without params that needs them) is a 400.

Nothing is kept between requests: no session id is issued and one that a client sends is ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from fastmcp import FastMCP
from starlette.types import Message, Receive, Scope, Send

from mcpkit import messages
from mcpkit._fastmcp_http import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
    Exchanges,
    RequestError,
    exchanges,
)
from mcpkit.errors import INVALID_PARAMS
from mcpkit.http.faults import HttpFault
from mcpkit.http.rules import AccessRules, accepts_answers, is_json, path_matches, split_target
from mcpkit.server import harden
from mcpkit.surface import LATEST_HANDSHAKE_VERSION, negotiate

__all__ = ["HEALTH_PATH", "MAX_BODY", "Endpoint", "Limits", "application"]

_LOG = logging.getLogger("mcpkit.http")

T = TypeVar("T")

HEALTH_PATH: Final = "/healthz"
MAX_BODY: Final = 4 << 20
"""Longest request body in bytes; the longest answer has no limit of its own."""

_ABSENT_VERSION: Final = "2025-03-26"
"""What a request without MCP-Protocol-Version is taken for (MCP 2025-11-25, transports, protocol version header)."""

_BATCH_VERSIONS: Final = frozenset({"2024-11-05", "2025-03-26"})
_LEAVE_BODY: Final = frozenset({"message_too_large", "request_timeout", "shutting_down"})
_PARALLEL: Final = 8
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_PLAIN: Final = b"text/plain; charset=utf-8"
_JSON: Final = b"application/json"
_COMMON: Final = [(b"cache-control", b"no-cache, no-transform"), (b"x-content-type-options", b"nosniff")]


class Limits(NamedTuple):
    """Times and sizes that a test may shorten.

    Attributes:
        body: longest request body in bytes.
        body_seconds: longest time for a body to arrive.
        linger_seconds: how long the rest of a refused body is thrown away, so that the client can read the refusal.
        linger_bytes: how much of it at most.
    """

    body: int = MAX_BODY
    body_seconds: float = 30.0
    linger_seconds: float = 1.0
    linger_bytes: int = 4 << 20


class Reply(NamedTuple):
    """One HTTP answer."""

    status: int
    body: bytes = b""
    content_type: bytes = _JSON
    allow: bytes = b""


class _Gone(Exception):
    """The client has closed the connection."""


class Endpoint:
    """The ASGI application.

    Args:
        served: the running server.
        base_path: cleaned mount path.
        rules: Host and Origin rules.
        limits: times and sizes.
    """

    def __init__(self, served: Exchanges, base_path: str, rules: AccessRules, limits: Limits) -> None:
        self._served = served
        self._base = base_path
        self._rules = rules
        self._limits = limits
        self._abandoned: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading: set[asyncio.Timeout] = set()
        self._stuck: set[asyncio.Task[Any]] = set()

    def abandon(self) -> None:
        """Answer every request still open with `shutting_down`, now and from now on."""
        if self._abandoned.done():
            return
        self._abandoned.set_result(None)
        for patience in self._reading:
            patience.reschedule(asyncio.get_running_loop().time())

    @property
    def unfinished(self) -> int:
        """How many calls run on although their request is over."""
        return len(self._stuck)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await _no_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        unread = b"transfer-encoding" in headers or headers.get(b"content-length", [b"0"]) != [b"0"]
        try:
            reply = self._preliminary(scope, headers)
            if reply is None:
                unread = False
                reply = await self._post(scope, headers, receive, send)
        except HttpFault as fault:
            reply = _refusal(fault)
            unread = unread or fault.kind in _LEAVE_BODY
        except _Gone:
            return
        if reply is not None:
            await self._send(reply, unread, receive, send)

    # --- checks before the body ---------------------------------------------------------------------------------

    def _preliminary(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> Reply | None:
        """Every check that needs no body; None if the request may go on."""
        path, authority = split_target(scope["path"])
        method = scope["method"]
        if not path_matches(path, self._base):
            return _health(method) if path == HEALTH_PATH else Reply(404, b"404 not found\n", _PLAIN)
        local = (scope.get("server") or ("", None))[0]
        hosts = headers.get(b"host", []) if authority is None else [authority.encode("utf-8")]
        if not self._rules.takes_host(local, hosts):
            raise HttpFault("host_not_allowed")
        if not self._rules.takes_origin(local, headers.get(b"origin", [])):
            raise HttpFault("origin_not_allowed")
        if method != "POST":
            raise HttpFault("method_not_allowed")
        kinds = headers.get(b"content-type", [])
        if len(kinds) != 1 or not is_json(kinds[0]):
            raise HttpFault("unsupported_media_type")
        if not accepts_answers(b",".join(headers.get(b"accept", []))):
            raise HttpFault("not_acceptable")
        if b"mcp-method" not in headers:
            _version(headers)
        # Otherwise the request is of revision 2026-07-28 or later, where the refusal of a version must carry the
        # request's id and name the versions of these revisions only: that takes the body.
        if b"last-event-id" in headers:
            raise HttpFault("resumption_not_supported")
        return None

    # --- the message --------------------------------------------------------------------------------------------

    async def _post(
        self, scope: Scope, headers: dict[bytes, list[bytes]], receive: Receive, send: Send
    ) -> Reply | None:
        body = await self._body(headers, receive)
        message = messages.parse(body)
        if _is_modern(message) or _version(headers) in MODERN_PROTOCOL_VERSIONS:
            if isinstance(message, messages.Fault):
                return _fault_reply(message)
            capture = _Capture(send)
            await self._guarded(self._served.modern(scope, _Replay(body), capture), receive)
            return capture.reply()
        version = _version(headers)
        if isinstance(message, messages.Batch):
            return await self._batch(scope, version, message.messages, receive)
        return await self._single(scope, version, message, receive)

    async def _body(self, headers: dict[bytes, list[bytes]], receive: Receive) -> bytes:
        declared = headers.get(b"content-length", [b"0"])[0]
        if declared.isdigit() and int(declared[:20]) > self._limits.body:
            raise HttpFault("message_too_large")
        parts: list[bytes] = []
        size = 0
        patience = asyncio.timeout(self._limits.body_seconds)
        try:
            async with patience:
                self._reading.add(patience)
                while True:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise _Gone
                    part = event.get("body", b"")
                    size += len(part)
                    if size > self._limits.body:
                        raise HttpFault("message_too_large")
                    parts.append(part)
                    if not event.get("more_body", False):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise HttpFault("shutting_down" if self._abandoned.done() else "request_timeout") from None
        finally:
            self._reading.discard(patience)

    async def _single(
        self, scope: Scope, version: str, message: messages.Single | None, receive: Receive
    ) -> Reply | None:
        match message:
            case None:
                return _fault_reply(messages.Fault("parse_error"))
            case messages.Fault():
                return _fault_reply(message)
            case messages.Response():
                return Reply(202)
            case messages.Notification():
                if self._served.knows_notification(message.method):
                    return Reply(202)
                if self._served.knows_request(message.method):
                    raise HttpFault("missing_id")
                return _fault_reply(
                    messages.Fault("method_not_found" if message.method else "invalid_params")
                )
            case messages.Request():
                if self._served.knows_notification(message.method):
                    raise HttpFault("unexpected_id", message.id)
                if not self._served.knows_request(message.method):
                    return _fault_reply(messages.Fault("method_not_found", message.id))
                failed, answer = await self._guarded(self._answer(scope, version, message), receive)
                refused = failed == INVALID_PARAMS and message.params is None
                return Reply(400 if refused else 200, answer)

    async def _batch(
        self, scope: Scope, version: str, items: Sequence[messages.Single], receive: Receive
    ) -> Reply:
        if version not in _BATCH_VERSIONS:
            return _fault_reply(messages.Fault("batch_not_supported"))
        jobs = list(_owed(items))
        if not jobs:
            return Reply(202)
        slots = asyncio.Semaphore(_PARALLEL)

        async def one(job: messages.Fault | messages.Request) -> bytes:
            if isinstance(job, messages.Fault):
                return messages.fault_answer(job)
            if not self._served.knows_request(job.method):
                return messages.fault_answer(messages.Fault("method_not_found", job.id))
            async with slots:
                return (await self._answer(scope, version, job))[1]

        async def every() -> list[bytes]:
            return await asyncio.gather(*map(one, jobs))

        answers = await self._guarded(every(), receive)
        return Reply(200, b"[" + b",".join(answers) + b"]")

    async def _answer(self, scope: Scope, version: str, request: messages.Request) -> tuple[int, bytes]:
        """The answer to one request as JSON, with the code of its error, 0 for a result."""
        params = request.params
        if request.method == "initialize" and params is not None:
            version, params = _initialize_params(params)
        try:
            result = await self._served.request(scope, version, request.id, request.method, params)
            return 0, messages.result_answer(request.id, messages.encode(result))
        except RequestError as refused:
            error = messages.coded(refused.error)
        except messages.Unserialisable:
            return -32603, messages.fault_answer(messages.Fault("unserialisable", request.id))
        try:
            return error["code"], messages.error_answer(request.id, messages.encode(error))
        except messages.Unserialisable:
            return -32603, messages.fault_answer(messages.Fault("internal_error", request.id))

    # --- running and answering ----------------------------------------------------------------------------------

    async def _guarded(self, coroutine: Coroutine[Any, Any, T], receive: Receive) -> T:
        """Run the work of a request until it ends, the client goes, or the server may wait no longer.

        Args:
            coroutine: the work; cancelled in the two latter cases.
            receive: where a disconnect shows, now that the body was read.

        Raises:
            _Gone: the client closed the connection.
            HttpFault: `shutting_down`, or `internal_error` if the work cancelled itself.
        """
        loop = asyncio.get_running_loop()
        # A scope, because a bare cancellation of the task would neither wait for a worker thread nor be seen by it.
        scope = anyio.CancelScope()
        work = loop.create_task(_scoped(scope, coroutine))
        gone = loop.create_task(_disconnected(receive))
        try:
            await asyncio.wait((work, gone, self._abandoned), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                if work.cancelled():
                    raise HttpFault("internal_error")
                return work.result()
            scope.cancel()
            if self._abandoned.done():
                raise HttpFault("shutting_down")
            # Until it has stopped it counts as a request in progress, or disconnecting clients could pile up work.
            await asyncio.wait((work, self._abandoned), return_when=asyncio.FIRST_COMPLETED)
            raise _Gone
        finally:
            gone.cancel()
            if not work.done():
                scope.cancel()
                self._stuck.add(work)
            work.add_done_callback(self._settled)

    def _settled(self, work: asyncio.Task[Any]) -> None:
        self._stuck.discard(work)
        if not work.cancelled():
            work.exception()  # looked at here: where the request is over, nobody else does

    async def _send(self, reply: Reply, unread: bool, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", reply.content_type),
            (b"content-length", str(len(reply.body)).encode("ascii")),
            *_COMMON,
        ]
        if reply.allow:
            headers.append((b"allow", reply.allow))
        if unread:
            headers.append((b"connection", b"close"))
        if not reply.body:
            del headers[0]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body, "more_body": unread})
        if unread:
            await self._linger(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _linger(self, receive: Receive) -> None:
        """Throw away some of a body that was refused.

        Closing a socket that still has unread input resets the connection, and the reset may overtake the refusal.
        """
        left = self._limits.linger_bytes
        try:
            async with asyncio.timeout(self._limits.linger_seconds):
                while left > 0:
                    event = await receive()
                    if event["type"] == "http.disconnect" or not event.get("more_body", False):
                        return
                    left -= len(event.get("body", b""))
        except TimeoutError:
            return


def _health(method: str) -> Reply:
    if method in {"GET", "HEAD"}:
        return Reply(200, b"ok\n", _PLAIN)
    return Reply(405, b"405 method not allowed\n", _PLAIN, allow=b"GET, HEAD")


def _refusal(fault: HttpFault) -> Reply:
    body = messages.error_answer(fault.id, messages.encode(fault.error()))
    return Reply(fault.status, body, allow=b"POST" if fault.kind == "method_not_allowed" else b"")


def _fault_reply(fault: messages.Fault) -> Reply:
    return Reply(400, messages.fault_answer(fault))


def _version(headers: dict[bytes, list[bytes]]) -> str:
    """The protocol version of a request.

    Raises:
        HttpFault: `unsupported_protocol_version`.
    """
    values = {value.strip().decode("latin-1") for value in headers.get(b"mcp-protocol-version", ())} - {""}
    if not values:
        return _ABSENT_VERSION
    version = values.pop()
    if values or version not in _SUPPORTED:
        # A client of revision 2026-07-28 reads both members; only what looks like a version is repeated.
        requested = version if _DATE.fullmatch(version) else "unknown"
        raise HttpFault(
            "unsupported_protocol_version", data={"supported": _SUPPORTED, "requested": requested}
        )
    return version


_SUPPORTED: Final = sorted({*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}, reverse=True)


def _is_modern(message: messages.Message | None) -> bool:
    """Whether a request has the envelope of revision 2026-07-28; without its header the SDK's entry refuses it."""
    return isinstance(message, messages.Request) and messages.has_modern_envelope(message.params)


def _owed(items: Iterable[messages.Single]) -> Iterator[messages.Fault | messages.Request]:
    """The messages of a batch that get an answer, as requests to run or faults to report."""
    seen: set[str | int] = set()
    for item in items:
        if isinstance(item, messages.Fault):
            yield item
        elif isinstance(item, messages.Request):
            if item.id in seen:
                yield messages.Fault("duplicate_id", item.id)
            elif item.method == "initialize":
                yield messages.Fault("initialize_in_batch", item.id)
            else:
                yield item
            seen.add(item.id)


def _initialize_params(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The negotiated version, and params with what a sparing client left out."""
    requested = params.get("protocolVersion")
    version = negotiate(requested)
    return version, {
        "capabilities": {},
        "clientInfo": {"name": "unknown", "version": "0"},
        **params,
        "protocolVersion": requested if isinstance(requested, str) else LATEST_HANDSHAKE_VERSION,
    }


async def _scoped(scope: anyio.CancelScope, coroutine: Coroutine[Any, Any, T]) -> T:
    with scope:
        return await coroutine
    raise asyncio.CancelledError  # the scope was cancelled, and swallowed that


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Replay:
    """`receive` for an application that is to read a body that was read already."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is None:
            # The disconnect is watched elsewhere; whoever waits here is cancelled.
            await asyncio.get_running_loop().create_future()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Capture:
    """`send` that holds a JSON answer back, so that its errors get a kind, and lets a stream pass."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._body = b""
        self._passing = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._passing = any(
                name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message["headers"]
            )
        if self._passing:
            await self._send(message)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")

    def reply(self) -> Reply | None:
        """What to send; None if it was sent."""
        if self._passing:
            return None
        if not self._body:
            return Reply(self._status) if self._status < 400 else _refusal(HttpFault("not_acceptable"))
        answer = json.loads(self._body)
        if "error" not in answer:
            return Reply(self._status, self._body)
        error = messages.encode(messages.coded(answer["error"]))
        return Reply(self._status, messages.error_answer(answer.get("id"), error))


async def _no_lifespan(receive: Receive, send: Send) -> None:
    """Agree to a server's start and stop: the FastMCP server's own lifespan is run by `application`."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


@asynccontextmanager
async def application(
    app: FastMCP[Any],
    *,
    base_path: str = "/",
    allow_hosts: Iterable[str] = (),
    allow_origins: Iterable[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - immutable
) -> AsyncIterator[Endpoint]:
    """The ASGI application of a FastMCP server, usable while the context lasts.

    The server is hardened (`mcpkit.server.harden`) and its lifespan runs around the context. Custom routes of the server
    are not served.

    Args:
        app: the server.
        base_path: cleaned mount path (`mcpkit.cli.clean_base_path`).
        allow_hosts: Host values taken besides loopback names; see `AccessRules`.
        allow_origins: Origin values taken; see `AccessRules`.
        limits: times and sizes, for tests.

    Raises:
        UsageError: an allowed host or origin is malformed.
        ValueError: the server has an authentication provider, which this endpoint would leave out.
    """
    if app.auth is not None:
        raise ValueError("this endpoint has no authentication; serve this app with FastMCP's own run_http")
    rules = AccessRules(allow_hosts, allow_origins)
    async with exchanges(harden(app)) as served:
        yield Endpoint(served, base_path, rules, limits)

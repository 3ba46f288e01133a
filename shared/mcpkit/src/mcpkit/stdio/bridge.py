"""Passes a session's messages to a FastMCP server and its answers back. Imported when FastMCP is, not before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp import FastMCP
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mcpkit import _fastmcp
from mcpkit.messages import Unserialisable, coded, encode
from mcpkit.stdio.session import Delivery, Session
from mcpkit.stdio.streams import Outbox
from mcpkit.surface import negotiate

__all__ = ["Bridge"]

_LOG = logging.getLogger("mcpkit.stdio")

_LARGE = 1024 * 1024
"""Characters from which on a result is encoded in a thread of its own."""


class _Bell:
    """An event of the loop that any thread may set."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def ring(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:
            pass  # the loop has ended, and with it whoever waits

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


class Bridge:
    """One session's connection to one server.

    Args:
        app: the server.
        session: where its calls come from.
        outbox: where the answers go.
        ready: called once the server's lifespan has begun and calls can be served.
    """

    def __init__(
        self, app: FastMCP[Any], session: Session, outbox: Outbox, ready: Callable[[], None]
    ) -> None:
        self._app = app
        self._session = session
        self._outbox = outbox
        self._on_ready = ready
        self._stopping = False
        self._incoming: _Bell | None = None

    def run(self) -> None:
        """Serve until `stop`; whatever the server raises comes out.

        Raises:
            Exception: the server's lifespan or its loop failed.
        """
        failure = anyio.run(self._serve, backend="asyncio")
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """Let the server end its session; from any thread, also before it began."""
        self._stopping = True
        if self._incoming is not None:
            self._incoming.ring()

    async def _serve(self) -> Exception | None:
        self._incoming = incoming = _Bell()
        to_server, server_in = anyio.create_memory_object_stream[SessionMessage | Exception]()
        server_out, from_server = anyio.create_memory_object_stream[SessionMessage]()
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:

            def ready() -> None:
                # Delivery starts here and not earlier: a call cancelled while the lifespan begins must not run either.
                tasks.start_soon(self._deliver, to_server, incoming)
                self._session.ready(incoming.ring)
                self._on_ready()

            tasks.start_soon(self._send, from_server)
            try:
                await _fastmcp.serve_streams(self._app, server_in, server_out, ready=ready)
            except Exception as error:  # noqa: BLE001 - handed to the caller, past the task group's wrapping
                failure = error
            # Both tasks end by themselves: cancelled, the sender would lose answers that wait for room.
            self.stop()
            server_out.close()
        to_server.close()
        server_in.close()
        return failure

    async def _deliver(
        self, to_server: MemoryObjectSendStream[SessionMessage | Exception], incoming: _Bell
    ) -> None:
        async with to_server:
            while not self._stopping:
                delivery = self._session.take()
                if delivery is None:
                    await incoming.wait()
                    continue
                message = self._message(delivery)
                if message is None:
                    continue
                try:
                    await to_server.send(message)
                except anyio.BrokenResourceError:
                    return  # the server has ended

    def _message(self, delivery: Delivery) -> SessionMessage | None:
        body = delivery.body
        if delivery.call_id is None:
            try:
                return SessionMessage(jsonrpc_message_adapter.validate_python(body, by_name=False))
            except ValidationError:
                return None  # a response of no shape that the protocol knows; there is nobody to tell
        if body["method"] == "initialize":
            body = {**body, "params": _sound_handshake(body.get("params"))}
        return SessionMessage(
            JSONRPCRequest.model_validate(body),
            ServerMessageMetadata(on_request_unanswered=partial(self._unanswered, delivery.call_id)),
        )

    async def _unanswered(self, call_id: int | str) -> None:
        self._session.settled_silently(call_id)

    async def _send(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        room = _Bell()
        self._outbox.on_room = room.ring
        async with from_server:
            async for item in from_server:
                if _is_large(
                    item.message
                ):  # encoding it may take seconds; calls and cancellations go on meanwhile
                    lines = await anyio.to_thread.run_sync(self._lines, item.message)
                else:
                    lines = self._lines(item.message)
                for line in lines:
                    while not self._outbox.offer(line):
                        await room.wait()

    def _lines(self, message: JSONRPCMessage) -> list[bytes]:
        match message:
            case JSONRPCResponse():
                return self._answer(message.id, self._session.result, message.result)
            case JSONRPCError():
                if message.id is None:
                    return []
                return self._answer(
                    message.id,
                    self._session.error,
                    coded(message.error.model_dump(by_alias=True, mode="json")),
                )
            case JSONRPCRequest() | JSONRPCNotification():
                try:
                    line = encode(message.model_dump(by_alias=True, mode="json", exclude_unset=True))
                except (Unserialisable, ValueError) as error:
                    _LOG.error("%s could not be sent: %s", message.method, type(error).__name__)
                    return []
                if isinstance(message, JSONRPCRequest):
                    self._session.asked(message.id)
                return [line]

    def _answer(
        self, call_id: int | str, settle: Callable[[int | str, bytes], list[bytes]], value: object
    ) -> list[bytes]:
        try:
            encoded = encode(value)
        except Unserialisable as error:
            _LOG.error("a result could not be sent: %s", error)
            return self._session.unserialisable(call_id)
        return settle(call_id, encoded)


def _is_large(message: JSONRPCMessage) -> bool:
    """Whether a response carries a long text, by which a tool's result tells its size."""
    if not isinstance(message, JSONRPCResponse):
        return False
    content = message.result.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and len(block.get("text") or "") > _LARGE for block in content
    )


def _sound_handshake(params: dict[str, Any] | None) -> dict[str, Any]:
    """The client's `initialize` params if the SDK accepts them, else the least that it accepts.

    The session's answer to `initialize` does not depend on more than the version, so neither may the replay.
    """
    params = params or {}
    try:
        mcp_types.InitializeRequestParams.model_validate(params, by_name=False)
    except ValidationError:
        return {
            "protocolVersion": negotiate(params.get("protocolVersion")),
            "capabilities": {},
            "clientInfo": {"name": "unknown", "version": "0"},
        }
    return params

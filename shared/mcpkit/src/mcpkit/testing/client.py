"""The calls of a test client, the same whatever carries them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

import anyio

from mcpkit.surface import LATEST_HANDSHAKE_VERSION
from mcpkit.testing.outcome import Outcome
from mcpkit.testing.process import ServerProcess

__all__ = ["DEADLINE_SECONDS", "Client", "ConnectionEnded", "DuplexClient"]

DEADLINE_SECONDS: Final = 30.0


class ConnectionEnded(Exception):
    """The server closed the connection while a reply was awaited."""


class Client(ABC):
    """One client of one server.

    Attributes:
        process: the server's process, if the client started one.
        version: the negotiated protocol version; None before `initialize`.
    """

    process: ServerProcess | None = None

    def __init__(self, deadline: float) -> None:
        self.version: str | None = None
        self._deadline = deadline
        self._last_id = 0

    @abstractmethod
    async def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request as it is and wait for the response to its id.

        Raises:
            TimeoutError: no response within the deadline.
            ConnectionEnded: the server closed the connection instead.
        """

    @abstractmethod
    async def send(self, message: dict[str, Any]) -> None:
        """Send a message that gets no response."""

    @abstractmethod
    async def raw(self, data: bytes, replies: int = 1) -> list[Any]:
        """Send bytes as they are and return the next messages that answer none of the other calls.

        Over stdio the bytes hold their own line ends; over HTTP they are the body of one POST; in memory they must be
        JSON-RPC messages, one a line, because nothing there reads bytes.

        Args:
            data: what to send.
            replies: how many messages to wait for.
        """

    async def initialize(self, version: str = LATEST_HANDSHAKE_VERSION, **params: Any) -> Outcome:
        """Shake hands and, if that worked, say that the client is initialized.

        Args:
            version: the protocol version to ask for.
            params: further or replaced members of the params.
        """
        outcome = await self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "mcpkit.testing", "version": "1"},
                **params,
            },
        )
        if outcome.ok:
            self.version = outcome.result["protocolVersion"]
            await self.notify("notifications/initialized")
        return outcome

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Outcome:
        """Send a request and wait for its response; `params` are left out where None."""
        self._last_id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        if params is not None:
            message["params"] = dict(params)
        return Outcome(await self.exchange(message))

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Outcome:
        """Call a tool; `arguments` are left out where None."""
        params: dict[str, Any] = {"name": tool}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        return await self.request("tools/call", params)

    async def tools(self) -> list[dict[str, Any]]:
        """The tools the server lists."""
        tools: list[dict[str, Any]] = (await self.request("tools/list", {})).result["tools"]
        return tools

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        await self.send(message)


class DuplexClient(Client):
    """A client over a stream of messages in each direction, which pairs responses with requests."""

    def __init__(self, deadline: float) -> None:
        super().__init__(deadline)
        self._waiting: dict[Any, _Slot] = {}
        self._unclaimed: list[Any] = []
        self._news = anyio.Event()
        self._ended = False

    def deliver(self, message: Any) -> None:
        """Take one message from the server."""
        slot = None
        if isinstance(message, dict) and "method" not in message:
            slot = self._waiting.pop(_key(message.get("id")), None)
        if slot is None:
            self._unclaimed.append(message)
        else:
            slot.reply = message
        self._wake()

    def end(self) -> None:
        """Note that nothing more will come."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        slot = self._waiting[_key(message["id"])] = _Slot()
        with anyio.fail_after(self._deadline):
            await self.send(message)
            while slot.reply is None:
                if self._ended:
                    raise ConnectionEnded(f"no reply to {message['method']}")
                await self._news.wait()
        return slot.reply

    async def receive(self, count: int = 1) -> list[Any]:
        """The next messages that answer none of the other calls."""
        with anyio.fail_after(self._deadline):
            while len(self._unclaimed) < count:
                if self._ended:
                    raise ConnectionEnded(f"{len(self._unclaimed)} of {count} messages came")
                await self._news.wait()
        taken, self._unclaimed = self._unclaimed[:count], self._unclaimed[count:]
        return taken

    @property
    def unclaimed(self) -> list[Any]:
        """Messages so far that answer none of the calls."""
        return list(self._unclaimed)


class _Slot:
    __slots__ = ("reply",)

    def __init__(self) -> None:
        self.reply: dict[str, Any] | None = None


def _key(value: Any) -> tuple[type, Any]:
    """Ids `1` and `"1"` and `True` are different ids."""
    return type(value), value

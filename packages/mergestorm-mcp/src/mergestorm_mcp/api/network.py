"""Connects to the service by an address that was looked at: a name cannot lead a key to a metadata service.

`mergestorm_mcp.config` refuses addresses that are written as such. A name is resolved here, once for each connection;
every address it has is checked, and the connection goes to one of those very addresses, so that a second answer of the
resolver (DNS rebinding) has nobody to be told to. One forbidden address refuses the name: no honest service has one.
The name stays what TLS asks the certificate for.

A connection through a proxy is not looked at here: the proxy resolves the name, and what it sees is encrypted for the
service.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, Final

import anyio
import httpcore
import httpx

from mergestorm_mcp.config import is_forbidden_address, is_literal
from mergestorm_mcp.errors import usage

__all__ = ["CheckedClient", "CheckedNetwork", "Resolver", "resolve"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Literal addresses of a host name, best first; raises OSError where there are none."""

_STAGGER: Final = 0.25
"""Seconds an attempt has before the next address is tried beside it (RFC 8305)."""

_MOST: Final = 8
"""Addresses of one name that are tried."""


async def resolve(host: str, port: int) -> list[str]:
    """What the system's resolver says."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Resolves, checks and connects; what goes over a connection is not its business.

    Args:
        resolver: asks for a name's addresses; the system unless told.
        network: connects to a literal address; the real network unless told.
    """

    def __init__(
        self, resolver: Resolver = resolve, network: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self._resolver = resolver
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host.

        Raises:
            CommandError: `usage`, if one of its addresses is forbidden; nothing was contacted then.
            httpcore.ConnectError: it has no address, or none answers.
            httpcore.ConnectTimeout: none answers in time.
        """
        options = None if socket_options is None else list(socket_options)
        try:
            with anyio.fail_after(timeout):
                addresses = await self._addresses(host, port)
                return await self._first(addresses, port, local_address, options)
        except TimeoutError:
            raise httpcore.ConnectTimeout("no address answered in time") from None

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self._network.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = [host] if is_literal(host) else list(dict.fromkeys(await self._resolver(host, port)))
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from None
        if not found:
            raise httpcore.ConnectError("the name has no address")
        if any(map(is_forbidden_address, found)):
            raise usage(
                "The service's name leads to an address that Mergestorm keys are never sent to (link-local, metadata, "
                "unspecified or multicast), so nothing was sent; check MERGESTORM_API_URL and the resolver."
            )
        return _alternating(found)[:_MOST]

    async def _first(
        self, addresses: list[str], port: int, local_address: str | None, options: list[Any] | None
    ) -> httpcore.AsyncNetworkStream:
        """The first connection that is made; each attempt has a moment before the next begins beside it."""
        won: list[httpcore.AsyncNetworkStream] = []
        failed: list[Exception] = []

        async def attempt(address: str, over: anyio.Event) -> None:
            try:
                stream = await self._network.connect_tcp(
                    address, port, local_address=local_address, socket_options=options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed.append(error)
            else:
                if won:
                    await stream.aclose()
                else:
                    won.append(stream)
                    group.cancel_scope.cancel()
            finally:
                over.set()

        try:
            async with anyio.create_task_group() as group:
                for address in addresses:
                    over = anyio.Event()
                    group.start_soon(attempt, address, over)
                    with anyio.move_on_after(_STAGGER):
                        await over.wait()
        except BaseException:  # a call that is cancelled in this moment would leave its connection open
            for stream in won:
                with anyio.CancelScope(shield=True):
                    await stream.aclose()
            raise
        if not won:
            raise failed[0]
        return won[0]


class CheckedClient(httpx.AsyncClient):
    """An `httpx.AsyncClient` whose own connections, those without a proxy, go over a `CheckedNetwork`.

    Args:
        network: how to connect.
        options: those of `httpx.AsyncClient`.
    """

    def __init__(self, network: CheckedNetwork, **options: Any) -> None:
        self._network = network
        super().__init__(**options)

    def _init_transport(self, *arguments: Any, **options: Any) -> httpx.AsyncBaseTransport:
        # httpx offers no public place for a network: a transport passed in would switch the environment's proxies off.
        # A test connects through a resolver of its own and fails if httpx stops asking here.
        made = super()._init_transport(*arguments, **options)
        if isinstance(made, httpx.AsyncHTTPTransport):
            made._pool._network_backend = self._network
        return made


def _alternating(addresses: list[str]) -> list[str]:
    """Both families in turns, the resolver's favourite first: a broken one costs a moment and not the deadline."""
    first = [address for address in addresses if (":" in address) == (":" in addresses[0])]
    other = [address for address in addresses if address not in first]
    pairs: Iterable[str | None] = chain.from_iterable(zip_longest(first, other))
    return [address for address in pairs if address is not None]

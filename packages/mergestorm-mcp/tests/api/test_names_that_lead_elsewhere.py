"""A service's name is resolved once for each connection, and only addresses that were looked at are connected to."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import httpcore
import pytest
import trustme
from anyio.streams.tls import TLSStream

from mcpkit.testing.background import background
from mergestorm_mcp.api import network
from mergestorm_mcp.api.client import Api, Connections
from mergestorm_mcp.api.network import CheckedNetwork
from mergestorm_mcp.clock import SystemClock
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout

pytestmark = pytest.mark.anyio
KEY = "msk_live_canary_0123456789abcdef"
NAME = "storm.example"


class Resolver:
    """Answers each question with the next of its answers, and the last one from then on."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        await anyio.lowlevel.checkpoint()
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class Network(httpcore.AsyncMockBackend):
    """A network without wires: notes where it was asked to connect, and does what it was told for an address."""

    def __init__(self, **manners: Any) -> None:
        super().__init__([])
        self.connected: list[str] = []
        self._manners = manners

    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        self.connected.append(host)
        manner = self._manners.get(host, "answers")
        if manner == "refuses":
            raise httpcore.ConnectError("refused")
        if manner == "silent":
            await anyio.sleep_forever()
        return httpcore.AsyncMockStream([])


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@asynccontextmanager
async def tls_service(certificate: trustme.LeafCert) -> AsyncIterator[tuple[int, list[str], list[bytes]]]:
    """An HTTPS service on loopback: its port, the names it was asked for, and the requests it got."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    names: list[str] = []
    context.sni_callback = lambda _socket, name, _context: names.append(name or "")
    requests: list[bytes] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            try:
                secure = await TLSStream.wrap(
                    stream, server_side=True, ssl_context=context, standard_compatible=False
                )
                while True:
                    requests.append(await secure.receive())
                    await secure.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            except (anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, background() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra(anyio.abc.SocketAttribute.local_port), names, requests
        tasks.cancel_scope.cancel()


@pytest.fixture
def authority(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """An authority that this process trusts."""
    made = trustme.CA()
    place = tmp_path_factory.mktemp("authority") / "authority.pem"
    made.cert_pem.write_to_path(place)
    monkeypatch.setenv("SSL_CERT_FILE", str(place))
    return made


async def test_the_name_is_what_tls_asks_for_and_the_address_is_what_was_looked_at(
    authority: trustme.CA,
) -> None:
    resolver = Resolver(["127.0.0.1"], ["169.254.169.254"])
    async with (
        tls_service(authority.issue_cert(NAME)) as (port, names, requests),
        Connections(resolver=resolver) as connections,
    ):
        api = Api(connections, f"https://{NAME}:{port}", KEY, SystemClock())
        assert (await api.get("/api/v1/me")).ok
        assert (await api.get("/api/v1/me")).ok  # over the same connection: nobody is asked again
    assert names == [NAME]
    assert resolver.asked == [NAME]
    assert f"host: {NAME}:{port}".encode() in requests[0].lower()


async def test_another_name_s_certificate_is_refused(authority: trustme.CA) -> None:
    async with (
        tls_service(authority.issue_cert("other.example")) as (port, _, requests),
        Connections(resolver=Resolver(["127.0.0.1"])) as connections,
    ):
        with pytest.raises(ConnectionFailed):
            await Api(connections, f"https://{NAME}:{port}", KEY, SystemClock()).get("/")
    assert requests == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["127.0.0.1", "169.254.169.254"],
        ["fe80::1%eth0"],
        ["::ffff:169.254.169.254"],
        ["64:ff9b::a9fe:a9fe"],
        ["fd00:ec2::254"],
        ["100.100.100.200"],
        ["0.0.0.0"],
        ["::"],
        ["224.0.0.1"],
        ["no address"],
    ],
)
async def test_a_name_with_a_forbidden_address_is_refused_before_anything_is_contacted(
    authority: trustme.CA, addresses: list[str]
) -> None:
    wires = Network()
    with pytest.raises(CommandError) as refused:
        await CheckedNetwork(Resolver(addresses), wires).connect_tcp(NAME, 443)
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)
    assert wires.connected == []
    async with (
        tls_service(authority.issue_cert(NAME)) as (port, names, _),
        Connections(resolver=Resolver(addresses)) as connections,
    ):
        api = Api(connections, f"https://{NAME}:{port}", KEY, SystemClock())
        for call in (api.get("/"), api.post("/", {})):
            with pytest.raises(CommandError) as told:
                await call
            assert told.value.code == "usage"
    assert names == []


async def test_a_forbidden_literal_is_refused_here_too() -> None:
    wires, resolver = Network(), Resolver(["127.0.0.1"])
    with pytest.raises(CommandError) as refused:
        await CheckedNetwork(resolver, wires).connect_tcp("169.254.169.254", 80)
    assert refused.value.code == "usage"
    assert (wires.connected, resolver.asked) == ([], [])


async def test_a_literal_address_needs_no_resolver() -> None:
    wires, resolver = Network(), Resolver(["192.0.2.1"])
    await CheckedNetwork(resolver, wires).connect_tcp("::1", 80)
    assert (wires.connected, resolver.asked) == (["::1"], [])


async def test_families_take_turns_until_an_address_answers() -> None:
    wires = Network(**{"2001:db8::1": "refuses", "192.0.2.1": "refuses", "2001:db8::2": "refuses"})
    found = Resolver(["2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2", "2001:db8::1"])
    await CheckedNetwork(found, wires).connect_tcp(NAME, 443)
    assert wires.connected == ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]


async def test_an_address_that_says_nothing_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_STAGGER", 0.01)
    wires = Network(**{"2001:db8::1": "silent"})
    with anyio.fail_after(10):
        await CheckedNetwork(Resolver(["2001:db8::1", "192.0.2.1"]), wires).connect_tcp(NAME, 443)
    assert wires.connected == ["2001:db8::1", "192.0.2.1"]


async def test_when_none_answers_the_connection_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Network(**{"192.0.2.1": "refuses", "192.0.2.2": "refuses"})
    with pytest.raises(httpcore.ConnectError):
        await CheckedNetwork(Resolver(["192.0.2.1", "192.0.2.2"]), wires).connect_tcp(NAME, 443)
    with pytest.raises(httpcore.ConnectError):
        await CheckedNetwork(Resolver([]), wires).connect_tcp(NAME, 443)
    silent = Network(**{"192.0.2.1": "silent"})
    with pytest.raises(httpcore.ConnectTimeout):
        await CheckedNetwork(Resolver(["192.0.2.1"]), silent).connect_tcp(NAME, 443, timeout=0.05)


def _fails(error: Exception) -> Callable[[str, int], Any]:
    async def resolver(_host: str, _port: int) -> Sequence[str]:
        await anyio.lowlevel.checkpoint()
        raise error

    return resolver


@pytest.mark.parametrize("error", [OSError("no such name"), UnicodeError("no name")])
async def test_a_name_that_cannot_be_resolved_is_a_failed_connection(error: Exception) -> None:
    async with Connections(resolver=_fails(error)) as connections:
        with pytest.raises(ConnectionFailed):
            await Api(connections, f"https://{NAME}", KEY, SystemClock()).get("/")


async def test_a_resolver_that_hangs_is_a_timeout() -> None:
    async def hangs(_host: str, _port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        return []

    async with Connections(resolver=hangs) as connections:
        with pytest.raises(RequestTimeout):
            await Api(connections, f"https://{NAME}", KEY, SystemClock()).get("/", seconds=0.1)


async def test_the_system_resolves_where_nobody_else_is_told_to() -> None:
    assert set(await network.resolve("localhost", 80)) <= {"127.0.0.1", "::1"}


async def test_a_proxy_of_the_environment_still_does_the_connecting(
    raw_service: Any, answer: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(403, b"", keep=False))

    resolver = Resolver(["127.0.0.1"])
    async with raw_service(handler) as proxy, Connections(resolver=resolver) as connections:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base)
        with pytest.raises(ConnectionFailed):
            await Api(connections, f"https://{NAME}", KEY, SystemClock()).get("/")
    assert proxy.requests[0].startswith(f"CONNECT {NAME}:443 ")
    assert KEY not in proxy.requests[0]
    assert resolver.asked == []

"""From a listening socket to exit code 0: connection limits, signals, an end within bounds.

uvicorn speaks HTTP. It bounds neither the time a request head may take nor the time an answer may wait for a client
that does not read, so its protocol is given both here. It also ends with the signal that stopped it; a server that
was asked to stop and did has succeeded, so signals are handled here.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from mcpkit.cli import EXIT_FAILURE, EXIT_OK, ListenAddress, complain
from mcpkit.isolation import seal_settings

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from starlette.types import ASGIApp

__all__ = ["BoundedProtocol", "bind", "bounded_server", "serve"]

GRACE_SECONDS: Final = 5.0
"""How long requests in progress may take after a signal to stop."""

_LAST_RESORT_SECONDS: Final = 5.0
_THREAD_SECONDS: Final = 1.0
_KEEP_ALIVE_SECONDS: Final = 75
_HEAD_SECONDS: Final = 30.0
_STALLED_SECONDS: Final = 60.0
_MAX_CONNECTIONS: Final = 512
_BACKLOG: Final = 256
_MAX_HEAD: Final = 64 << 10


def bind(address: ListenAddress) -> socket.socket:
    """A listening socket; for an empty host on every address of the machine, IPv6 included where there is one.

    Raises:
        OSError: the address is in use, not this machine's, or not permitted.
    """
    if address.host:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        return socket.create_server(
            ("", address.port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    return socket.create_server(("", address.port), backlog=_BACKLOG)


def serve(
    load: Callable[[], FastMCP[Any]],
    *,
    host: str,
    port: int,
    base_path: str = "/",
    allow_hosts: Iterable[str] = (),
    allow_origins: Iterable[str] = (),
    program: str = "mcpkit",
    grace: float = GRACE_SECONDS,
) -> int:
    """Serve until SIGTERM or SIGINT; a second signal ends at once.

    The socket is bound before the server is loaded, so that a port in use is reported at once and clients that come
    early wait instead of being refused. Nothing is written while all is well, save for the address where `port` is 0.

    Args:
        load: imports FastMCP and builds the server.
        host: literal IP address, or `""` for every address.
        port: 0 lets the system choose; the choice is written to stderr.
        base_path: cleaned mount path.
        allow_hosts: see `mcpkit.http.rules.AccessRules`.
        allow_origins: likewise.
        program: name in front of messages.
        grace: seconds that requests in progress get when the server is to stop; what is unfinished then is answered
            with -32603 `shutting_down`.

    Returns:
        0 after a signal, 1 if the address cannot be used or the server cannot be loaded.

    Raises:
        UsageError: an allowed host or origin is malformed.
    """
    from mcpkit.http.rules import AccessRules

    hosts, origins = tuple(allow_hosts), tuple(allow_origins)
    AccessRules(hosts, origins)
    address = ListenAddress(host, port)
    try:
        listener = bind(address)
    except OSError as error:
        complain(program, f"cannot listen on {address}: {_reason(error)}")
        return EXIT_FAILURE
    with listener, _Signals() as signals:
        try:
            seal_settings()
            app = load()
            signals.check()
        except _Stopped:
            return EXIT_OK
        except Exception as error:  # noqa: BLE001 - the boundary: said on stderr, exit 1
            complain(program, f"the server could not be loaded: {type(error).__name__}: {error}")
            return EXIT_FAILURE
        if port == 0:
            complain(
                program, f"listening on http://{ListenAddress(host, listener.getsockname()[1])}{base_path}"
            )
        others = set(threading.enumerate())
        try:
            with asyncio.Runner() as runner:
                runner.run(_serve(app, listener, signals, grace, base_path, hosts, origins))
        except _Stopped:
            return EXIT_OK
        except Exception as error:  # noqa: BLE001 - the boundary: said on stderr, exit 1
            complain(program, f"serving failed: {type(error).__name__}: {error}")
            return EXIT_FAILURE
        if _still_running(set(threading.enumerate()) - others):
            _leave()
    return EXIT_OK


async def _serve(
    app: FastMCP[Any],
    listener: socket.socket,
    signals: _Signals,
    grace: float,
    base_path: str,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> None:
    from mcpkit.http.endpoint import application

    async with application(app, base_path=base_path, allow_hosts=hosts, allow_origins=origins) as endpoint:
        server = bounded_server(endpoint, graceful_seconds=math.ceil(grace) + 1)
        loop = asyncio.get_running_loop()

        def stop(times: int) -> None:
            server.should_exit = True
            if times == 1:
                loop.call_later(grace, endpoint.abandon)
                return
            endpoint.abandon()
            server.force_exit = True

        with signals.delivered(lambda times: loop.call_soon_threadsafe(stop, times), grace):
            await server.serve(sockets=[listener])
        endpoint.abandon()
        if endpoint.unfinished:
            # A thread that does not stop cannot be stopped; the process can.
            _leave()


def _still_running(threads: Iterable[threading.Thread]) -> bool:
    """Whether a thread of a call would keep the interpreter from ending; idle ones end within a moment."""
    held = [thread for thread in threads if not thread.daemon]
    for thread in held:
        thread.join(_THREAD_SECONDS / len(held))
    return any(thread.is_alive() for thread in held)


def _leave() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    os._exit(EXIT_OK)


def _reason(error: OSError) -> str:
    if error.errno in {errno.EADDRINUSE, getattr(errno, "WSAEADDRINUSE", errno.EADDRINUSE)}:
        return "the address is already in use; stop the other program or choose another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "it is not an address of this machine"
    if error.errno == errno.EACCES:
        return "not permitted; choose a port above 1023"
    return error.strerror or type(error).__name__


def bounded_server(app: ASGIApp, *, graceful_seconds: int, backlog: int = _BACKLOG) -> uvicorn.Server:
    """Uvicorn for an application, with the limits of this module and without log, signals or lifespan.

    Args:
        app: the ASGI application.
        graceful_seconds: how long uvicorn waits for requests in progress once it is to exit.
        backlog: connections that may wait to be accepted.
    """
    return _Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MAX_CONNECTIONS,
            backlog=backlog,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=graceful_seconds,
            h11_max_incomplete_event_size=_MAX_HEAD,
        )
    )


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class BoundedProtocol(H11Protocol):
    """uvicorn's connection, given up where a request head or the reading of an answer takes too long."""

    head_seconds: float = _HEAD_SECONDS
    stalled_seconds: float = _STALLED_SECONDS

    _head_timer: asyncio.TimerHandle | None = None
    _stalled_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins with a request head."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            # asyncio does it for sockets it made itself; without it every answer waits 40 ms for an acknowledgement.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Part of a head, or of what belongs to a request that is being served."""
        if self._idle and self._head_timer is None:
            self._expect_head()
        super().data_received(data)
        if not self._idle:
            _cancel(self._head_timer)
            self._head_timer = None

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        _cancel(self._stalled_timer)
        self._stalled_timer = self.loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        _cancel(self._stalled_timer)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, and with it every timer."""
        _cancel(self._head_timer)
        _cancel(self._stalled_timer)
        super().connection_lost(exc)

    @property
    def _idle(self) -> bool:
        cycle: RequestResponseCycle | None = (
            self.cycle
        )  # None before the first request, whatever its annotation says
        return cycle is None or cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up_head)

    def _give_up_head(self) -> None:
        self._head_timer = None
        if self._idle:
            self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class _Stopped(BaseException):
    """A signal came before there was a server to stop."""


class _Signals:
    """SIGTERM and SIGINT (on Windows SIGBREAK, too) from before the server is loaded until it has ended."""

    def __init__(self) -> None:
        self._times = 0
        self._deliver: Callable[[int], object] | None = None
        self._grace = 0.0
        self._before: dict[int, Any] = {}
        self._last: threading.Timer | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._last is not None:
            self._last.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise if a signal came and was swallowed by what it interrupted."""
        if self._times:
            raise _Stopped

    @contextmanager
    def delivered(self, deliver: Callable[[int], object], grace: float) -> Iterator[None]:
        """Pass signals on instead of raising; `deliver` gets how many there were."""
        self._grace = grace
        self._deliver = deliver
        if self._times:
            deliver(self._times)
        try:
            yield
        finally:
            self._deliver = _ignore

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._times += 1
        if self._deliver is None:
            raise _Stopped
        if self._times == 1:
            # For a call that blocks the loop itself: no one else could end the process then.
            self._last = threading.Timer(self._grace + _LAST_RESORT_SECONDS, _leave)
            self._last.daemon = True
            self._last.start()
        self._deliver(self._times)


def _ignore(_times: int) -> None:
    """The end is under way."""

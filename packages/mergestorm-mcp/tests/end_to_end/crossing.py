"""A bridge between client and service that lets a chosen moment of one write pass, and then does something.

Everything else crosses it unchanged, but for the name of the host. A write is a POST or a PATCH, and three moments of it can be told apart on the wire:
its request has not wholly arrived, it has arrived and is not answered, its answer is there and has not arrived.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final, Literal

__all__ = ["MOMENTS", "Crossing", "Moment"]

Moment = Literal["asking", "asked", "answered"]
MOMENTS: Final[tuple[Moment, ...]] = ("asking", "asked", "answered")

_CHUNK: Final = 1 << 16


class Crossing:
    """The bridge.

    Args:
        port: of the service, on loopback.

    Attributes:
        url: what a client uses as the service's address.
        passed: set once the moment has come and what was to be done is done.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        own = self._listener.getsockname()[1]
        # The service answers to its own name only.
        self._names = (f"127.0.0.1:{own}".encode(), f"127.0.0.1:{port}".encode())
        self._plan: tuple[Moment, Callable[[], object]] | None = None
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{own}"
        self.passed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, moment: Moment, act: Callable[[], object]) -> None:
        """Do something at a moment of the next write, then cut its connection."""
        self.passed.clear()
        with self._lock:
            self._plan = (moment, act)

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        """One connection: requests here, answers on a thread of their own."""
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self._port)) as service,
        ):
            lane = _Lane(client, service)
            back = threading.Thread(target=lane.carry_back, daemon=True)
            back.start()
            try:
                while data := client.recv(_CHUNK).replace(*self._names):
                    plan = self._taken(data)
                    if plan is None:
                        service.sendall(data)
                    elif not self._stop_at(plan, data, lane):
                        break
            finally:
                lane.cut()
                back.join()

    def _taken(self, data: bytes) -> tuple[Moment, Callable[[], object]] | None:
        """The plan, if this is the beginning of the write that it is for."""
        if not data.startswith((b"POST ", b"PATCH ")):
            return None
        with self._lock:
            plan, self._plan = self._plan, None
        return plan

    def _stop_at(self, plan: tuple[Moment, Callable[[], object]], begun: bytes, lane: _Lane) -> bool:
        """Let the write pass up to the moment of the plan; whether the connection goes on."""
        moment, act = plan

        def done() -> None:
            act()
            self.passed.set()

        request = _whole(begun, lane.client)
        if moment == "asking":
            lane.service.sendall(request[:-1])
            done()
            return False
        if moment == "answered":
            lane.at_answer = done
            lane.service.sendall(request)
            return True  # until the other lane cuts it
        lane.at_answer = lambda: None  # should it come meanwhile, nobody hears it
        lane.service.sendall(request)
        done()
        return False


class _Lane:
    """A connection on both sides of the bridge.

    Attributes:
        client: towards the client.
        service: towards the service.
        at_answer: what to do when the next answer begins to arrive, instead of passing it on.
    """

    def __init__(self, client: socket.socket, service: socket.socket) -> None:
        self.client = client
        self.service = service
        self.at_answer: Callable[[], None] | None = None

    def carry_back(self) -> None:
        """Answers, until either side ends."""
        with contextlib.suppress(OSError):
            while data := self.service.recv(_CHUNK):
                if self.at_answer is not None:
                    self.at_answer()
                    break
                self.client.sendall(data)
        self.cut()

    def cut(self) -> None:
        """End both connections, which wakes whoever reads from them."""
        for end in (self.client, self.service):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _whole(begun: bytes, client: socket.socket) -> bytes:
    """A request with all of its body."""
    request = begun
    while b"\r\n\r\n" not in request:
        request += client.recv(_CHUNK)
    head, _, body = request.partition(b"\r\n\r\n")
    [length] = [
        int(line.partition(b":")[2])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    while len(body) < length:
        more = client.recv(_CHUNK)
        body += more
        request += more
    return request

"""The state of one session: which era, what waits for the server, which calls owe an answer.

Pure but for a lock: it reads no clock and writes nothing; every method returns the lines to send, in order. The
threads that read input, run the server and watch for the end all use it.

Eras. The client's first request decides: `server/discover`, or any request but `initialize` that carries its protocol
version in `_meta`, opens the modern era (2026-07-28), in which every request goes to FastMCP. Anything else opens the
handshake era, in which nothing but `initialize` and `ping` is answered before `initialize`. The snapshot's answer to
`initialize` counts; FastMCP gets the same message as a replay, and its own answer is dropped.

Ids. The server sees the client's ids, except where the SDK would confuse two that are open at once ("7" with 7, or an
id used again while its cancelled call still runs): then it sees a private one.
"""

from __future__ import annotations

from collections import deque
from threading import RLock

from mcpkit.messages import (
    Batch,
    Fault,
    Notification,
    Request,
    Response,
    encode,
    error_answer,
    fault_answer,
    has_modern_envelope,
    result_answer,
    valid_id,
)
from mcpkit.surface import negotiate

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcpkit.messages import Message, RequestId, Single
    from mcpkit.surface import Surface

__all__ = ["OPEN_BYTES", "OPEN_CALLS", "Delivery", "Session"]

OPEN_CALLS = 10_000
"""How many requests may wait or run at once; the next is answered `overloaded`. Input is read on all the while, so
that ping and cancellation get through."""

OPEN_BYTES = 64 * 1024 * 1024
"""How many bytes of input the requests that wait or run may amount to."""

_BATCH_VERSION = "2025-03-26"  # the only revision with batches


class _Collector:
    """Gathers the answers to a batch; complete when every message of it is accounted for."""

    __slots__ = ("_answers", "_missing")

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._answers: list[bytes] = []

    def settle(self, answer: bytes | None) -> list[bytes]:
        if answer is not None:
            self._answers.append(answer)
        self._missing -= 1
        if self._missing or not self._answers:
            return []
        return [b"[" + b",".join(self._answers) + b"]"]


class Delivery:
    """A message for the server. `body` is JSON-RPC; `call_id` is set for requests and names the call to settle."""

    __slots__ = ("body", "call_id")

    def __init__(self, body: dict[str, Any], call_id: RequestId | None = None) -> None:
        self.body = body
        self.call_id = call_id


class _Call:
    """A request that was or will be passed to the server."""

    __slots__ = ("abandoned", "collector", "delivery", "forwarded_id", "id", "method", "size", "taken")

    def __init__(self, request: Request, forwarded_id: RequestId, collector: _Collector | None) -> None:
        self.id = request.id
        self.method = request.method
        self.size = request.size
        self.forwarded_id = forwarded_id
        self.collector = collector
        body = {"jsonrpc": "2.0", "id": forwarded_id, "method": request.method}
        self.delivery = Delivery(_with_params(body, request.params), forwarded_id)
        self.taken = False
        self.abandoned = False  # cancelled, or a replay: runs perhaps, but nothing is sent for it


class Session:
    """One client's session.

    Args:
        surface: the recorded answers, `None` to leave the handshake to FastMCP.
        open_calls: see `OPEN_CALLS`.
        open_bytes: see `OPEN_BYTES`.
    """

    def __init__(
        self, surface: Surface | None, *, open_calls: int = OPEN_CALLS, open_bytes: int = OPEN_BYTES
    ) -> None:
        self._surface = surface
        self._most_calls = open_calls
        self._most_bytes = open_bytes
        self._lock = RLock()
        self._modern: bool | None = None
        self._version: str | None = None
        self._ready = False
        self._refusal: str | None = None  # the kind every further request is answered with
        self._waiting: deque[Delivery] = deque()
        self._calls: dict[
            RequestId, _Call
        ] = {}  # by forwarded id, folded; everything the server may still settle
        self._owed: dict[RequestId, _Call] = {}  # by the client's id; everything the client waits for
        self._bytes = 0
        self._asked: set[RequestId] = set()  # ids of the server's own requests
        self._private_ids = 0
        self._deliverable: Callable[[], None] | None = None

    # --- from the client ---

    def receive(self, message: Message) -> list[bytes]:
        """Take in one message of the client and say what to answer at once."""
        with self._lock:
            if not isinstance(message, Batch):
                return self._receive(message, None)
            if self._version != _BATCH_VERSION or self._modern:
                return [fault_answer(Fault("batch_not_supported"))]
            collector = _Collector(len(message.messages))
            return [line for item in message.messages for line in self._receive(item, collector)]

    def _receive(self, message: Single, collector: _Collector | None) -> list[bytes]:
        answer: bytes | None = None
        if isinstance(message, Request):
            outcome = self._request(message, collector)
            if isinstance(outcome, _Call):
                return []
            answer = fault_answer(Fault(outcome, message.id)) if isinstance(outcome, str) else outcome
        elif isinstance(message, Fault):
            answer = fault_answer(message)
        elif isinstance(message, Notification):
            cancelled = self._notification(message)
            return [*cancelled, *_settle(collector, None)]
        else:
            self._response(message)
        return _settle(collector, answer)

    def _request(self, request: Request, collector: _Collector | None) -> _Call | bytes | str:
        """The call that was opened, the answer, or the kind of the fault."""
        method = request.method
        if self._refusal is not None:
            return self._refusal
        enveloped = method != "initialize" and has_modern_envelope(request.params)
        if self._modern is None:
            self._modern = enveloped or method == "server/discover"
        if self._modern:
            return self._open(request, collector)
        if method == "initialize":
            return "initialize_in_batch" if collector is not None else self._initialize(request)
        if method == "ping" and not enveloped:
            return result_answer(request.id, b"{}")
        if self._version is None:
            return "not_initialized"
        recorded = not self._ready and not enveloped and not _wants_a_page(request)
        if method == "tools/list" and recorded and self._surface is not None:
            return result_answer(request.id, encode(self._surface.tools_list(self._version)))
        return self._open(request, collector)

    def _initialize(self, request: Request) -> _Call | bytes | str:
        requested = (request.params or {}).get("protocolVersion")
        outcome = self._open(request, None, replay=self._surface is not None)
        if isinstance(outcome, str):
            return outcome
        self._version = negotiate(requested)
        if self._surface is None:
            return outcome
        return result_answer(request.id, encode(self._surface.initialize(requested)))

    def _open(self, request: Request, collector: _Collector | None, *, replay: bool = False) -> _Call | str:
        if request.id in self._owed:
            return "duplicate_id"
        if len(self._calls) >= self._most_calls or self._bytes + request.size > self._most_bytes:
            return "overloaded"
        forwarded_id = request.id
        if replay or _folded(forwarded_id) in self._calls:
            forwarded_id = self._private_id()
        call = _Call(request, forwarded_id, collector)
        call.abandoned = replay
        self._calls[_folded(forwarded_id)] = call
        self._bytes += call.size
        if not replay:
            self._owed[call.id] = call
        self._deliver(call.delivery)
        return call

    def _private_id(self) -> str:
        while True:
            self._private_ids += 1
            private = f"mcpkit-{self._private_ids}"
            if private not in self._calls and private not in self._owed:
                return private

    def _notification(self, notification: Notification) -> list[bytes]:
        method, params = notification.method, notification.params
        if method == "notifications/cancelled":
            return self._cancel(params or {})
        if not method or not (self._modern or self._version) or len(self._waiting) >= self._most_calls:
            return []
        self._deliver(Delivery(_with_params({"jsonrpc": "2.0", "method": method}, params)))
        return []

    def _cancel(self, params: dict[str, Any]) -> list[bytes]:
        id_ = params.get("requestId")
        call = self._owed.get(id_) if valid_id(id_) and id_ is not None else None
        if call is None or call.method == "initialize":  # which the specification exempts
            return []
        del self._owed[call.id]
        call.abandoned = True
        if call.taken:
            told = {**params, "requestId": call.forwarded_id}
            self._deliver(Delivery({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told}))
        else:
            self._close(call)
            self._waiting.remove(call.delivery)
        return _settle(call.collector, None)

    def _response(self, response: Response) -> None:
        if response.id is not None and response.id in self._asked:
            self._asked.discard(response.id)
            self._deliver(Delivery(response.body))

    def _deliver(self, delivery: Delivery) -> None:
        self._waiting.append(delivery)
        if self._ready and self._deliverable is not None:
            self._deliverable()

    def _close(self, call: _Call) -> None:
        del self._calls[_folded(call.forwarded_id)]
        self._bytes -= call.size

    # --- from the server ---

    def ready(self, deliverable: Callable[[], None]) -> None:
        """The server takes messages from now on; `deliverable` is called, on any thread, when there are some."""
        with self._lock:
            self._ready = True
            self._deliverable = deliverable
        deliverable()

    def take(self) -> Delivery | None:
        """The next message for the server; a call taken counts as running."""
        with self._lock:
            if not self._waiting:
                return None
            delivery = self._waiting.popleft()
            if delivery.call_id is not None:
                self._calls[_folded(delivery.call_id)].taken = True
            return delivery

    def result(self, forwarded_id: RequestId, result: bytes) -> list[bytes]:
        """The server answered a call with an encoded result."""
        return self._settled(forwarded_id, lambda id_: result_answer(id_, result))

    def error(self, forwarded_id: RequestId, error: bytes) -> list[bytes]:
        """The server answered a call with an encoded error object."""
        return self._settled(forwarded_id, lambda id_: error_answer(id_, error))

    def unserialisable(self, forwarded_id: RequestId) -> list[bytes]:
        """The server answered a call with something that cannot be sent."""
        return self._settled(forwarded_id, lambda id_: fault_answer(Fault("unserialisable", id_)))

    def settled_silently(self, forwarded_id: RequestId) -> None:
        """A cancelled call has ended in the server, which sends nothing for it."""
        self._settled(forwarded_id, lambda _id: None)

    def asked(self, id: RequestId) -> None:  # noqa: A002
        """The server sends the client a request of its own, whose answer may pass."""
        with self._lock:
            if len(self._asked) < self._most_calls:
                self._asked.add(id)

    def _settled(self, forwarded_id: RequestId, answer: Callable[[RequestId], bytes | None]) -> list[bytes]:
        with self._lock:
            call = self._calls.get(_folded(forwarded_id))
            if call is None:
                return []
            self._close(call)
            if call.abandoned:
                return []
            del self._owed[call.id]
            return _settle(call.collector, answer(call.id))

    # --- from whoever watches over the end ---

    @property
    def owes(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._owed)

    def refuse(self, kind: str) -> None:
        """Answer every further request with a fault of this kind; the first refusal counts."""
        with self._lock:
            self._refusal = self._refusal or kind

    def fail_all(self, kind: str) -> list[bytes]:
        """Answer everything that waits or runs with a fault of this kind, and every further request, too."""
        with self._lock:
            self.refuse(kind)
            self._waiting.clear()
            owed = list(self._owed.values())
            self._owed.clear()
            self._calls.clear()
            self._bytes = 0
            return [
                line for call in owed for line in _settle(call.collector, fault_answer(Fault(kind, call.id)))
            ]


def _settle(collector: _Collector | None, answer: bytes | None) -> list[bytes]:
    if collector is not None:
        return collector.settle(answer)
    return [] if answer is None else [answer]


def _folded(id: RequestId) -> RequestId:  # noqa: A002
    """What the SDK files a request under: it takes the string of an integer for the integer."""
    try:
        return int(id)
    except ValueError:
        return id


def _with_params(body: dict[str, Any], params: dict[str, Any] | None) -> dict[str, Any]:
    if params is not None:
        body["params"] = params
    return body


def _wants_a_page(request: Request) -> bool:
    return bool(set(request.params or ()) - {"_meta"})

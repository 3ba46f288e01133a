"""What one message is, and how answers are written; for stdio and HTTP alike. Pure.

JSON-RPC 2.0 says which shapes are requests, notifications, responses and batches; the Model Context Protocol adds that
`params` is an object and an `id` a string or an integer. A `params` of null counts as absent, which is what the SDK does.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False  # importing typing for this constant would take longer than this module does
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    RequestId: TypeAlias = int | str
    Single: TypeAlias = "Request | Notification | Response | Fault"
    Message: TypeAlias = "Single | Batch"

__all__ = [
    "BATCH_LIMIT",
    "DEPTH_LIMIT",
    "HEAD",
    "Batch",
    "Fault",
    "Notification",
    "Request",
    "Response",
    "TooLong",
    "Unserialisable",
    "coded",
    "encode",
    "encode_in_slices",
    "error_answer",
    "fault_answer",
    "has_modern_envelope",
    "kind_of_code",
    "parse",
    "result_answer",
    "valid_id",
]

DEPTH_LIMIT = 200
"""How deep arrays and objects of a message may nest; the SDK's own reader draws the line there, too."""

BATCH_LIMIT = 1000
"""How many messages a batch may hold."""

_ENVELOPE_KEY = "io.modelcontextprotocol/protocolVersion"

# Codes: JSON-RPC 2.0, section 5.1. Spelled here because mcpkit.errors needs typing; a test compares the two.
_FAULTS = {
    "parse_error": (-32700, "not valid JSON; send one JSON object in UTF-8, on a line of its own over stdio"),
    "invalid_request": (-32600, "not a JSON-RPC 2.0 request with a string or integer id"),
    "invalid_params": (-32602, "params must be an object of valid Unicode strings"),
    "message_too_large": (-32600, "the message is longer than 32 MiB; send less at once"),
    "too_deep": (-32600, f"the message nests deeper than {DEPTH_LIMIT} levels; flatten it"),
    "empty_batch": (-32600, "a batch must hold at least one message"),
    "batch_too_large": (-32600, f"a batch may hold {BATCH_LIMIT} messages; send more batches"),
    "batch_not_supported": (
        -32600,
        "batches exist under protocol version 2025-03-26 only; send single messages",
    ),
    "initialize_in_batch": (-32600, "initialize must not be part of a batch; send it alone"),
    "not_initialized": (-32600, "send initialize first; before it only ping is answered"),
    "duplicate_id": (-32600, "a request with this id is still in progress; use a new id"),
    "method_not_found": (-32601, "this server does not offer that method"),
    "internal_error": (-32603, "internal error; the server's stderr has the details"),
    "overloaded": (-32603, "too many requests in progress; wait for answers, then send it again"),
    "shutting_down": (-32603, "the server is shutting down; start it again and repeat the request"),
    "startup_failed": (-32603, "the server could not start; its stderr says why"),
    "unserialisable": (-32603, "the result holds a value that JSON cannot carry"),
}

_RESERVED_CODES = range(-32099, -32019)
"""Codes of the protocol itself, from revision 2026-07-28 on."""

_KINDS = {
    -32700: "parse_error",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32603: "internal_error",
    -32020: "header_mismatch",
    -32021: "missing_client_capability",
    -32022: "unsupported_protocol_version",
}


HEAD = 64 * 1024
"""How much of a message that is too long is kept, in bytes: enough to find its id."""


class TooLong:
    """Stands for a line over the limit; `head` is its beginning, the rest was discarded unread."""

    __slots__ = ("head",)

    def __init__(self, head: bytes) -> None:
        self.head = head


class Fault:
    """A message that gets an error: `kind` says which, `id` is null where it could not be read."""

    __slots__ = ("id", "kind")

    def __init__(self, kind: str, id: RequestId | None = None) -> None:  # noqa: A002 - the wire's name
        self.kind = kind
        self.id = id


class Request:
    """A request; `size` is the length in bytes of the line it came in."""

    __slots__ = ("id", "method", "params", "size")

    def __init__(self, id: RequestId, method: str, params: dict[str, Any] | None, size: int) -> None:  # noqa: A002
        self.id = id
        self.method = method
        self.params = params
        self.size = size


class Notification:
    """A notification. Its faults are never answered, so one with unusable params has an empty method."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any] | None) -> None:
        self.method = method
        self.params = params


class Response:
    """The client's answer to a request of the server; `body` is the whole object."""

    __slots__ = ("body", "id")

    def __init__(self, id: RequestId | None, body: dict[str, Any]) -> None:  # noqa: A002
        self.id = id
        self.body = body


class Batch:
    """Several messages in one array."""

    __slots__ = ("messages",)

    def __init__(self, messages: list[Single]) -> None:
        self.messages = messages


class Unserialisable(Exception):
    """JSON or UTF-8 cannot carry the value: not finite, a lone surrogate, no JSON type, too deep, circular."""


# --- reading ------------------------------------------------------------------------------------------------------


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise ValueError("out of range")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(text)  # NaN and the infinities are Python's extension of JSON


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(rb'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+)')


def parse(line: bytes | TooLong) -> Message | None:
    """Say what a line is; `None` for a blank one."""
    if isinstance(line, TooLong):
        return Fault("message_too_large", _salvaged_id(line.head))
    line = line.strip(b" \t\r\n").removeprefix(
        b"\xef\xbb\xbf"
    )  # some shells put a byte order mark before a pipe's text
    if not line:
        return None
    try:
        text = line.decode("utf-8")
        value, end = _DECODER.raw_decode(text)
        if end != len(text):
            return Fault("parse_error")
    except RecursionError:
        return Fault("too_deep", _salvaged_id(line[:HEAD]))
    except ValueError:  # UnicodeDecodeError, JSONDecodeError, more digits than Python converts
        return Fault("parse_error")
    if line.count(b"[") + line.count(b"{") > DEPTH_LIMIT and _deeper_than(value, DEPTH_LIMIT):
        return Fault("too_deep", _salvaged_id(line[:HEAD]))
    escapes = _SURROGATE.search(line) is not None
    if not isinstance(value, list):
        return _single(value, len(line), escapes)
    if not value:
        return Fault("empty_batch")
    if len(value) > BATCH_LIMIT:
        return Fault("batch_too_large")
    share = len(line) // len(value)
    return Batch([_single(item, share, escapes) for item in value])


def _single(value: Any, size: int, escapes: bool) -> Single:
    if not isinstance(value, dict):
        return Fault("invalid_request")
    id_ = value.get("id")
    known = id_ if valid_id(id_) else None
    if "method" not in value and ("result" in value or "error" in value):
        return Response(known, value)
    method = value.get("method")
    if value.get("jsonrpc") != "2.0" or not isinstance(method, str) or not _carriable(method):
        return Fault("invalid_request", known)
    if "id" in value and known is None:
        return Fault("invalid_request")
    params = value.get("params")
    sound = (params is None or isinstance(params, dict)) and not (escapes and not _carriable(params))
    if known is None:
        return Notification(method, params) if sound else Notification("", None)
    return Request(known, method, params, size) if sound else Fault("invalid_params", known)


def valid_id(value: object) -> bool:
    """Whether a value can be a request id: an integer (never a boolean) or a string that UTF-8 can carry."""
    if isinstance(value, str):
        return _carriable(value)
    return isinstance(value, int) and not isinstance(value, bool)


def has_modern_envelope(params: dict[str, Any] | None) -> bool:
    """Whether a request carries its protocol version in `_meta`, as revision 2026-07-28 has it."""
    meta = params.get("_meta") if params else None
    return isinstance(meta, dict) and _ENVELOPE_KEY in meta


def _carriable(value: object) -> bool:
    try:
        encode(value)
    except Unserialisable:
        return False
    return True


def _deeper_than(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)  # type: ignore[attr-defined]
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _salvaged_id(head: bytes) -> RequestId | None:
    """The id of an object of which only the beginning is there or whose whole cannot be parsed."""
    tokens = _tokens(head)
    if next(tokens, None) != b"{":
        return None
    depth, key, previous = 1, b"", b"{"
    for token in tokens:
        if token in {b"{", b"["}:
            depth += 1
        elif token in {b"}", b"]"}:
            depth -= 1
            if depth == 0:
                return None
        elif depth == 1 and token == b":":
            key = previous
        elif depth == 1 and token == b"," and key == b'"id"':
            return _id_of(previous)
        previous = token
    return None


def _tokens(head: bytes) -> Iterator[bytes]:
    position = 0
    while (match := _TOKEN.match(head, position)) is not None:
        yield match[1]
        position = match.end()


def _id_of(token: bytes) -> RequestId | None:
    try:
        value = _DECODER.decode(token.decode("utf-8"))
    except ValueError:
        return None
    return value if valid_id(value) else None


# --- writing ------------------------------------------------------------------------------------------------------

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


_SLICE = 256
_SLICED_DEPTH = 4


def encode_in_slices(encoder: json.JSONEncoder, value: Any, depth: int = _SLICED_DEPTH) -> Iterator[str]:
    """The text of `encoder.encode(value)` in pieces, long lists a few hundred members at a time.

    One call of the C encoder lets no other thread run until it is done; between the pieces they can.
    """
    if type(value) is list and len(value) > _SLICE:
        for start in range(0, len(value), _SLICE):
            yield ("[" if start == 0 else ",") + encoder.encode(value[start : start + _SLICE])[1:-1]
        yield "]"
    elif type(value) is dict and value and depth and all(type(key) is str for key in value):
        opening = "{"
        for key in sorted(value) if encoder.sort_keys else value:
            yield f"{opening}{encoder.encode(key)}{encoder.key_separator}"
            yield from encode_in_slices(encoder, value[key], depth - 1)
            opening = encoder.item_separator
        yield "}"
    else:
        yield encoder.encode(value)


def encode(value: object) -> bytes:
    """Compact JSON in UTF-8 on one line.

    Raises:
        Unserialisable: JSON or UTF-8 cannot carry the value.
    """
    try:
        return "".join(encode_in_slices(_ENCODER, value)).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise Unserialisable(type(error).__name__) from None


def result_answer(id: RequestId, result: bytes) -> bytes:  # noqa: A002
    """The response that carries an encoded result."""
    return b'{"jsonrpc":"2.0","id":' + encode(id) + b',"result":' + result + b"}"


def error_answer(id: RequestId | None, error: bytes) -> bytes:  # noqa: A002
    """The response that carries an encoded error object."""
    return b'{"jsonrpc":"2.0","id":' + encode(id) + b',"error":' + error + b"}"


def fault_answer(fault: Fault) -> bytes:
    """The response to a faulty message."""
    code, message = _FAULTS[fault.kind]
    return error_answer(fault.id, encode({"code": code, "message": message, "data": {"kind": fault.kind}}))


def kind_of_code(code: int) -> str:
    """The `data.kind` of an error that came without one."""
    return _KINDS.get(code, "server_error")


def coded(error: dict[str, Any]) -> dict[str, Any]:
    """The error object of a response, with a `data.kind` where no one gave it data of its own.

    What a server put into `data` stays as it is; the codes that the specification reserves for the protocol always get
    their kind. Code 0 is what the SDK makes of an exception nobody mapped: its text may hold anything and is masked.
    """
    code, data = error["code"], error.get("data")
    if code == 0:
        code, message = _FAULTS["internal_error"]
        return {"code": code, "message": message, "data": {"kind": "internal_error"}}
    data = data if isinstance(data, dict) else {}
    if not data or code in _RESERVED_CODES:
        data = {"kind": kind_of_code(code), **data}
    return {"code": code, "message": error["message"], "data": data}

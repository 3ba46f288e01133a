"""JSON-RPC 2.0 messages as MCP uses them: strict reading, sorting by kind, exact writing.

Shared by the stdio adapter and the HTTP front, so that both refuse the same messages with the same code and kind.
Rules: JSON-RPC 2.0 sections 4 and 5, RFC 8259, and the MCP schema (an id is a string or an integer, params are an
object). Standard library only, and little of it: the stdio adapter loads this before it answers the handshake.
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate
from typing import Any, Final

from mcpkit.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

__all__ = [
    "MAX_DEPTH",
    "Message",
    "MessageFault",
    "classify",
    "encode",
    "error_reply",
    "read_json",
    "result_reply",
]

MAX_DEPTH: Final = 200
"""Deepest nesting of arrays and objects taken in a message; validators further on recurse."""

_MAX_ID_SEARCH: Final = 1 << 20
# Possessive, so that a string of megabytes needs no memory to step back through.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEP: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class MessageFault(Exception):
    """What came in is not a message that can be served.

    Args:
        code: JSON-RPC error code.
        kind: stable name of the case for `data.kind`.
        message: what is wrong and what to do; holds nothing of the input.
        id: the request's id where it could be read, else None.
    """

    def __init__(self, code: int, kind: str, message: str, id: str | int | None = None) -> None:  # noqa: A002
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.message = message
        self.id = id

    def reply(self) -> dict[str, Any]:
        """The JSON-RPC error response."""
        return error_reply(self.id, self.code, self.kind, self.message)


class Message:
    """One well-formed message: a request, a notification or a response.

    Attributes:
        kind: `"request"`, `"notification"` or `"response"`.
        id: the id of a request or response; None for a notification.
        method: the method of a request or notification; `""` for a response.
        params: the params object; None where absent or null.
        body: the message as it was read.
    """

    __slots__ = ("body", "id", "kind", "method", "params")

    def __init__(self, kind: str, body: dict[str, Any]) -> None:
        self.kind = kind
        self.body = body
        self.id: str | int | None = body.get("id")
        self.method: str = body.get("method", "")
        self.params: dict[str, Any] | None = body.get("params")


def error_reply(
    id: str | int | None,  # noqa: A002 - the member's name in JSON-RPC
    code: int,
    kind: str,
    message: str,
    data: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """An error response with `data.kind` and, if given, further data members."""
    error = {"code": code, "message": message, "data": {"kind": kind, **(data or {})}}
    return {"jsonrpc": "2.0", "id": id, "error": error}


def result_reply(id: str | int | None, result: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    """A success response."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def encode(value: Any) -> bytes:
    """A message as one line of compact UTF-8 JSON, non-ASCII as it is, without the line end.

    Raises:
        ValueError: the value holds NaN, an infinity, an integer too long to print or (as `UnicodeEncodeError`) a
            lone surrogate.
        TypeError: the value holds something that is not a JSON value.
        RecursionError: the value is nested too deeply.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def read_json(raw: bytes | bytearray) -> Any:
    """Parse one message or batch: UTF-8 JSON with nothing after it but white space.

    Raises:
        MessageFault: -32700 `parse_error` if it is not JSON text or holds a number that no double or integer of
            4,300 digits can hold; -32600 `too_deep` or `invalid_unicode` if it is JSON that cannot be served.
    """
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(raw) > MAX_DEPTH:
        raise _too_deep(raw)
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except RecursionError:
        raise _too_deep(raw) from None
    except ValueError:  # JSONDecodeError, UnicodeDecodeError, refused constants and over-long integers
        raise MessageFault(
            PARSE_ERROR, "parse_error", "the message is not valid JSON; send one JSON value in UTF-8"
        ) from None
    if _SURROGATE_ESCAPE.search(raw) and not _is_unicode(value):
        raise MessageFault(
            INVALID_REQUEST,
            "invalid_unicode",
            "the message has half of a surrogate pair; send whole Unicode characters",
            _id_of(value),
        )
    return value


def classify(value: Any) -> Message:
    """Sort one parsed value; batches are taken apart by the caller.

    Raises:
        MessageFault: -32600 `invalid_request`, or -32602 `invalid_params` where only the params have a wrong type.
    """
    if not isinstance(value, dict):
        raise _invalid("the message is not a JSON-RPC object")
    if value.get("jsonrpc") != "2.0":
        raise _invalid('the "jsonrpc" member must be "2.0"', _id_of(value))
    if "id" in value and not _is_id(value["id"]):
        raise _invalid("the id must be a string or an integer")
    if "method" in value:
        if not isinstance(value["method"], str):
            raise _invalid("the method must be a string", _id_of(value))
        if not isinstance(value.get("params"), dict | None):
            raise MessageFault(
                INVALID_PARAMS,
                "invalid_params",
                "params must be an object; send named arguments",
                _id_of(value),
            )
        return Message("request" if "id" in value else "notification", value)
    if "id" in value and ("result" in value) != ("error" in value):
        return Message("response", value)
    raise _invalid("the message has no method", _id_of(value))


def _invalid(message: str, id: str | int | None = None) -> MessageFault:  # noqa: A002
    return MessageFault(INVALID_REQUEST, "invalid_request", message, id)


def _too_deep(raw: bytes | bytearray) -> MessageFault:
    message = f"the message is nested deeper than {MAX_DEPTH} levels; send flatter arguments"
    return MessageFault(INVALID_REQUEST, "too_deep", message, _search_id(raw))


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:  # an infinity: the number is out of the range of a double
        raise ValueError
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _depth(raw: bytes | bytearray) -> int:
    """Nesting of the brackets outside strings; for text that is not JSON any number will do."""
    steps = array("b", _STRING.sub(b"", raw).translate(_STEP, _NOT_BRACKETS))
    return max(accumulate(steps), default=0)


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _id_of(value: Any) -> str | int | None:
    """The id of a message that is refused, if it has one that can be echoed."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if _is_id(found) and _is_unicode(found) else None


def _search_id(raw: bytes | bytearray) -> str | int | None:
    """The top-level id of a message too deep to parse, so that its sender need not wait for a timeout."""
    if len(raw) > _MAX_ID_SEARCH:
        return None
    depth, before, key = 0, b"", b""
    for match in _TOKEN.finditer(raw):
        token = match.group()
        if token in {b"[", b"{"}:
            depth += 1
        elif token in {b"]", b"}"}:
            depth -= 1
        elif depth == 1 and token == b":":
            key = before
        elif depth == 1 and before == b":" and key == b'"id"':
            try:
                return _id_of({"id": _DECODER.decode(token.decode("utf-8"))})
            except ValueError:
                return None
        before = token
    return None

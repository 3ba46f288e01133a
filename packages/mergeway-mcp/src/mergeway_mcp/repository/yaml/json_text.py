"""JSON files: strict JSON through the standard library, everything else is left to the YAML reader."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import Any, Final

from .errors import YamlError
from .limits import MAX_DEPTH


class NotStrictJson(Exception):
    """The text uses what only the YAML dialect allows, or is broken."""


# Allowed inside of JSON strings but not in YAML (contract a9: control characters are errors).
_FORBIDDEN: Final = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")

# A string, quoted text or a comment, so that only escapes inside of double quotes are touched. Possessive, and with
# the end optional, so that no text makes it look at anything twice.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|\'[^\']*+\'?|#[^\r\n]*+', re.DOTALL)
_ESCAPE: Final = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def read_json(data: bytes) -> Any:
    """Read a file that is strict JSON.

    Duplicate names are refused, integers are exact, and a number beyond a double's range stays text as in YAML.

    Raises:
        NotStrictJson: It is not; the YAML reader decides what it is then.
        YamlError: It is, and says something that no dialect here allows.
    """
    text = _decode(data)
    if not text.isascii():
        if _FORBIDDEN.search(text):
            raise NotStrictJson
    elif "\x7f" in text:
        raise NotStrictJson
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        # Also an integer beyond the digits that int() takes, and nesting beyond the interpreter's stack.
        raise NotStrictJson from None
    _check(value, strings="\\ud" in text or "\\uD" in text)
    return value


def join_surrogates(data: bytes) -> bytes:
    r"""Rewrite `\ud83d\ude00`, which JSON allows and YAML does not, as `\U0001f600`."""
    return _TOKEN.sub(
        lambda token: _ESCAPE.sub(_joined, token[0]) if token[0][:1] == b'"' else token[0], data
    )


def _joined(match: re.Match[bytes]) -> bytes:
    high, low = match.groups()
    if high is None:
        return match[0]
    point = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return b"\\U%08x" % point


def _decode(data: bytes) -> str:
    try:
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            return data.decode("utf-16")
        if data.startswith(BOM_UTF8):
            return data[len(BOM_UTF8) :].decode("utf-8")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotStrictJson from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise YamlError("a key stands twice in one map; remove one of them")
    return result


def _number(text: str) -> float | str:
    number = float(text)
    return text if number in {float("inf"), float("-inf")} else number


def _constant(_name: str) -> Any:
    raise NotStrictJson  # NaN, Infinity, -Infinity: words, not JSON


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)


def _check(value: Any, *, strings: bool) -> None:
    """Refuse deep nesting and, where `strings`, lone surrogates: level by level, so no recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for container in level:
            kind = type(container)
            if kind is dict:
                inner += container.values()
                if strings:
                    inner += container
            elif kind is list:
                inner += container
            elif strings and kind is str and not _is_text(container):
                raise YamlError("an escape names half of a surrogate pair; write the whole character")
        level = [item for item in inner if type(item) in _CONTAINERS] if not strings else inner
        if not level:
            return
    raise YamlError(f"it is nested more than {MAX_DEPTH} levels deep; flatten it")


_CONTAINERS: Final = frozenset([dict, list])


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

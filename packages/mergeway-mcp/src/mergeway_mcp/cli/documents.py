"""Writes data as YAML or JSON that reads back to the same values, in this project's dialect and in stricter ones.

Characters without a visible shape are escaped inside quotes, so both are safe on a terminal too. YAML is written here
rather than by a library because libraries quote by the rules of YAML 1.1: what they leave bare (`1e3`, `0o17`) this
dialect reads as numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from mergeway_mcp.repository.yaml.scalars import resolve

# Readers of YAML 1.1 take these for booleans or null.
_WORDS_ELSEWHERE: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_NEEDS_QUOTES: Final = re.compile(r":(?: |$)| #| $")
# A key on one line may be 1,024 characters long; longer ones are marked with `?`.
_MAX_SIMPLE_KEY: Final = 1_000
_SUSPECT: Final = re.compile(r"[^ -~\n]")


def to_json_text(data: Any) -> str:
    """The data as indented JSON, members in the order they have."""
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    return _SUSPECT.sub(_json_escape, text) + "\n"


def to_yaml_text(data: Any) -> str:
    """The data as block-style YAML, members in the order they have."""
    if _is_block(data):
        return "\n".join(_lines(data, 0)) + "\n"
    return _scalar(data) + "\n"


def _is_block(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _lines(container: dict[str, Any] | list[Any], indent: int) -> Iterator[str]:
    margin = " " * indent
    if isinstance(container, list):
        for entry in container:
            yield from _behind(margin + "- ", entry, indent)
        return
    for key, value in container.items():
        name = _scalar(key)
        if len(name) > _MAX_SIMPLE_KEY:
            yield f"{margin}? {name}"
            yield from _behind(margin + ": ", value, indent)
        elif _is_block(value):
            yield f"{margin}{name}:"
            yield from _lines(value, indent + 2)
        else:
            yield f"{margin}{name}: {_scalar(value)}"


def _behind(lead: str, value: Any, indent: int) -> Iterator[str]:
    """The lines of a value whose first follows a two-character mark."""
    if not _is_block(value):
        yield lead + _scalar(value)
        return
    lines = _lines(value, indent + 2)
    yield lead + next(lines)[indent + 2 :]
    yield from lines


def _scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value if _is_plain(value) else _quoted(value)
        case int() | float():
            return repr(value)
        case list():
            return "[]"
        case _:
            return "{}"


def _is_plain(text: str) -> bool:
    first = text[:1]
    return (
        (first.isalpha() or first in {"_", "/"})
        and text.isprintable()
        and text.lower() not in _WORDS_ELSEWHERE
        and _NEEDS_QUOTES.search(text) is None
        and resolve(text) == text
    )


def _quoted(text: str) -> str:
    return _SUSPECT.sub(_yaml_escape, json.dumps(text, ensure_ascii=False))


def _json_escape(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _yaml_escape(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

"""Turns values of records into what JSON can say, or refuses.

Points in time become RFC 3339 text. Integers stay exact. Floats that are small whole numbers become integers, so that
1.0 is written as 1; all others stay the doubles they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .yaml import Timestamp

#: Deepest nesting that is returned. Encoders on the way to the client have limits of their own not far above.
MAX_DEPTH: Final = 200

#: Largest magnitude below which every whole number is a double.
_EXACT: Final = 2.0**53

_AS_THEY_ARE: Final = frozenset([int, bool, type(None)])


class NotJson(Exception):
    """A value that no JSON text can carry.

    Attributes:
        reason: What is wrong and how to mend it; quotes nothing.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def to_json(value: Any, depth: int = 0) -> Any:
    """A copy of a value made only of what JSON has.

    Raises:
        NotJson: A float that is not finite, a key that is not text, text that is not Unicode, or too deep a nesting.
    """
    kind = value.__class__
    if kind is dict or kind is list:
        return _container(value, kind, depth)
    if isinstance(value, Mapping):
        return _container(dict(value), dict, depth)
    return _scalar(value)


def _container(value: Any, kind: type, depth: int) -> Any:
    # Written for large exports: copied whole, then only what is not the same in JSON is replaced.
    if depth >= MAX_DEPTH:
        raise NotJson(f"is nested more than {MAX_DEPTH} deep")
    copy: Any
    items: Iterable[tuple[Any, Any]]
    if kind is list:
        copy, items = list(value), enumerate(value)
    else:
        copy, items = dict(value), value.items()
        for key in value:
            if key.__class__ is not str:
                raise NotJson("has a nested key that is not text; put it in quotes")
            if not key.isascii():
                _require_unicode(key)
    for place, item in items:
        item_kind = item.__class__
        if item_kind is str:
            if not item.isascii():
                _require_unicode(item)
        elif item_kind is dict or item_kind is list:
            copy[place] = _container(item, item_kind, depth + 1)
        elif item_kind not in _AS_THEY_ARE:
            copy[place] = to_json(item, depth + 1)
    return copy


def _scalar(value: Any) -> Any:
    kind = value.__class__
    if kind in _AS_THEY_ARE:
        return value
    if kind is str:
        if not value.isascii():
            _require_unicode(value)
        return value
    if kind is float:
        if not math.isfinite(value):
            raise NotJson("holds infinity or NaN, which JSON lacks; write it as text")
        # -0.0 stays: as an integer it would lose its sign.
        if value.is_integer() and abs(value) <= _EXACT and (value or math.copysign(1.0, value) > 0):
            return int(value)
        return value
    if kind is Timestamp:
        return value.rfc3339()
    raise NotJson("holds a value of a kind that JSON lacks")


def _require_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotJson("holds half a surrogate pair, which is no text") from None

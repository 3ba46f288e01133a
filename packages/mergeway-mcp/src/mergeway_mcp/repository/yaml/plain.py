"""The fast way from events to plain values, for documents without anchors, tags and merges.

Nearly every record file is one. Anything it does not serve exactly makes it stop with `NeedsTree`, and the document is
read again through nodes (`tree`, `decode`).
"""

from __future__ import annotations

from typing import Any, Final

from yaml.events import (
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from .errors import YamlError
from .events import NextEvent
from .limits import MAX_DEPTH, MAX_TYPED_KEYS
from .scalars import SPECIAL_STARTS, resolve
from .values import Value


class NeedsTree(Exception):
    """The document uses anchors, aliases, tags or merge keys."""


# What `key` holds when no value is awaited for a key: the next thing is a key, or an entry of a list.
_WANTS_KEY: Final = object()
_IN_LIST: Final = object()
# Stands in for the null key of a record until its map is complete.
_DROPPED: Final = object()


def build_plain(next_event: NextEvent, *, text_keys: bool) -> Value:
    """Build the first document.

    Args:
        next_event: The stream, from its start.
        text_keys: Take the keys of the top map as text and drop a null one (a record).

    Raises:
        NeedsTree: The document needs the node reader.
        YamlError: The document cannot be read.
    """
    next_event()  # the start of the stream
    if type(next_event()) is StreamEndEvent:
        return None
    root: list[Any] = []
    target: Any = root
    key: Any = _IN_LIST
    # Source texts of the keys in the current map that are not strings in it; None while there are none.
    odd_texts: set[str] | None = None
    stack: list[tuple[Any, Any, set[str] | None]] = []
    # One string for a name that many maps repeat.
    names: dict[str, str] = {}
    share = names.setdefault
    special = SPECIAL_STARTS

    while True:
        event = next_event()
        kind = type(event)
        if kind is ScalarEvent:
            if event.anchor is not None or event.tag is not None:
                raise NeedsTree
            text = event.value
            if key is _WANTS_KEY:
                if text in target or (odd_texts is not None and text in odd_texts):
                    raise _fault(event, "a key stands twice in one map; remove one of them")
                key = share(text, text)
                if text[:1] in special and not event.style:
                    if text == "<<":
                        raise NeedsTree
                    name = _resolve(event)
                    if type(name) is not str:
                        odd_texts = odd_texts or set()
                        odd_texts.add(text)
                        if not text_keys or len(stack) != 1:
                            if len(odd_texts) > MAX_TYPED_KEYS:
                                raise _fault(
                                    event, f"a map has more than {MAX_TYPED_KEYS:,} keys that are not text"
                                )
                            key = name
                        elif name is None:
                            key = _DROPPED
                continue
            value: Any = text
            if text[:1] in special and not event.style:
                value = _resolve(event)
            if key is _IN_LIST:
                target.append(value)
            else:
                target[key] = value
                key = _WANTS_KEY
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            if odd_texts is not None:
                target.pop(_DROPPED, None)
            value = target
            target, key, odd_texts = stack.pop()
            if key is _IN_LIST:
                target.append(value)
            else:
                target[key] = value
                key = _WANTS_KEY
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.anchor is not None or event.tag is not None:
                raise NeedsTree
            if key is _WANTS_KEY:
                raise _fault(event, "a list or a map cannot be a key")
            stack.append((target, key, odd_texts))
            if len(stack) > MAX_DEPTH:
                raise _fault(event, f"it is nested more than {MAX_DEPTH} levels deep; flatten it")
            odd_texts = None
            if kind is MappingStartEvent:
                target, key = {}, _WANTS_KEY
            else:
                target, key = [], _IN_LIST
        elif kind is DocumentEndEvent:
            return root[0]  # type: ignore[no-any-return]  # the root list holds values only
        else:
            raise NeedsTree  # an alias


def _resolve(event: Any) -> Any:
    try:
        return resolve(event.value)
    except YamlError as error:
        raise _fault(event, error.reason) from None


def _fault(event: Any, reason: str) -> YamlError:
    mark = event.start_mark
    return YamlError(reason, mark.line + 1, mark.column + 1)

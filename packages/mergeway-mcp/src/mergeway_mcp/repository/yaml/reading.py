"""The ways to read a file: as one record, as any plain data, or (see `tree`) as nodes."""

from __future__ import annotations

from typing import Any

from .decode import decode_record, decode_value
from .errors import NotAMapping, YamlError
from .events import with_events
from .json_text import NotStrictJson, join_surrogates, read_json
from .plain import NeedsTree, build_plain
from .tree import compose
from .values import Value


def load_mapping(data: bytes, *, json_syntax: bool) -> dict[str, Value] | None:
    """Read the first document as a record: a map whose top keys are taken as text.

    A null key at the top is dropped; top keys of equal source text are duplicates. Maps below keep typed keys.

    Args:
        data: The whole file.
        json_syntax: The file is named .json: strict JSON means what JSON says, and JSON's own escapes are taken.

    Returns:
        The map, or None for an empty or null document.

    Raises:
        NotAMapping: The document is a list or a scalar.
        YamlError: The document cannot be read.
    """
    value = _load(data, json_syntax=json_syntax, text_keys=True)
    if value is None or isinstance(value, dict):
        return value
    raise NotAMapping("the file must hold keys and values at its top level, not a list or a single value")


def load_plain(data: bytes, *, json_syntax: bool) -> Value:
    """Read the first document as plain data with typed keys.

    Args:
        data: The whole file.
        json_syntax: As for `load_mapping`.

    Raises:
        YamlError: The document cannot be read.
    """
    return _load(data, json_syntax=json_syntax, text_keys=False)


def read_exactly(data: bytes, *, text_keys: bool) -> Value:
    """Read the first document through nodes, which serves all of the dialect.

    Args:
        data: The whole file.
        text_keys: Take the keys of the top map as text and drop a null one.

    Raises:
        YamlError: The document cannot be read.
    """
    node = compose(data)
    if node is None:
        return None
    return decode_record(node) if text_keys and node.kind == "mapping" else decode_value(node)


def has_non_string_key(value: Any) -> bool:
    """Whether any map at any depth has a key that is not a string (such data cannot become JSON)."""
    pending = [value]
    seen: set[int] = set()
    while pending:
        container = pending.pop()
        if id(container) in seen:
            continue
        seen.add(id(container))
        if type(container) is dict:
            for key, item in container.items():
                if type(key) is not str:
                    return True
                if type(item) is dict or type(item) is list:
                    pending.append(item)
        elif type(container) is list:
            pending.extend(item for item in container if type(item) is dict or type(item) is list)
    return False


def _load(data: bytes, *, json_syntax: bool, text_keys: bool) -> Value:
    if not json_syntax:
        return _load_yaml(data, text_keys=text_keys)
    try:
        return read_json(data)  # type: ignore[no-any-return]  # JSON's types are all values
    except NotStrictJson:
        pass
    try:
        return _load_yaml(data, text_keys=text_keys)
    except YamlError:
        joined = join_surrogates(data)
        if joined == data:
            raise
    return _load_yaml(joined, text_keys=text_keys)


def _load_yaml(data: bytes, *, text_keys: bool) -> Value:
    try:
        return with_events(data, lambda next_event: build_plain(next_event, text_keys=text_keys))
    except NeedsTree:
        return read_exactly(data, text_keys=text_keys)

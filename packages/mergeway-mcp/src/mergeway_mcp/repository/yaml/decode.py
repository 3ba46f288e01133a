"""Typed readings of nodes, as Go fields of each type would take them from yaml.v3 (contract a1, a4, a9)."""

from __future__ import annotations

import binascii
from typing import Any, Final

from .errors import NotAMapping, YamlError
from .limits import MAX_TYPED_KEYS
from .nodes import BINARY_TAG, BOOL_TAG, FLOAT_TAG, INT_TAG, NULL_TAG, TIMESTAMP_TAG, Node
from .scalars import Scalar, resolve
from .tree import tag_of
from .values import Value

_RESOLVED_TAGS: Final = frozenset([NULL_TAG, BOOL_TAG, INT_TAG, FLOAT_TAG, TIMESTAMP_TAG])

_TYPED_TRUE: Final = frozenset(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"])
_TYPED_FALSE: Final = frozenset(["n", "N", "no", "No", "NO", "off", "Off", "OFF"])

_INT64: Final = range(-(1 << 63), 1 << 63)

#: The values of nodes that an anchor makes appear more than once, by identity and whether keys are taken as text.
_Memo = dict[tuple[int, bool], Any]


def decode_text(node: Node) -> str:
    """The text of a scalar decoded into a string, whatever its type: `5` is "5", `2.50` is "2.50", null is "".

    Raises:
        YamlError: The node is a list or a map, or its tag does not fit its text.
    """
    if node.kind != "scalar":
        raise _fault(node, "text is needed here, not a list or a map")
    value = _scalar(node)
    if value is None:
        return ""
    return value if node.tag == BINARY_TAG and isinstance(value, str) else node.text


def decode_bool_typed(node: Node) -> bool:
    """A scalar decoded into a boolean: true and false; y, yes, on, n, no, off, quoted or not; null is False.

    Raises:
        YamlError: Anything else.
    """
    value = _scalar(node) if node.kind == "scalar" else node
    if value is None or value is False:
        return False
    if value is True:
        return True
    if isinstance(value, str):
        if value in _TYPED_TRUE:
            return True
        if value in _TYPED_FALSE:
            return False
    raise _fault(node, "true or false is needed here")


def decode_int_typed(node: Node) -> int:
    """A scalar decoded into a 64-bit integer: floats are truncated, null is 0.

    Raises:
        YamlError: Not a number, or out of range.
    """
    value = _scalar(node) if node.kind == "scalar" else node
    if value is None:
        return 0
    if isinstance(value, float) and float(_INT64[0]) <= value < float(_INT64[-1]):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
        return value
    raise _fault(node, "an integer of at most 64 bits is needed here")


def decode_value(node: Node) -> Value:
    """The plain value of a node, keys typed, as `load_plain` would give it.

    Raises:
        YamlError: As `load_plain`.
    """
    return _value(node, {}, text_keys=False)  # type: ignore[no-any-return]  # lists and maps are typed loosely


def decode_record(node: Node) -> dict[str, Value]:
    """The value of a mapping whose own keys are taken as text, as `load_mapping` would give it.

    Raises:
        NotAMapping: The node is a list or a scalar.
        YamlError: As `load_mapping`.
    """
    if node.kind != "mapping":
        raise NotAMapping("keys and values are needed here", node.line, node.column)
    return _mapping(node, {}, text_keys=True)


def mapping_items(node: Node, *, allow_duplicates: bool = False) -> list[tuple[Node, Node]]:
    """The keys and values of a mapping: its own first, then what `<<` merges in; an own or earlier key wins.

    Args:
        node: A mapping.
        allow_duplicates: Give repeated keys and `<<` as they stand, nothing merged (contract a3, a4: `fields`).

    Raises:
        NotAMapping: The node is a list or a scalar.
        YamlError: A key is repeated, a list or a map is a key, or what is merged is neither a map nor a list of maps.
    """
    if node.kind != "mapping":
        raise NotAMapping("keys and values are needed here", node.line, node.column)
    if allow_duplicates:
        return list(node.pairs)
    own, merged = _split_merges(node)
    if not merged:
        return own
    seen = {key.text for key, _ in own}
    for source in merged:
        for key, value in mapping_items(source):
            if key.text not in seen:
                seen.add(key.text)
                own.append((key, value))
    return own


def _value(node: Node, memo: _Memo, *, text_keys: bool) -> Any:
    if node.kind == "scalar":
        return _scalar(node)
    slot = (id(node), text_keys)
    if node.shared and slot in memo:
        return memo[slot]
    value: Any
    if node.kind == "mapping":
        value = _mapping(node, memo, text_keys=text_keys)
    else:
        value = [_value(item, memo, text_keys=False) for item in node.items]
    if node.shared:
        memo[slot] = value
    return value


def _mapping(node: Node, memo: _Memo, *, text_keys: bool) -> dict[Any, Any]:
    own, merged = _split_merges(node)
    result: dict[Any, Any] = {}
    typed = 0
    for key, value in own:
        name: Scalar = _scalar(key)
        if text_keys:
            # A record is decoded into a map with string keys, which a null key cannot enter: it is passed over.
            if name is None:
                continue
            name = decode_text(key)
        elif type(name) is not str:
            typed += 1
            if typed > MAX_TYPED_KEYS:
                raise _too_many_typed_keys(key)
        result[name] = _value(value, memo, text_keys=False)
    for source in merged:
        for name, item in _value(source, memo, text_keys=text_keys).items():
            if type(name) is not str:
                typed += 1
                if typed > MAX_TYPED_KEYS:
                    raise _too_many_typed_keys(source)
            result.setdefault(name, item)
    return result


def _too_many_typed_keys(node: Node) -> YamlError:
    return _fault(node, f"a map has more than {MAX_TYPED_KEYS:,} keys that are not text")


def _split_merges(node: Node) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """Own pairs, and the maps to merge in the order in which they win."""
    seen: set[str] = set()
    own: list[tuple[Node, Node]] = []
    merged: list[Node] = []
    for key, value in node.pairs:
        if key.kind != "scalar":
            raise _fault(key, "a list or a map cannot be a key")
        if key.text in seen:
            raise _fault(key, "a key stands twice in one map; remove one of them")
        seen.add(key.text)
        if not key.is_merge_key:
            own.append((key, value))
            continue
        sources = value.items if value.kind == "sequence" else [value]
        if any(source.kind != "mapping" for source in sources):
            raise _fault(value, "`<<` merges a map or a list of maps only")
        merged.extend(sources)
    return own, merged


def _scalar(node: Node) -> Scalar:
    tag = node.tag
    if tag == BINARY_TAG:
        return _binary(node)
    if tag not in _RESOLVED_TAGS:
        return node.text
    try:
        value = resolve(node.text)
        if tag == FLOAT_TAG and type(value) is int:
            value = float(value)
    except YamlError as error:
        raise _fault(node, error.reason) from None
    except OverflowError:
        raise _fault(node, "its tag does not fit what it marks") from None
    if tag_of(value) != tag:
        raise _fault(node, "its tag does not fit what it marks")
    return value


def _binary(node: Node) -> str:
    try:
        data = binascii.a2b_base64(node.text.replace("\n", "").replace("\r", ""), strict_mode=True)
    except ValueError:
        raise _fault(node, "!!binary needs valid base64") from None
    # One replacement character for each byte that is not UTF-8, as Go writes such strings.
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= character <= "\udcff" else character for character in text)


def _fault(node: Node, reason: str) -> YamlError:
    return YamlError(reason, node.line, node.column)

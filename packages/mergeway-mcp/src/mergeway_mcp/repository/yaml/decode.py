"""Typed readings of single nodes, as a Go struct with yaml.v3 field types would take them."""

from __future__ import annotations

from .nodes import Node
from .values import Value


def decode_text(node: Node) -> str:
    """The text of a scalar decoded into a string, whatever its type: `5` is "5", null is "".

    Raises:
        YamlError: The node is a list or a map, or binary that is not base64.
    """
    raise NotImplementedError


def decode_bool_typed(node: Node) -> bool:
    """A scalar decoded into a boolean: true/false, and y, yes, on, n, no, off unquoted; null is False.

    Raises:
        YamlError: Anything else.
    """
    raise NotImplementedError


def decode_int_typed(node: Node) -> int:
    """A scalar decoded into a 64-bit integer: floats are truncated, null is 0.

    Raises:
        YamlError: Not a number, or out of range.
    """
    raise NotImplementedError


def decode_value(node: Node) -> Value:
    """The plain value of a node, as `load_plain` would give it.

    Raises:
        YamlError: As `load_plain`.
    """
    raise NotImplementedError


def mapping_items(node: Node, *, allow_duplicates: bool = False) -> list[tuple[Node, Node]]:
    """Keys and values of a mapping with `<<` merges applied: own keys first, then those merged in.

    Args:
        node: A mapping.
        allow_duplicates: Return repeated keys and `<<` as they stand, nothing merged (contract: `fields`, `properties`).

    Raises:
        YamlError: Not a mapping, a key repeated, or a merge of something that is not a map.
    """
    raise NotImplementedError

"""Reads YAML and JSON the way Go's yaml.v3 does, as plain Python values or as a node tree.

Everything a file can do wrong ends in `YamlError`, within bounded time and memory.
"""

from __future__ import annotations

from .decode import (
    decode_bool_typed,
    decode_int_typed,
    decode_record,
    decode_text,
    decode_value,
    mapping_items,
)
from .errors import NotAMapping, YamlError
from .nodes import Node, NodeKind
from .reading import has_non_string_key, load_mapping, load_plain
from .timestamp import Timestamp
from .tree import compose
from .values import Value

__all__ = [
    "Node",
    "NodeKind",
    "NotAMapping",
    "Timestamp",
    "Value",
    "YamlError",
    "compose",
    "decode_bool_typed",
    "decode_int_typed",
    "decode_record",
    "decode_text",
    "decode_value",
    "has_non_string_key",
    "load_mapping",
    "load_plain",
    "mapping_items",
]

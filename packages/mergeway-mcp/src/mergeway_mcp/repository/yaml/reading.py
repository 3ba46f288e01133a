"""The three ways to read a file: one record map, any plain data, or a tree of nodes."""

from __future__ import annotations

from typing import Any

from .nodes import Node
from .values import Value


def load_mapping(data: bytes, *, json_syntax: bool) -> dict[str, Value] | None:
    """Read the first document as a record: a map whose top keys are taken as text.

    A null key at the top is dropped; top keys of equal source text are duplicates. Nested maps keep typed keys.

    Args:
        data: The whole file.
        json_syntax: The file is named .json: JSON's own escapes are accepted too.

    Returns:
        The map, or None for an empty or null document.

    Raises:
        NotAMapping: The document is a list or a scalar.
        YamlError: The document cannot be read.
    """
    raise NotImplementedError


def load_plain(data: bytes, *, json_syntax: bool) -> Value:
    """Read the first document as plain data with typed keys.

    Args:
        data: The whole file.
        json_syntax: The file is named .json: JSON's own escapes are accepted too.

    Raises:
        YamlError: The document cannot be read.
    """
    raise NotImplementedError


def compose(data: bytes) -> Node | None:
    """Read the first document as nodes; None when the file holds no document.

    Raises:
        YamlError: The document cannot be read.
    """
    raise NotImplementedError


def has_non_string_key(value: Any) -> bool:
    """Whether any map at any depth has a key that is not a string (such data cannot become JSON)."""
    raise NotImplementedError

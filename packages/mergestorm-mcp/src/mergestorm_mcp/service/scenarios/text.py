"""YAML read strictly: one document, bounded in size and depth, no aliases, no key twice; and the line of every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

__all__ = ["MAX_BYTES", "Document", "TextError", "read"]

MAX_BYTES: Final = 256 * 1024
_MAX_DEPTH: Final = 40
_MAX_NODES: Final = 20_000


class TextError(Exception):
    """A text that is no scenario's.

    Attributes:
        line: where, counted from 1; None where no place can be named.
        reason: what is wrong.
    """

    def __init__(self, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Document:
    """A document: plain values, and where they stand."""

    value: Any
    _root: Node

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of the value at a place (keys and indexes from the top), or of what comes nearest to it."""
        node = self._root
        line = _line(node)
        for step in place:
            if isinstance(node, MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == step), None)
                if pair is None:
                    break
                line, node = _line(pair[0]), pair[1]
            elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = _line(node)
            else:
                break
        return line


def read(text: str) -> Document:
    """Read a document.

    Raises:
        TextError: it is too large, too deep, not YAML, or more than plain values.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise TextError(None, f"the file is larger than {MAX_BYTES} bytes")
    try:
        _check_events(text)
        root = _yaml().compose(text)
        value = _yaml().load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise TextError(
            mark.line + 1 if mark is not None else None, error.problem or "this is not YAML"
        ) from None
    except (YAMLError, ValueError, RecursionError, OverflowError):
        # Values that look like a number or a date and are none (2026-02-30) fail outside YAML's own errors.
        raise TextError(None, "this is not YAML with plain values") from None
    if not isinstance(root, MappingNode) or not isinstance(value, Mapping):
        raise TextError(1, "a scenario is a mapping")
    return Document(value, root)


def _check_events(text: str) -> None:
    depth = nodes = 0
    for event in _yaml().parse(text):
        line = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise TextError(line, "anchors and aliases are not taken")
        if getattr(event, "tag", None) is not None:
            raise TextError(line, "tags are not taken")
        nodes += kind in {"ScalarEvent", "MappingStartEvent", "SequenceStartEvent"}
        depth += kind in {"MappingStartEvent", "SequenceStartEvent"}
        depth -= kind in {"MappingEndEvent", "SequenceEndEvent"}
        if depth > _MAX_DEPTH or nodes > _MAX_NODES:
            raise TextError(line, "the file is too large or too deep")


def _yaml() -> Any:
    return YAML(typ="safe", pure=True)


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1

"""A document as a tree that still knows how each thing was written, for the configuration reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

NodeKind = Literal["scalar", "sequence", "mapping"]

NULL_TAG: Final = "!!null"
BOOL_TAG: Final = "!!bool"
INT_TAG: Final = "!!int"
FLOAT_TAG: Final = "!!float"
STR_TAG: Final = "!!str"
TIMESTAMP_TAG: Final = "!!timestamp"
BINARY_TAG: Final = "!!binary"
MERGE_TAG: Final = "!!merge"
SEQ_TAG: Final = "!!seq"
MAP_TAG: Final = "!!map"


class Node:
    """One scalar, sequence or mapping; aliases are already replaced by the node they name.

    Attributes:
        kind: `scalar`, `sequence` or `mapping`.
        tag: Short tag, explicit or resolved (`!!str`, `!!int`, ..., `!custom`).
        text: The source text of a scalar with quotes and escapes undone; empty for the others.
        plain: Whether a scalar was written without quotes and not as a block.
        items: Entries of a sequence.
        pairs: Keys and values of a mapping in the order of the file, `<<` and repeated keys included.
        line: 1-based line where the node starts.
        column: 1-based column where the node starts.
        shared: Whether it has an anchor, so that it may stand at several places of the tree.
    """

    __slots__ = ("column", "items", "kind", "line", "pairs", "plain", "shared", "tag", "text")

    def __init__(self, kind: NodeKind, tag: str, line: int, column: int) -> None:
        self.kind: NodeKind = kind
        self.tag = tag
        self.text = ""
        self.plain = True
        # A composer replaces the one that applies; scalars, which most nodes are, carry no lists.
        self.items: Sequence[Node] = ()
        self.pairs: Sequence[tuple[Node, Node]] = ()
        self.line = line
        self.column = column
        self.shared = False

    @property
    def is_null(self) -> bool:
        """Whether this is a null scalar."""
        return self.tag == NULL_TAG and self.kind == "scalar"

    @property
    def is_merge_key(self) -> bool:
        """Whether this key is an unquoted `<<`, which merges rather than names."""
        return self.tag == MERGE_TAG and self.text == "<<"

    def __repr__(self) -> str:
        """Kind, tag and place; never content."""
        return f"<Node {self.kind} {self.tag} {self.line}:{self.column}>"

"""Composes events into nodes, replacing aliases by what they name."""

from __future__ import annotations

from typing import Final

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from .errors import YamlError
from .events import NextEvent, with_events
from .limits import MAX_DEPTH, too_much_aliasing
from .nodes import (
    BOOL_TAG,
    FLOAT_TAG,
    INT_TAG,
    MAP_TAG,
    MERGE_TAG,
    NULL_TAG,
    SEQ_TAG,
    STR_TAG,
    TIMESTAMP_TAG,
    Node,
)
from .scalars import SPECIAL_STARTS, resolve
from .timestamp import Timestamp

_YAML_ORG: Final = "tag:yaml.org,2002:"

_TAG_OF_TYPE: Final[dict[type, str]] = {
    type(None): NULL_TAG,
    bool: BOOL_TAG,
    int: INT_TAG,
    float: FLOAT_TAG,
    str: STR_TAG,
    Timestamp: TIMESTAMP_TAG,
}

# A size stops growing here: sums over a chain of aliases would otherwise become numbers of a million digits.
_SIZE_CEILING: Final = 1 << 40


class _Anchored:
    """A node with a name, and what it amounts to with every alias in it followed."""

    __slots__ = ("characters", "height", "node", "open", "size")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.size = 1
        self.characters = len(node.text)
        self.height = 0
        self.open = True


class _Frame:
    """A list or map being filled."""

    __slots__ = ("anchored", "characters", "height", "items", "key", "node", "pairs", "size")

    def __init__(self, node: Node, anchored: _Anchored | None) -> None:
        self.node = node
        self.anchored = anchored
        self.items: list[Node] = []
        self.pairs: list[tuple[Node, Node]] = []
        if node.kind == "sequence":
            node.items = self.items
        else:
            node.pairs = self.pairs
        self.key: Node | None = None
        self.size = 1
        self.characters = 0
        self.height = 1

    def add(self, child: Node) -> None:
        if self.node.kind == "sequence":
            self.items.append(child)
        elif self.key is None:
            self.key = child
        else:
            self.pairs.append((self.key, child))
            self.key = None


def compose(data: bytes) -> Node | None:
    """Read the first document as nodes; None when the file holds no document.

    Raises:
        YamlError: The document cannot be parsed, names an unknown anchor, holds an alias inside of what it names,
            is nested too deeply or expands too much through aliases.
    """
    return with_events(data, _compose_document)


def tag_of(value: object) -> str:
    """The tag that a resolved scalar stands for."""
    return _TAG_OF_TYPE[type(value)]


def _compose_document(next_event: NextEvent) -> Node | None:
    next_event()  # the start of the stream
    if type(next_event()) is StreamEndEvent:
        return None
    root = Node("sequence", SEQ_TAG, 1, 1)  # holds the document's one node
    frame = _Frame(root, None)
    stack: list[_Frame] = []
    anchors: dict[str, _Anchored] = {}
    written = aliased = written_characters = aliased_characters = 0
    while True:
        event = next_event()
        kind = type(event)
        if kind is DocumentEndEvent:
            if too_much_aliasing(
                written=written,
                aliased=aliased,
                written_characters=written_characters,
                aliased_characters=aliased_characters,
            ):
                raise YamlError("its aliases expand to too much data; write the repeated parts out")
            return root.items[0]
        if kind is SequenceEndEvent or kind is MappingEndEvent:
            closed = frame
            frame = stack.pop()
            frame.size = min(frame.size + closed.size, _SIZE_CEILING)
            frame.characters = min(frame.characters + closed.characters, _SIZE_CEILING)
            frame.height = max(frame.height, closed.height + 1)
            if closed.anchored is not None:
                closed.anchored.size = closed.size
                closed.anchored.characters = closed.characters
                closed.anchored.height = closed.height
                closed.anchored.open = False
            frame.add(closed.node)
            continue
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if kind is AliasEvent:
            target = anchors.get(event.anchor)
            if target is None:
                raise YamlError("an alias names an anchor that is not defined before it", line, column)
            if target.open:
                raise YamlError("an alias stands inside of what it names; write that part out", line, column)
            if len(stack) + target.height > MAX_DEPTH:
                raise _too_deep(line, column)
            aliased = min(aliased + target.size, _SIZE_CEILING)
            frame.size = min(frame.size + target.size, _SIZE_CEILING)
            aliased_characters = min(aliased_characters + target.characters, _SIZE_CEILING)
            frame.characters = min(frame.characters + target.characters, _SIZE_CEILING)
            frame.height = max(frame.height, target.height + 1)
            frame.add(target.node)
            continue
        written += 1
        if kind is ScalarEvent:
            node = _scalar(event.value, event.style == "", event.tag, line, column)
            frame.size += 1
            frame.characters += len(node.text)
            written_characters += len(node.text)
        elif kind is MappingStartEvent:
            node = Node("mapping", _short_tag(event.tag) or MAP_TAG, line, column)
        else:
            assert kind is SequenceStartEvent  # noqa: S101 - the grammar of events leaves nothing else
            node = Node("sequence", _short_tag(event.tag) or SEQ_TAG, line, column)
        anchored = None
        if event.anchor is not None:
            # A name may be given anew: aliases mean the node that had it last.
            anchored = anchors[event.anchor] = _Anchored(node)
            node.shared = True
        if kind is ScalarEvent:
            if anchored is not None:
                anchored.open = False
            frame.add(node)
        else:
            stack.append(frame)
            if len(stack) > MAX_DEPTH:
                raise _too_deep(line, column)
            frame = _Frame(node, anchored)


def _too_deep(line: int, column: int) -> YamlError:
    return YamlError(f"it is nested more than {MAX_DEPTH} levels deep; flatten it", line, column)


def _scalar(text: str, plain: bool, tag: str | None, line: int, column: int) -> Node:
    short = _short_tag(tag)
    if short is None:
        if not plain or text[:1] not in SPECIAL_STARTS:
            short = STR_TAG
        elif text == "<<":
            short = MERGE_TAG
        else:
            try:
                short = tag_of(resolve(text))
            except YamlError as error:
                raise YamlError(error.reason, line, column) from None
    node = Node("scalar", short, line, column)
    node.text = text
    node.plain = plain
    return node


def _short_tag(tag: str | None) -> str | None:
    if tag is None or tag == "!":
        return None
    return "!!" + tag.removeprefix(_YAML_ORG) if tag.startswith(_YAML_ORG) else tag

"""The YAML block at the top of a document, read without trusting it.

The block opens with `---` on the very first line and closes with the next line `---` or `...`. What lies between is
read from YAML events: no object is built, no tag is obeyed, no alias is followed, so that neither a tag that names a
class nor an alias bomb has anything to act on. Only what the index can use is kept: top-level keys whose value is a
scalar or a list of scalars, as the strings the file has (`no`, `010` and dates stay what was written).

Writers of front matter are often not writers of YAML (`title: A: b`). A block that is no YAML is read line by line as
`key: value`; one that does not consist of such lines either (prose between two thematic breaks) is no front matter,
and its text stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import yaml

__all__ = ["FrontMatter", "split_front_matter"]

#: A block that has not closed within so many characters is taken for text.
MAX_CHARACTERS: Final = 65_536
MAX_EVENTS: Final = 20_000
MAX_DEPTH: Final = 32
MAX_ATTRIBUTES: Final = 256

_OPENING: Final = re.compile(r"---[ \t]*\n")
_CLOSING: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY_LINE: Final = re.compile(r"([A-Za-z_][\w.-]{0,127})[ \t]*:(?:[ \t]+(.*))?", re.ASCII)
_BYTE_ORDER_MARK: Final = "\ufeff"

AttributeValue = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the top of a document declares.

    Attributes:
        attributes: top-level keys with the strings they have; a list of scalars is a tuple. The last of two equal
            keys counts.
        body: the document after the block.
        line_count: lines that the block takes, fences included; 0 without front matter.
        problems: what was wrong with the block, in words without content: a warning's worth, never a failure.
    """

    attributes: dict[str, AttributeValue]
    body: str
    line_count: int
    problems: tuple[str, ...] = ()

    def string(self, key: str) -> str | None:
        """The value of a key, stripped, if it is one string that is not blank."""
        value = self.attributes.get(key)
        return value.strip() or None if isinstance(value, str) else None


def split_front_matter(text: str) -> FrontMatter:
    """Separate front matter and body; never raises.

    Args:
        text: a document with LF line ends; a byte order mark is dropped.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    nothing = FrontMatter({}, text, 0)
    opening = _OPENING.match(text)
    if opening is None:
        return nothing
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_CHARACTERS)
    # The pattern also accepts the end of the search window, which need not be the end of a line.
    if closing is None or not (closing.end() == len(text) or text[closing.end() - 1] == "\n"):
        return nothing
    block = text[opening.end() : closing.start()]
    read = _read_block(block)
    if read is None:
        return nothing
    end = closing.end()
    return FrontMatter(read.attributes, text[end:], text.count("\n", 0, end), tuple(read.problems))


@dataclass(slots=True)
class _Reading:
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, key: str, value: AttributeValue) -> None:
        if key in self.attributes:
            self.problem("a key occurs twice; the last one counts")
        elif len(self.attributes) >= MAX_ATTRIBUTES:
            self.problem("has more keys than are read")
            return
        self.attributes[key] = value

    def problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


class _NotReadable(Exception):
    """The block is no YAML, or not one that is worth reading."""


def _read_block(block: str) -> _Reading | None:
    """The block's attributes, or None if the block is text."""
    if not block.strip():
        return _Reading()
    # Costs a tenth of a second; most documents have no front matter.
    import yaml

    try:
        return _read_yaml(block)
    except (
        _NotReadable,
        yaml.YAMLError,
        ValueError,
        RecursionError,
    ):  # ValueError: encodings and numbers in C
        return _read_lines(block)


def _read_yaml(block: str) -> _Reading | None:
    """Read the events of one YAML document whose root is a mapping; None if its root is a scalar, that is prose."""
    import yaml

    events = _bounded_events(block)
    for event in events:
        if isinstance(event, yaml.MappingStartEvent):
            break
        if isinstance(event, yaml.ScalarEvent):
            for _ in events:  # a scalar in front of something broken is broken as a whole
                pass
            return None
        if isinstance(event, yaml.SequenceStartEvent | yaml.AliasEvent):
            raise _NotReadable
    else:
        return _Reading()  # comments only
    reading = _Reading()
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        key = event.value if isinstance(event, yaml.ScalarEvent) else None
        if key is None:
            _skip(event, events)
        value = _value(next(events), events)
        if key is not None and value is not None:
            reading.add(key, value)
    for _ in events:  # what follows the mapping must be YAML too
        pass
    return reading


def _bounded_events(block: str) -> Iterator[Any]:
    """The events of a block, up to the caps on their number and depth."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for count, event in enumerate(yaml.parse(block, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or count > MAX_EVENTS:
            raise _NotReadable
        yield event


def _value(event: yaml.Event, events: Iterator[Any]) -> AttributeValue | None:
    """The value that begins with an event: a string, a list of strings, or None for anything else."""
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return str(event.value)
    if not isinstance(event, yaml.SequenceStartEvent):
        _skip(event, events)
        return None
    items: list[str] = []
    plain = True
    for item in events:
        if isinstance(item, yaml.SequenceEndEvent):
            break
        if isinstance(item, yaml.ScalarEvent):
            items.append(str(item.value))
        else:
            plain = False
            _skip(item, events)
    return tuple(items) if plain else None


def _skip(event: yaml.Event, events: Iterator[Any]) -> None:
    """Pass over the node that begins with an event."""
    import yaml

    depth = int(isinstance(event, yaml.CollectionStartEvent))
    while depth:
        following = next(events)
        if isinstance(following, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(following, yaml.CollectionEndEvent):
            depth -= 1


def _read_lines(block: str) -> _Reading | None:
    """Read `key: value` lines; None if a line that is not indented is neither that, a comment nor part of a list."""
    reading = _Reading()
    for line in block.split("\n"):
        match = _KEY_LINE.fullmatch(line)
        if match is not None:
            reading.add(match[1], _unquoted((match[2] or "").strip()))
        elif line and line[0] not in " \t#-]}":
            return None
    if not reading.attributes:
        return None
    reading.problem("is not valid YAML; only its `key: value` lines were read")
    return reading


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value

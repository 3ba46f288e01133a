"""TOML as text: bounded reading, and where in the text a key stands.

`tomllib` decides what a file means. It tells neither lines of keys nor lets a file be changed with its comments and
order kept, so `find_statements` walks over the same text and says where each statement begins and where each value
lies. The walk trusts that `tomllib` has accepted the text; the editor checks its result with `tomllib` again.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["MAX_BYTES", "Statement", "TomlRefused", "decode", "find_statements", "parse", "render_value"]

#: Largest configuration file.
MAX_BYTES: Final = 65_536

_BYTE_ORDER_MARK: Final = "\ufeff"
_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)$", re.ASCII)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class TomlRefused(Exception):
    """A file that cannot be read as TOML.

    Args:
        reason: what is wrong, in words that hold nothing of the file.
        line: the line, from 1, where it is known.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Statement:
    """A header or an assignment.

    Attributes:
        table: names of the table it stands in; for a header, the table it opens.
        key: names of the assigned key below the table; empty for a header.
        start: offset of its first character.
        value_start: offset of the value; for a header, of its end.
        value_end: offset after the value; for a header, after its bracket.
        end: offset after its line, line end included.
    """

    table: tuple[str, ...]
    key: tuple[str, ...]
    start: int
    value_start: int
    value_end: int
    end: int


def decode(data: bytes) -> str:
    """The text of a file; a byte order mark is kept for `parse` and the editor to pass over.

    Raises:
        TomlRefused: larger than `MAX_BYTES`, or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise TomlRefused(f"is larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlRefused("is not UTF-8", data.count(b"\n", 0, error.start) + 1) from None


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        TomlRefused: no TOML, nested too deeply, or a number out of all proportion.
    """
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        # The parser's own words may quote the file.
        place = _PLACE.search(str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        raise TomlRefused("is not valid TOML", line) from None
    except (ValueError, RecursionError):
        raise TomlRefused("holds a value that cannot be read") from None


def render_value(value: object) -> str:
    """A value as TOML.

    Raises:
        TypeError: a value that no setting has.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(render_value, value)) + "]"
    raise TypeError(type(value).__name__)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < " " or character == "\x7f" else character


def find_statements(text: str) -> list[Statement]:
    """The headers and assignments of a text that `parse` has accepted, in order.

    Raises:
        TomlRefused: the walk and the parser disagree about the text.
    """
    return _Walk(text).statements()


class _Walk:
    """One pass over a TOML text, statement by statement."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0

    def statements(self) -> list[Statement]:
        found: list[Statement] = []
        table: tuple[str, ...] = ()
        while True:
            self._skip_blank_and_comments()
            if self._at >= len(self._text):
                return found
            start = self._at
            if self._peek() == "[":
                self._at += 2 if self._text.startswith("[[", start) else 1
                table = self._key()
                self._expect("]")
                if self._peek() == "]":
                    self._at += 1
                key: tuple[str, ...] = ()
                value_start = self._at
            else:
                key = self._key()
                self._expect("=")
                self._skip_spaces()
                value_start = self._at
                self._skip_value()
            value_end = self._at
            self._skip_to_next_line()
            found.append(Statement(table, key, start, value_start, value_end, self._at))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _expect(self, character: str) -> None:
        self._skip_spaces()
        if self._peek() != character:
            raise TomlRefused("cannot be edited", self._text.count("\n", 0, self._at) + 1)
        self._at += 1

    def _skip_spaces(self) -> None:
        while self._peek() in {" ", "\t"}:
            self._at += 1

    def _skip_blank_and_comments(self) -> None:
        while (character := self._peek()) and character in " \t\r\n#":
            if character == "#":
                self._skip_to_next_line()
            else:
                self._at += 1

    def _skip_to_next_line(self) -> None:
        line_end = self._text.find("\n", self._at)
        self._at = len(self._text) if line_end == -1 else line_end + 1

    def _key(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            self._skip_spaces()
            start = self._at
            if self._peek() in {'"', "'"}:
                self._skip_string()
                names.append(tomllib.loads(f"x = {self._text[start : self._at]}")["x"])
            else:
                match = _BARE_KEY.match(self._text, start)
                if match is None:
                    self._expect("a key")  # never matches: reports the place
                    continue
                names.append(match[0])
                self._at = match.end()
            self._skip_spaces()
            if self._peek() != ".":
                return tuple(names)
            self._at += 1

    def _skip_string(self) -> None:
        quote = self._peek()
        if self._text.startswith(quote * 3, self._at):
            self._at += 3
            self._skip_until(quote * 3, escapes=quote == '"')
            # Up to two further quotes belong to the string.
            while self._peek() == quote:
                self._at += 1
        else:
            self._at += 1
            self._skip_until(quote, escapes=quote == '"')

    def _skip_until(self, closing: str, *, escapes: bool) -> None:
        while not self._text.startswith(closing, self._at):
            if self._at >= len(self._text):
                raise TomlRefused("cannot be edited")
            self._at += 2 if escapes and self._peek() == "\\" else 1
        self._at += len(closing)

    def _skip_value(self) -> None:
        """Pass over a value; arrays and inline tables may go over several lines and hold comments."""
        depth = 0
        while True:
            character = self._peek()
            if not character:
                break
            if character in {'"', "'"}:
                self._skip_string()
            elif character in "[{":
                depth += 1
                self._at += 1
            elif character in "]}":
                depth -= 1
                self._at += 1
            elif depth and character == "#":
                self._skip_to_next_line()
            elif depth and character in " \t\r\n,=":
                self._at += 1
            else:
                # A number, a date (which may hold one space), true, false, or a key of an inline table.
                while (character := self._peek()) and character not in ",]}#\r\n\t=\"'" + (
                    " " if depth else ""
                ):
                    self._at += 1
                while not depth and self._text[self._at - 1] == " ":
                    self._at -= 1
            if not depth:
                return

"""The grammar of RFC 9535: text to query, well-typedness of functions included."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple, NoReturn, Union

from .budget import MAX_NESTING, MAX_SELECTOR_LENGTH, SelectorFault

Kind = Literal["value", "logical", "nodes"]

#: Result and parameter kinds of the functions of section 2.4.
FUNCTIONS: Final[dict[str, tuple[Kind, tuple[Kind, ...]]]] = {
    "length": ("value", ("value",)),
    "count": ("value", ("nodes",)),
    "match": ("logical", ("value", "value")),
    "search": ("logical", ("value", "value")),
    "value": ("value", ("nodes",)),
}

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_SHORTHAND: Final = re.compile(
    "[A-Za-z_\\u0080-\\ud7ff\\ue000-\\U0010ffff][A-Za-z0-9_\\u0080-\\ud7ff\\ue000-\\U0010ffff]*"
)
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_NUMBER: Final = re.compile(r"(-?0|-?[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_FUNCTION: Final = re.compile(r"([a-z][a-z_0-9]*)\(", re.ASCII)
_KEYWORD: Final = re.compile(r"(?:true|false|null)(?![A-Za-z0-9_(])")
_OPERATOR: Final = re.compile(r"==|!=|<=|>=|<|>")
_TEXT: Final = {
    '"': re.compile("[\\x20-\\x21\\x23-\\x5b\\x5d-\\ud7ff\\ue000-\\U0010ffff]+"),
    "'": re.compile("[\\x20-\\x26\\x28-\\x5b\\x5d-\\ud7ff\\ue000-\\U0010ffff]+"),
}
_HEX: Final = re.compile(r"[0-9A-Fa-f]{4}")
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_KEYWORDS: Final = {"true": True, "false": False, "null": None}
#: Integers of I-JSON (RFC 7493).
_MAX_INTEGER: Final = 2**53 - 1


class Name(NamedTuple):
    """A member by name."""

    name: str


class Wildcard(NamedTuple):
    """Every child."""


class Index(NamedTuple):
    """An element by position."""

    position: int


class Slice(NamedTuple):
    """Elements by range."""

    start: int | None
    end: int | None
    step: int | None


class Filter(NamedTuple):
    """Children for which an expression holds."""

    expression: Expression


Selection = Name | Wildcard | Index | Slice | Filter


class Segment(NamedTuple):
    """One step of a query; `descendant` for `..`."""

    selections: tuple[Selection, ...]
    descendant: bool


class Query(NamedTuple):
    """A path from the root (`$`) or, in a filter, from the current node (`@`)."""

    relative: bool
    segments: tuple[Segment, ...]

    @property
    def singular(self) -> bool:
        """Whether it can select one node at most."""
        return all(
            not segment.descendant
            and len(segment.selections) == 1
            and isinstance(segment.selections[0], Name | Index)
            for segment in self.segments
        )


class Constant(NamedTuple):
    """A literal."""

    value: Any


class Call(NamedTuple):
    """A function and its arguments."""

    name: str
    arguments: tuple[Operand, ...]


Operand = Query | Constant | Call


class Comparison(NamedTuple):
    """Two values and what is asked of them."""

    operator: str
    left: Operand
    right: Operand


class Both(NamedTuple):
    """Every part holds."""

    parts: tuple[Expression, ...]


class Either(NamedTuple):
    """One part holds at least."""

    parts: tuple[Expression, ...]


class Negation(NamedTuple):
    """The part does not hold."""

    part: Expression


Expression = Union["Comparison", "Both", "Either", "Negation", Query, Call]


def parse(text: str) -> Query:
    """Read a query.

    Raises:
        SelectorFault: It is none, too long or too deeply nested.
    """
    if len(text) > MAX_SELECTOR_LENGTH:
        raise SelectorFault(f"the selector is longer than {MAX_SELECTOR_LENGTH} characters")
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Query:
        if not self._take("$"):
            self._refuse("a selector begins with $")
        query = Query(False, self._segments())
        if self._at != len(self._text):
            self._refuse()
        return query

    def _refuse(self, reason: str = "unexpected here") -> NoReturn:
        raise SelectorFault(f"the selector is no JSONPath (RFC 9535): character {self._at + 1}: {reason}")

    def _take(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False

    def _need(self, token: str) -> None:
        if not self._take(token):
            self._refuse(f"{token} is missing")

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match.group()

    def _blanks(self) -> None:
        self._match(_BLANKS)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._refuse(f"nested more than {MAX_NESTING} deep")

    def _segments(self) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        while True:
            before = self._at
            self._blanks()
            if self._take(".."):
                segments.append(Segment(self._dotted() or self._bracketed(), descendant=True))
            elif self._text.startswith("[", self._at):
                segments.append(Segment(self._bracketed(), descendant=False))
            elif self._take("."):
                segments.append(
                    Segment(self._dotted() or self._refuse("a name or * is missing"), descendant=False)
                )
            else:
                self._at = before  # blanks after the last segment belong to what follows
                return tuple(segments)

    def _dotted(self) -> tuple[Selection, ...]:
        if self._take("*"):
            return (Wildcard(),)
        name = self._match(_SHORTHAND)
        return () if name is None else (Name(name),)

    def _bracketed(self) -> tuple[Selection, ...]:
        self._need("[")
        selections: list[Selection] = []
        while True:
            self._blanks()
            selections.append(self._selection())
            self._blanks()
            if self._take("]"):
                return tuple(selections)
            self._need(",")

    def _selection(self) -> Selection:
        character = self._text[self._at : self._at + 1]
        if character in {'"', "'"}:
            return Name(self._string())
        if self._take("*"):
            return Wildcard()
        if self._take("?"):
            self._blanks()
            return Filter(self._either())
        start = self._integer()
        before = self._at
        self._blanks()
        if not self._take(":"):
            self._at = before
            if start is None:
                self._refuse()
            return Index(start)
        self._blanks()
        end = self._integer()
        self._blanks()
        step = None
        if self._take(":"):
            self._blanks()
            step = self._integer()
        return Slice(start, end, step)

    def _integer(self) -> int | None:
        digits = self._match(_INTEGER)
        if digits is None:
            return None
        if len(digits) > 17 or abs(int(digits)) > _MAX_INTEGER:
            self._refuse("an index beyond 2^53 - 1")
        return int(digits)

    def _string(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        parts: list[str] = []
        while True:
            part = self._match(_TEXT[quote])
            if part is not None:
                parts.append(part)
            elif self._take(quote):
                return "".join(parts)
            elif self._take("\\"):
                parts.append(self._escape(quote))
            else:
                self._refuse("the string is not closed, or holds a control character")

    def _escape(self, quote: str) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        if character == quote:
            return quote
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character != "u":
            self._refuse("unknown escape")
        code = self._code_unit()
        if 0xDC00 <= code <= 0xDFFF:
            self._refuse("half a surrogate pair")
        if 0xD800 <= code <= 0xDBFF:
            low = self._code_unit() if self._take("\\u") else 0
            if not 0xDC00 <= low <= 0xDFFF:
                self._refuse("half a surrogate pair")
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        return chr(code)

    def _code_unit(self) -> int:
        digits = self._match(_HEX)
        if digits is None:
            self._refuse("four hexadecimal digits are missing")
        return int(digits, 16)

    def _either(self) -> Expression:
        self._deeper()
        parts = [self._both()]
        while self._operator("||"):
            parts.append(self._both())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Expression:
        parts = [self._basic()]
        while self._operator("&&"):
            parts.append(self._basic())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _operator(self, token: str) -> bool:
        before = self._at
        self._blanks()
        if self._take(token):
            self._blanks()
            return True
        self._at = before
        return False

    def _basic(self) -> Expression:
        negated = not self._text.startswith("!=", self._at) and self._take("!")
        if negated:
            self._blanks()
        if self._take("("):
            self._blanks()
            inner = self._either()
            self._blanks()
            self._need(")")
            return Negation(inner) if negated else inner
        operand = self._operand()
        if not negated:
            before = self._at
            self._blanks()
            operator = self._match(_OPERATOR)
            if operator is not None:
                self._blanks()
                return Comparison(operator, self._comparable(operand), self._comparable(self._operand()))
            self._at = before
        if isinstance(operand, Constant):
            self._refuse("a literal must be compared with something")
        if isinstance(operand, Call) and FUNCTIONS[operand.name][0] == "value":
            self._refuse("the function's result must be compared with something")
        return Negation(operand) if negated else operand

    def _comparable(self, operand: Operand) -> Operand:
        if isinstance(operand, Query) and not operand.singular:
            self._refuse("a compared query must select one node at most")
        if isinstance(operand, Call) and FUNCTIONS[operand.name][0] != "value":
            self._refuse("the function's result cannot be compared")
        return operand

    def _operand(self) -> Operand:
        character = self._text[self._at : self._at + 1]
        if character in {'"', "'"}:
            return Constant(self._string())
        if character in {"$", "@"}:
            self._at += 1
            self._deeper()
            query = Query(character == "@", self._segments())
            self._depth -= 1
            return query
        keyword = self._match(_KEYWORD)
        if keyword is not None:
            return Constant(_KEYWORDS[keyword])
        function = _FUNCTION.match(self._text, self._at)
        if function is not None:
            self._at = function.end()
            return self._call(function[1])
        return Constant(self._number())

    def _number(self) -> int | float:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            self._refuse()
        self._at = match.end()
        if match[2] is None and match[3] is None and len(match[1]) <= 4_000:
            return int(match[1])
        return float(match[0])

    def _call(self, name: str) -> Call:
        signature = FUNCTIONS.get(name)
        if signature is None:
            self._refuse("there is no function of that name")
        self._deeper()
        arguments: list[Operand] = []
        self._blanks()
        while not self._take(")"):
            if arguments:
                self._need(",")
                self._blanks()
            arguments.append(self._operand())
            self._blanks()
        self._depth -= 1
        kinds = signature[1]
        if len(arguments) != len(kinds):
            self._refuse("the function takes another number of arguments")
        for kind, argument in zip(kinds, arguments, strict=True):
            if not _suits(kind, argument):
                self._refuse("the function takes another kind of argument")
        return Call(name, tuple(arguments))


def _suits(kind: Kind, argument: Operand) -> bool:
    if kind == "nodes":
        return isinstance(argument, Query)
    if isinstance(argument, Query):
        return argument.singular
    return isinstance(argument, Constant) or FUNCTIONS[argument.name][0] == "value"

"""What an unquoted scalar means: the resolution rules of yaml.v3 (contract a9).

They are neither YAML 1.1 nor 1.2: `yes` is a string, `017` is octal, `08` is the float 8, `1_000` is an integer,
`2024-02-29` is a timestamp and numbers out of a double's range stay text. One rule is ours: decimal integers stay
exact up to 4,300 digits, where yaml.v3 turns those beyond 64 bits into doubles.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from .errors import YamlError
from .limits import MAX_INT_DIGITS
from .timestamp import Timestamp, parse_timestamp

Scalar: TypeAlias = "bool | int | float | str | Timestamp | None"

#: The words that are not text.
_WORDS: Final[dict[str, bool | float | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}

#: A scalar that starts otherwise is text; `<` leads the merge key. The empty string is the start of an empty scalar.
SPECIAL_STARTS: Final = frozenset(["", *"tTfFnN~<+-.0123456789"])

_NUMBER_STARTS: Final = frozenset("+-.0123456789")

# The three spellings that nearly every number has, told apart by group: integer, date, decimal fraction.
_COMMON: Final = re.compile(
    r"([-+]?(?:0|[1-9][0-9]{0,17}))|([0-9]{4}-[0-9]{2}-[0-9]{2})|([-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17})"
)
_DECIMAL_INT: Final = re.compile(r"[-+]?[1-9][0-9]*")
_PREFIXED_INT: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+))")
# Go's reader of the part behind the prefix takes a sign there as well.
_SIGN_BEHIND_PREFIX: Final = re.compile(r"0(?:b([-+][01]+)|o([-+][0-7]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# With a leading point underscores must stand between digits; elsewhere they are dropped wherever they are.
_POINT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")

_MAX_INT64: Final = (1 << 63) - 1
_MAX_UINT64: Final = (1 << 64) - 1


def resolve(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag (`<<` is text here).

    Raises:
        YamlError: An integer of more than 4,300 digits.
    """
    first = text[:1]
    if first not in SPECIAL_STARTS:
        return text
    if first in _NUMBER_STARTS:
        match = _COMMON.fullmatch(text)
        if match is not None:
            group = match.lastindex
            if group == 1:
                return int(text)
            if group == 3:
                return float(text)
            timestamp = parse_timestamp(text)
            return text if timestamp is None else timestamp
    if text in _WORDS:
        return _WORDS[text]
    if first not in _NUMBER_STARTS:
        return text
    return _resolve_rare_number(text)


def _resolve_rare_number(text: str) -> Scalar:
    if text[0] == ".":
        return _finite_or_text(text, text) if _POINT_FLOAT.fullmatch(text) else text
    timestamp = parse_timestamp(text)
    if timestamp is not None:
        return timestamp
    digits = text.replace("_", "")
    if _DECIMAL_INT.fullmatch(digits):
        if len(digits.lstrip("+-")) > MAX_INT_DIGITS:
            raise YamlError(
                f"an integer has more than {MAX_INT_DIGITS:,} digits; quote it to keep it as text"
            )
        return int(digits)
    if digits in {"0", "+0", "-0"}:
        return 0
    prefixed = _prefixed_int(digits)
    if prefixed is not None:
        return prefixed
    return _finite_or_text(digits, text) if _FLOAT.fullmatch(digits) else text


def _prefixed_int(digits: str) -> int | None:
    """Hexadecimal, binary and octal integers that fit 64 bits (unsigned ones only without a sign)."""
    match = _PREFIXED_INT.fullmatch(digits)
    if match is not None:
        sign, hexadecimal, binary, octal, old_octal = match.groups()
        if hexadecimal is not None:
            magnitude = int(hexadecimal, 16)
        elif binary is not None:
            magnitude = int(binary, 2)
        else:
            magnitude = int(octal or old_octal, 8)
    else:
        match = _SIGN_BEHIND_PREFIX.fullmatch(digits)
        if match is None:
            return None
        binary, octal = match.groups()
        behind = binary or octal
        sign, magnitude = behind[0], int(behind[1:], 2 if binary else 8)
    if sign == "-":
        return -magnitude if magnitude <= _MAX_INT64 + 1 else None
    return magnitude if magnitude <= (_MAX_INT64 if sign else _MAX_UINT64) else None


def _finite_or_text(digits: str, text: str) -> float | str:
    number = float(digits)
    return text if number in {float("inf"), float("-inf")} else number

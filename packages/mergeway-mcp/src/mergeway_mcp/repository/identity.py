"""The text that names a record, from the value or the path it is taken from.

The text form is Go's: identifiers are compared as text, so it has to be the same to the last digit. Integers beyond
64 bits take the text of the nearest double, as they are doubles there.
"""

from __future__ import annotations

import math
import posixpath
import re
from typing import Any, Final

from .schema import Source
from .yaml import Timestamp

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
UINT64_MAX: Final = 2**64 - 1

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL: Final = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?",
    re.ASCII,
)
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:_?[0-9a-fA-F])+(?:\.[0-9a-fA-F_]*)?[pP][+-]?[0-9]+|[+-]?0[xX]\.[0-9a-fA-F_]+[pP][+-]?[0-9]+",
    re.ASCII,
)
# Longer texts than this are no number anybody identifies a record by, and some take long to convert.
_MAX_NUMBER_TEXT: Final = 5_000


def id_text(value: Any) -> str | None:
    """The identifier text of a field value, or None when such a value cannot identify a record.

    Strings are taken as they are; numbers in decimal without exponent; timestamps in Go's long form. Empty strings,
    booleans, null, NaN, lists and maps identify nothing.
    """
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        if INT64_MIN <= value <= UINT64_MAX:
            return str(value)
        try:
            return float_text(float(value))
        except OverflowError:
            return str(value)  # no double either: there it stays the text it is written as
    if isinstance(value, float):
        return None if math.isnan(value) else float_text(value)
    if isinstance(value, Timestamp):
        return value.go_text()
    return None


def float_text(value: float) -> str:
    """The shortest decimal text without exponent that reads back as the same double."""
    if math.isinf(value):
        return "-Inf" if value < 0 else "+Inf"
    text = repr(value)
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + (int(exponent) if exponent else 0)
    digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


def fits_type(text: str, field_type: str) -> bool:
    """Whether an identifier text suits the declared type of its field.

    Only `integer` (a 64-bit one) and `number` (a finite one) ask for anything.
    """
    if field_type == "integer":
        return (
            len(text) <= _MAX_NUMBER_TEXT
            and _INTEGER.fullmatch(text) is not None
            and len(text.lstrip("+-").lstrip("0")) <= 19
            and INT64_MIN <= int(text) <= INT64_MAX
        )
    if field_type == "number":
        return _is_finite_number(text)
    return True


def _is_finite_number(text: str) -> bool:
    if len(text) > _MAX_NUMBER_TEXT:
        return False
    plain = text.replace("_", "")
    try:
        if _DECIMAL.fullmatch(text):
            return math.isfinite(float(plain))
        if _HEXADECIMAL.fullmatch(text):
            return math.isfinite(float.fromhex(plain))
    except OverflowError:
        pass
    return False


def derived_value(source: Source, relative: str) -> str | None:
    """The value of a derived field, or None when the path has too few segments.

    Args:
        source: What the field asks for.
        relative: Path of the record's file from the root, with `/`; may start with `../`.
    """
    if source.kind == "path":
        return relative
    segments = relative.split("/")
    if source.segment >= len(segments):
        return None
    return segments[source.segment if source.kind == "path_segment" else -1 - source.segment]


def clean_path_id(text: str) -> str | None:
    """The form in which path identifiers are compared, or None for an absolute or empty one."""
    text = text.strip()
    if not text or text.startswith("/"):
        return None
    return posixpath.normpath(text)

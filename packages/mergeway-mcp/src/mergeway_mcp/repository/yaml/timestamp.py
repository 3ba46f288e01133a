"""The one value type that plain JSON lacks: a point in time, as written."""

from __future__ import annotations

import re
from typing import Final

# What yaml.v3 hands to Go's time parser (contract a9). The parser takes runs of spaces for one, a comma for the
# point, and any number of fraction digits of which it keeps nine.
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:"
    r"(?:[Tt]|( +))([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?"
    r"(Z|([-+])([0-9]{2}):([0-9]{2}))?"
    r")?"
)
_DAYS_IN_MONTH: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_SECONDS: Final = 24 * 60 * 60


class Timestamp:
    """A date or date and time, to the nanosecond, with the offset it was written with.

    Immutable and hashable. Two are equal when they read the same, so the same instant in two zones is two
    values. Only the RFC 3339 text is kept: it is what replies need, and records hold many of these.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep a point in time.

        Args:
            text: Valid RFC 3339, no trailing zeros in the fraction, `Z` for UTC (use `parse_timestamp`).
        """
        self._text = text

    def rfc3339(self) -> str:
        """RFC 3339 with as many digits of the fraction as needed, e.g. `2024-02-29T00:00:00Z`."""
        return self._text

    def go_text(self) -> str:
        """The long form that identifiers use, e.g. `2024-02-29 00:00:00 +0000 UTC`."""
        text = self._text
        if text[-1] == "Z":
            return f"{text[:10]} {text[11:-1]} +0000 UTC"
        zone = text[-6:-3] + text[-2:]
        # A zone without a name is written as its offset once more.
        return f"{text[:10]} {text[11:-6]} {zone} {zone}"

    def __eq__(self, other: object) -> bool:
        """Equal when written the same."""
        if isinstance(other, Timestamp):
            return self._text == other._text
        return NotImplemented

    def __hash__(self) -> int:
        """Hash of the text, apart from that of the text itself."""
        return hash((Timestamp, self._text))

    def __repr__(self) -> str:
        """Constructor call."""
        return f"Timestamp({self._text!r})"


def parse_timestamp(text: str) -> Timestamp | None:
    """Read a date, a date and time with `T` and a zone, or one with a space and no zone (then UTC).

    Returns:
        None when the text is none of these or no day of the calendar; it is a string then.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, spaces, hour, minute, second, fraction, zone, sign, zone_hour, zone_minute = (
        match.groups()
    )
    if not _is_day(int(year), int(month), int(day)):
        return None
    date = f"{year}-{month:0>2}-{day:0>2}"
    if hour is None:
        return Timestamp(f"{date}T00:00:00Z")
    if (spaces is None) == (zone is None) or int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    clock = f"{hour:0>2}:{minute:0>2}:{second:0>2}"
    nanoseconds = fraction[:9].rstrip("0") if fraction else ""
    if nanoseconds:
        clock = f"{clock}.{nanoseconds}"
    suffix = "Z"
    if sign is not None:
        # Sixty minutes are taken for an hour; a whole day has no RFC 3339 spelling, so it stays text.
        if int(zone_minute) > 60:
            return None
        offset = (int(zone_hour) * 60 + int(zone_minute)) * 60
        if offset >= _DAY_SECONDS:
            return None
        if offset:
            suffix = f"{sign}{offset // 3600:02d}:{offset // 60 % 60:02d}"
    return Timestamp(f"{date}T{clock}{suffix}")


def _is_day(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12 or day < 1:
        return False
    if month == 2 and day == 29:
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _DAYS_IN_MONTH[month]

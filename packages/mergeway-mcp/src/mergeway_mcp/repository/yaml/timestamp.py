"""The one value type that plain JSON lacks: a point in time, as written."""

from __future__ import annotations


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

"""From the bytes of a file to text with plain line ends.

UTF-8 with or without a byte order mark, and UTF-16 with one, are read; anything else is refused with a reason instead
of being guessed. A line ends at LF, CRLF or a CR alone, as CommonMark and editors have it, and is kept as LF: line
numbers are those of the file, and no other character (form feed, U+2028) ends a line.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["DocumentRefused", "RefusalReason", "SourceText", "decode_document"]

RefusalReason = Literal["not_text", "too_large", "too_many_chunks"]

_REASONS: Final[dict[RefusalReason, str]] = {
    "not_text": "is neither UTF-8 nor UTF-16 with a byte order mark",
    "too_large": "is larger than ingest.max_file_bytes",
    "too_many_chunks": "has more sections than one document may have",
}

_UTF32_MARKS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_MARKS: Final[tuple[tuple[bytes, str], ...]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DocumentRefused(Exception):
    """A file that cannot be indexed; ingest skips it with a warning and counts it.

    Args:
        reason: stable name of the case; `explanation` says it in words that follow the file's name.
    """

    def __init__(self, reason: RefusalReason) -> None:
        self.reason: RefusalReason = reason
        self.explanation: str = _REASONS[reason]
        super().__init__(self.explanation)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file.

    Attributes:
        text: the content without byte order mark, every line end as LF.
        encoding: `utf-8`, `utf-16-le` or `utf-16-be`.
        marked: the file began with a byte order mark.
    """

    text: str
    encoding: str
    marked: bool


def decode_document(data: bytes, *, max_bytes: int) -> SourceText:
    """Decode a file's bytes.

    Args:
        data: the whole file.
        max_bytes: `ingest.max_file_bytes`; a reader that knows the size refuses before it reads.

    Raises:
        DocumentRefused: `too_large`, or `not_text` for another encoding or for NUL characters: they betray UTF-16
            without its mark, or no text at all.
    """
    if len(data) > max_bytes:
        raise DocumentRefused("too_large")
    if data.startswith(_UTF32_MARKS):  # the mark of UTF-32-LE begins like the one of UTF-16-LE
        raise DocumentRefused("not_text")
    mark, encoding = next((entry for entry in _MARKS if data.startswith(entry[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        raise DocumentRefused("not_text") from None
    if "\0" in text:
        raise DocumentRefused("not_text")
    return SourceText(with_plain_line_ends(text), encoding, bool(mark))


def with_plain_line_ends(text: str) -> str:
    """The text with every CRLF and lone CR as LF; the number of lines stays."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

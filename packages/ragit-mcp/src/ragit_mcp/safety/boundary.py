"""The one place where text is cleaned of secrets on its way in or out.

A reply is masked after it is put together, as a whole: then nothing that was computed from it (a preview, a copy in
another member) can be forgotten. Masking is idempotent, so text that was masked when it was indexed is not counted
again. Errors and log lines pass through the same rules.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcpkit.secrets import MaskedText, mask, mask_value

__all__ = ["MaskedReply", "MaskingFormatter", "Redaction", "masked_reply", "masked_text"]


@dataclass(frozen=True, slots=True)
class Redaction:
    """What masking did to a reply.

    Attributes:
        masked_count: number of secrets hidden.
        sources: field paths of the strings that held them, such as `query` or `hits[0].text`, in order.
    """

    masked_count: int = 0
    sources: tuple[str, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether anything was hidden."""
        return self.masked_count > 0

    def __add__(self, other: Redaction) -> Redaction:
        """Both together; a source that both name appears once."""
        sources = tuple(dict.fromkeys((*self.sources, *other.sources)))
        return Redaction(self.masked_count + other.masked_count, sources)

    def to_json(self) -> dict[str, Any]:
        """The member `redactionSummary` of a reply."""
        return {"applied": self.applied, "maskedCount": self.masked_count, "sources": list(self.sources)}


class MaskedReply(NamedTuple):
    """A JSON value without secrets, and what was done to it."""

    value: Any
    redaction: Redaction


def masked_reply(value: Any) -> MaskedReply:
    """Hide every secret in a reply, an error's payload or any other JSON value; the original is left alone.

    Args:
        value: JSON values; tuples become lists. A string below a member named `token`, `password` and the like is
            hidden whatever it looks like.
    """
    masked = mask_value(value)
    return MaskedReply(masked.value, Redaction(masked.hidden, tuple(masked.sources)))


def masked_text(text: str) -> MaskedText:
    """Hide every secret in a text; its line breaks, and so its line numbers, stay."""
    return mask(text)


class MaskingFormatter(logging.Formatter):
    """A formatter whose every line is masked after it is complete: message, arguments, exception and stack."""

    def format(self, record: logging.LogRecord) -> str:
        """The formatted record without secrets."""
        return mask(super().format(record)).text

"""What the service says when it says no, made into errors (contract, sections 1.1 and 8)."""

from __future__ import annotations

import re
from typing import Final

from mergestorm_mcp.api.client import Reply
from mergestorm_mcp.errors import CommandError, rate_limited
from mergestorm_mcp.text import one_line, short_json

__all__ = ["SURGE_CODES", "failed_to", "raise_rate_limit", "service_words", "surge_refusal"]

SURGE_CODES: Final = frozenset({
    "cyclone_not_connected",
    "cyclone_not_installed",
    "cyclone_permission_missing",
})
"""Codes that, with a reason beginning `surge_`, mean that the Surge App is the one to install."""

_INSTALL: Final = re.compile(r"https://github\.com/apps/[A-Za-z0-9][A-Za-z0-9-]*/installations/new")
_MAX_WORDS: Final = 2000  # characters of the service's own sentence
_FALLBACK: Final = "The Mergestorm Surge App is not set up for this repository; ask its owner to install it."


def surge_refusal(reply: Reply) -> CommandError | None:
    """The error for an answer that misses the Surge App, else None.

    The code stays Cyclone's, for compatibility; `reason` says that Surge is meant. An install address that is not
    GitHub's is dropped.
    """
    code, reason = reply.text("error"), reply.text("reason")
    if code not in SURGE_CODES or reason is None or not reason.startswith("surge_"):
        return None
    message = one_line(reply.text("message") or "", _MAX_WORDS) or _FALLBACK
    address = reply.text("installUrl")
    if address is not None and _INSTALL.fullmatch(address) and address not in message:
        message = f"{message} ({address})"
    return CommandError(message, code=code, reason=one_line(reason, 100))


def raise_rate_limit(reply: Reply) -> None:
    """Raise `rate_limited` for HTTP 429."""
    if reply.status == 429:
        raise rate_limited(reply.retry_after)


def service_words(reply: Reply) -> str | None:
    """The service's own sentence, fit to be shown; None if it sent none."""
    message = reply.text("message")
    return one_line(message, _MAX_WORDS) or None if message is not None else None


def failed_to(what: str, reply: Reply) -> CommandError:
    """The error without a code for a status that has no meaning of its own: what failed, status and body."""
    return CommandError(f"Failed to {what} (HTTP {reply.status}): {short_json(reply.body)}")

"""What the service made of a dismissal: a result, a refusal with the service's code, or a failure (contract 3.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.api.client import Reply
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words
from mergestorm_mcp.errors import EXIT_FAILED, CommandError
from mergestorm_mcp.reviews.poll import review_failed
from mergestorm_mcp.text import one_line

__all__ = ["REFUSAL_CODES", "Refusal", "read_dismissal"]

REFUSAL_CODES: Final = frozenset({
    "forbidden",
    "invalid_input",
    "review_mismatch",
    "review_not_found",
    "stale_head",
    "unknown_finding",
})
"""Codes that the public page names; a later one of the service is passed on all the same."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The service refused, and wrote nothing.

    Attributes:
        status: HTTP status.
        code: the service's code, one of `REFUSAL_CODES` or a later one.
        message: its sentence.
    """

    status: int
    code: str
    message: str


def read_dismissal(reply: Reply) -> dict[str, Any] | Refusal:
    """Read an answer.

    Raises:
        CommandError: `rate_limited`; `not_found` (exit 4) where the service has no dismissals; `review_failed` (exit 4)
            for anything else.
    """
    if reply.ok and isinstance(reply.body, dict) and reply.text("status") is not None:
        return reply.body
    raise_rate_limit(reply)
    code = reply.text("error")
    if not reply.ok and code is not None:
        shown = one_line(code, 100)
        return Refusal(
            reply.status, shown, service_words(reply) or f"Mergestorm refused the dismissal: {shown}."
        )
    if reply.status == 404:
        raise CommandError(
            "This Mergestorm service cannot dismiss findings; check the address or update it.",
            exit_code=EXIT_FAILED,
            code="not_found",
        )
    raise review_failed(failed_to("dismiss findings", reply).message)

"""What the service says when it says no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Refusal", "invalid_input", "not_found"]


class Refusal(Exception):
    """A request that is refused; whatever it had begun to write is undone.

    Args:
        status: HTTP status.
        error: stable code.
        message: a sentence for people.
        reason: a second code that says why, where the first one is shared.
        install_url: where the missing App is installed.
        retry_after_seconds: when to ask again.
        retry_after_in_header: whether the header Retry-After says it, too.
        extra: further members of the answer.
    """

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        *,
        reason: str | None = None,
        install_url: str | None = None,
        retry_after_seconds: float | None = None,
        retry_after_in_header: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        self.error = error
        self.message = message
        self.reason = reason
        self.install_url = install_url
        self.retry_after_seconds = retry_after_seconds
        self.retry_after_in_header = retry_after_in_header
        self.extra = dict(extra or {})

    def envelope(self) -> dict[str, Any]:
        """The JSON body: `error` and what else is known."""
        body: dict[str, Any] = {**self.extra, "error": self.error, "message": self.message}
        if self.reason is not None:
            body["reason"] = self.reason
        if self.install_url is not None:
            body["installUrl"] = self.install_url
        if self.retry_after_seconds is not None:
            body["retry_after_seconds"] = self.retry_after_seconds
        return body


def invalid_input(message: str, **extra: Any) -> Refusal:
    """A request whose content is wrong: 400 `invalid_input`."""
    return Refusal(400, "invalid_input", message, extra=extra)


def not_found(what: str, error: str = "not_found") -> Refusal:
    """Something that is not there, or not there for this account: 404."""
    return Refusal(404, error, f"{what} was not found.")

"""The one error of the domain: what went wrong, for people, programs and shells at once.

    CommandError          message, exit code and, where they help, code, reason and a delay
    ├── RequestTimeout    the service did not answer in time (`api_timeout`)
    └── ConnectionFailed  the service could not be reached, or the connection broke

The tools turn it into a result with `isError` (`mergestorm_mcp.tools.kit`), the command line into a message on stderr
and an exit code. Messages say what to do next and hold neither a key nor an argument's value.

Codes and exit codes are those of the contract, section 8. Standard library only.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADOPT_CODES",
    "EXIT_ABORTED",
    "EXIT_ATTENTION",
    "EXIT_AUTH",
    "EXIT_FAILED",
    "EXIT_GENERIC",
    "EXIT_RATE_LIMITED",
    "EXIT_TIMEOUT",
    "EXIT_USAGE",
    "CommandError",
    "ConnectionFailed",
    "RequestTimeout",
    "rate_limited",
    "usage",
]

EXIT_GENERIC: Final = 1
EXIT_USAGE: Final = 2
EXIT_ATTENTION: Final = 3
EXIT_FAILED: Final = 4
EXIT_TIMEOUT: Final = 5
EXIT_AUTH: Final = 6
EXIT_RATE_LIMITED: Final = 7
EXIT_ABORTED: Final = 130

ADOPT_CODES: Final = frozenset({
    "adopt_failed",
    "api_timeout",
    "auth_invalid",
    "busy",
    "cyclone_not_connected",
    "cyclone_not_installed",
    "draft",
    "missing_api_key",
    "not_a_repo",
    "not_found",
    "not_stacked",
    "pr_closed",
    "pr_merged",
    "rate_limited",
    "registered_parent",
    "reserved_branch",
    "review_failed",
    "review_quota",
    "review_timeout",
    "supabase_unconfigured",
    "usage",
})
"""Codes of the service that an adoption passes on (contract 3.8); any other is left out."""


class CommandError(Exception):
    """A call that failed on purpose.

    Args:
        message: what went wrong and what to do next.
        exit_code: what a command line ends with.
        code: stable name of the case, if it has one.
        reason: the service's finer name of the case.
        retry_after_seconds: how long the service asks to be left alone; 0 is a value.
    """

    def __init__(
        self,
        message: str,
        *,
        exit_code: int = EXIT_GENERIC,
        code: str | None = None,
        reason: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.code = code
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds


class RequestTimeout(CommandError):
    """A request was given up after its time; whether the service acted on it is unknown.

    Args:
        seconds: the time it had.
        advice: what to do next; for a write it says what to read before repeating it.
    """

    def __init__(self, seconds: float, advice: str = "") -> None:
        text = f"Request timed out after {seconds:g}s"
        super().__init__(f"{text}. {advice}" if advice else f"{text}.", code="api_timeout")


class ConnectionFailed(CommandError):
    """The service could not be reached or broke the connection; carries no code (contract 3.0)."""


def usage(message: str) -> CommandError:
    """An argument that a person has to change: code `usage`, exit 2."""
    return CommandError(message, exit_code=EXIT_USAGE, code="usage")


def rate_limited(retry_after_seconds: float | None) -> CommandError:
    """HTTP 429: code `rate_limited`, exit 7, with the service's delay."""
    message = "Mergestorm is rate limiting this key; wait before the next call."
    if retry_after_seconds is not None:
        message += f" Retry after {-int(-retry_after_seconds // 1)}s."
    return CommandError(
        message, exit_code=EXIT_RATE_LIMITED, code="rate_limited", retry_after_seconds=retry_after_seconds
    )

"""What an operation answers: a summary for people and data for programs, whoever asked.

The tools make results of it and the command line output. An expected failure that has a shape of its own is
`failure(summary, data)`; everything else is raised as a `CommandError`, whose form is `thrown`:
`error {message, code?, reason?, exit_code?, retry_after_seconds?}` (contract 3.0).

Standard library only: a command that answers in a moment loads no server framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mergestorm_mcp.errors import CommandError

__all__ = ["Answer", "failure", "invalid_input", "limited", "named", "success", "thrown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How an operation ended.

    Attributes:
        summary: what a person reads.
        data: JSON values; in a failed answer `error` is among them.
        failed: whether it failed.
    """

    summary: str
    data: Mapping[str, Any]
    failed: bool = False


def success(summary: str, data: Mapping[str, Any]) -> Answer:
    """An answer."""
    return Answer(summary, data)


def failure(summary: str, data: Mapping[str, Any]) -> Answer:
    """A failed answer whose data has a shape of its own, `error` in it."""
    return Answer(summary, data, failed=True)


def thrown(error: CommandError) -> Answer:
    """The answer of a `CommandError`: members that are not set are left out; 0 and "" are set."""
    members: dict[str, Any] = {"message": error.message, "exit_code": error.exit_code}
    if error.code is not None:
        members["code"] = error.code
    if error.reason is not None:
        members["reason"] = error.reason
    if error.retry_after_seconds is not None:
        members["retry_after_seconds"] = error.retry_after_seconds
    return failure(named(error.code, error.reason, error.message), {"error": members})


def named(code: str | None, reason: str | None, message: str) -> str:
    """The sentence for people: code and reason in front of the message, where there are any."""
    if code is None:
        return message
    return f"Failed with {code}{f' (reason: {reason})' if reason else ''}: {message}"


def invalid_input(message: str, **members: Any) -> Answer:
    """An argument that has to be changed, found before anything was sent."""
    error = {"code": "invalid_input", "message": message, **members}
    return failure(named("invalid_input", None, message), {"error": error})


def limited(error: CommandError, watch: Mapping[str, Any] | None = None) -> Answer:
    """A read that the service put off; with the watch contract where there is one."""
    members: dict[str, Any] = {"code": "rate_limited", "message": error.message}
    if error.retry_after_seconds is not None:
        members["retry_after_seconds"] = error.retry_after_seconds
    data: dict[str, Any] = {"error": members}
    text = named("rate_limited", None, error.message)
    if watch is not None:
        data["watch"] = watch
        text = f"{watch['message']}\n\n{text}"
    return failure(text, data)

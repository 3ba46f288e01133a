"""Waits for a local review job (contract 3.5), and the reading loop that both waits share.

A wait reads, sleeps and reads again until the answer is final or its time is up. What may be different soon (408, 429,
5xx, no answer) is retried at most three times in a row; a good answer starts the count anew. No read begins after the
deadline, and none may outlast it.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.refusals import failed_to
from mergestorm_mcp.api.reviews import get_review
from mergestorm_mcp.clock import Clock
from mergestorm_mcp.errors import EXIT_FAILED, CommandError, ConnectionFailed, RequestTimeout, rate_limited
from mergestorm_mcp.retry import MAX_RETRIES, backoff_seconds, is_transient_status

__all__ = [
    "JobPollTimeout",
    "PollTimeout",
    "Waiting",
    "poll_interval",
    "poll_review",
    "poll_until",
    "review_failed",
]

READ_TIMEOUT_SECONDS: Final = 30.0

Progress = Callable[[float, float | None, str], Awaitable[None]]


async def _silent(_done: float, _total: float | None, _message: str) -> None:
    """Where nobody wants to hear of progress."""


@dataclass(frozen=True)
class Waiting:
    """How a wait waits.

    Attributes:
        clock: its time.
        seconds: how long it may take.
        jitter: randomness for the pauses before retries.
        progress: told after every read: seconds gone, seconds in all, what was seen.
    """

    clock: Clock
    seconds: float
    jitter: random.Random = field(default_factory=random.Random)  # noqa: S311 - spreads retries, protects nothing
    progress: Progress = _silent


class PollTimeout(Exception):
    """The time of a wait is up; what was waited for goes on."""


def review_failed(message: str) -> CommandError:
    """Code `review_failed`, exit 4."""
    return CommandError(message, exit_code=EXIT_FAILED, code="review_failed")


def poll_interval(elapsed: float) -> float:
    """Seconds between two reads: 2 during the first minute, then rising evenly to 5 at two minutes."""
    return 2.0 + 3.0 * min(1.0, max(0.0, (elapsed - 60.0) / 60.0))


async def poll_until(
    read: Callable[[float], Awaitable[Reply]],
    settled: Callable[[Reply], Any],
    waiting: Waiting,
    *,
    what: str,
) -> Any:
    """Read until an answer settles the wait.

    Args:
        read: makes one read within the seconds it is given.
        settled: the result an answer settles the wait with, or None to go on; may raise `CommandError`.
        waiting: how to wait.
        what: what is read, for messages: "load the review".

    Raises:
        PollTimeout: the time is up.
        CommandError: `rate_limited` or `review_failed` after the retries; `auth_invalid` and what `settled` raises at
            once.
    """
    clock = waiting.clock
    began = clock.monotonic()
    retries = 0
    while True:
        left = waiting.seconds - (clock.monotonic() - began)
        if left <= 0:
            raise PollTimeout
        pause: float
        try:
            reply = await read(min(READ_TIMEOUT_SECONDS, left))
        except (RequestTimeout, ConnectionFailed) as error:
            if retries >= MAX_RETRIES:
                if isinstance(error, RequestTimeout) and waiting.seconds <= clock.monotonic() - began:
                    raise PollTimeout from None
                raise review_failed(f"Failed to {what}: {error.message}") from None
            retries += 1
            pause = backoff_seconds(retries, None, waiting.jitter)
        else:
            if is_transient_status(reply.status):
                if retries >= MAX_RETRIES:
                    raise _exhausted(what, reply)
                retries += 1
                pause = backoff_seconds(retries, reply.retry_after, waiting.jitter)
                if reply.status == 429 and pause > waiting.seconds - (clock.monotonic() - began):
                    raise rate_limited(reply.retry_after)  # waiting it out here would only hide the delay
            else:
                retries = 0
                outcome = settled(reply)
                if outcome is not None:
                    return outcome
                pause = poll_interval(clock.monotonic() - began)
        elapsed = clock.monotonic() - began
        await waiting.progress(min(elapsed, waiting.seconds), waiting.seconds, "still waiting")
        await clock.sleep(min(pause, max(0.0, waiting.seconds - elapsed)))


def _exhausted(what: str, reply: Reply) -> CommandError:
    if reply.status == 429:
        return rate_limited(reply.retry_after)
    return review_failed(failed_to(what, reply).message)


class JobPollTimeout(PollTimeout):
    """A review job is not done yet.

    Attributes:
        last_row: the row read last; None if none was.
    """

    def __init__(self, last_row: dict[str, Any] | None) -> None:
        super().__init__("the review job is not done yet")
        self.last_row = last_row


async def poll_review(api: Api, job_id: str, waiting: Waiting) -> dict[str, Any]:
    """Wait until a job is neither queued nor in progress; its row, named by the id that was asked for.

    Raises:
        JobPollTimeout: the time is up.
        CommandError: see `poll_until`; `review_failed` also for an unknown job or an answer that is no job.
    """
    last: dict[str, Any] | None = None

    def settled(reply: Reply) -> dict[str, Any] | None:
        nonlocal last
        if not reply.ok:
            raise review_failed(failed_to("load the review", reply).message)
        if reply.text("status") is None:
            raise review_failed(
                "Mergestorm answered with something that is no review job; call again in a while."
            )
        last = {**reply.body, "job_id": job_id}
        return None if last["status"] in {"queued", "in_progress"} else last

    try:
        row: dict[str, Any] = await poll_until(
            lambda seconds: get_review(api, job_id, seconds=seconds), settled, waiting, what="load the review"
        )
    except PollTimeout:
        raise JobPollTimeout(last) from None
    return row

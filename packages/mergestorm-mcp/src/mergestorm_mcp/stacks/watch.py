"""Waits until a stack needs attention or ends (contract 3.14, with 11.3, 11.7 and 11.8).

A round is one read of the queue, held by the service until something changes, and one of the stack. Rules that hold
whatever the service does:

- The head that the watch enrolled never moves, and the cursor never goes back.
- What was not read is never called waiting; a failed read withdraws the assessment until a round succeeds.
- The deadline is kept within one read. A last snapshot may be taken after it, for 5 seconds.
- What may be different soon (408, 429, 5xx, no answer) is tried again three times between two full rounds, never in a
  single read, and after a 429 only if the delay fits before the deadline.
- Cancelling closes the request that is under way.
"""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mergestorm_mcp.clock import Clock
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout, rate_limited
from mergestorm_mcp.retry import MAX_RETRIES, backoff_seconds, is_transient_status
from mergestorm_mcp.stacks.blockers import stack_blockers
from mergestorm_mcp.stacks.candidate import open_layers
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.model import QueueEntry, Stack, read_entries
from mergestorm_mcp.stacks.reader import StackReader, entries_of, find_stack, listed_stacks
from mergestorm_mcp.text import short_json

if TYPE_CHECKING:
    from mergestorm_mcp.api.client import Reply

__all__ = ["Progress", "StackWatchError", "StackWatchTimeout", "WatchTerms", "watch_slice"]

READ_SECONDS: Final = 30.0
SNAPSHOT_SECONDS: Final = 5.0
SHORTEST_SNAPSHOT_SECONDS: Final = 1.0
HOLD_SECONDS: Final = 45
BUSY_HOLD_SECONDS: Final = 15
HOLD_GRACE_SECONDS: Final = 5.0
UNCHANGED_INTERVAL_SECONDS: Final = 2.0

Progress = Callable[[float, float | None, str], Awaitable[None]]


async def _silent(_done: float, _total: float | None, _message: str) -> None:
    """Where nobody wants to hear of progress."""


@dataclass(frozen=True)
class WatchTerms:
    """How a slice of a watch waits.

    Attributes:
        clock: its time.
        seconds: how long it may take; 0 takes one snapshot.
        jitter: randomness for the pauses before retries.
        progress: told of the status, with seconds gone and seconds in all, before a held read and before a retry.
    """

    clock: Clock
    seconds: float
    jitter: random.Random = field(default_factory=random.Random)  # noqa: S311 - spreads retries, protects nothing
    progress: Progress = _silent


class StackWatchTimeout(Exception):
    """The time is up and nothing needs attention.

    Attributes:
        envelope: what is known.
    """

    def __init__(self, envelope: WatchEnvelope) -> None:
        super().__init__("the stack goes on")
        self.envelope = envelope


class StackWatchError(Exception):
    """A stack or its queue could not be read, or the stack is gone.

    Attributes:
        error: what went wrong, for people and programs.
        envelope: what is known.
        transient: whether a later slice may succeed.
        retry_after: seconds the service asks to be left alone.
    """

    def __init__(self, error: CommandError, envelope: WatchEnvelope, *, transient: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.envelope = envelope
        self.transient = transient
        self.retry_after = error.retry_after_seconds


async def watch_slice(
    reader: StackReader, stack_id: str, terms: WatchTerms, cursor: Cursor | None = None
) -> WatchEnvelope:
    """Wait until the stack needs attention or ends.

    Args:
        reader: where stack and queue are read.
        stack_id: the stack.
        terms: how long, and by which clock.
        cursor: where an earlier slice got to; None enrols the candidate's head of now.

    Returns:
        An envelope with an attention or an end; with 0 seconds whatever there is.

    Raises:
        StackWatchTimeout: the time is up.
        StackWatchError: a read failed for good.
        ValueError: the cursor is of another stack.
    """
    wanted = stack_id.strip().lower()
    if cursor is not None and cursor.stack_id.strip().lower() != wanted:
        raise ValueError("the cursor is of another stack")
    return await _Slice(reader, wanted, terms, cursor).run()


class _Slice:
    def __init__(self, reader: StackReader, stack_id: str, terms: WatchTerms, cursor: Cursor | None) -> None:
        self._reader = reader
        self._stack_id = stack_id
        self._terms = terms
        self._clock = terms.clock
        self._began = terms.clock.monotonic()
        self._enrolled = cursor is not None
        self._cursor = cursor if cursor is not None else Cursor(stack_id)
        self._envelope = WatchEnvelope(self._cursor)
        self._retries = 0
        self._told = -1.0
        self._pull_requests: frozenset[int] = frozenset()

    async def run(self) -> WatchEnvelope:
        once = self._terms.seconds == 0
        stack = await self._read_stack(self._first_seconds)
        self._enrol(stack)
        raw, fingerprint = await self._read_queue(self._first_seconds)
        self._assess(stack, raw)
        while not self._settled() and not once:
            await self._tick()
            if self._left() <= 0:
                raise StackWatchTimeout(self._envelope)
            asked, before = self._clock.monotonic(), raw
            raw, fingerprint = await self._read_queue(self._held_seconds, seen=fingerprint, hold=True)
            if raw == before:
                # A service that does not hold the request must not be asked in a tight circle.
                rest = UNCHANGED_INTERVAL_SECONDS - (self._clock.monotonic() - asked)
                await self._clock.sleep(max(0.0, min(rest, self._left())))
            stack = await self._read_stack(self._snapshot_seconds)
            self._retries = 0
            self._assess(stack, raw)
        return self._envelope

    def _left(self) -> float:
        return self._terms.seconds - (self._clock.monotonic() - self._began)

    def _settled(self) -> bool:
        return self._envelope.status == "attention" or self._envelope.done

    def _first_seconds(self) -> float:
        """What a read of the first round may take; the reads of a single snapshot have no deadline but their own."""
        return SNAPSHOT_SECONDS if self._terms.seconds == 0 else min(READ_SECONDS, self._left())

    def _held_seconds(self) -> float:
        """What a held read may take: the seconds it is held and a few more for the answer."""
        known = self._envelope.known
        longest = BUSY_HOLD_SECONDS if known is not None and known["busy"] else HOLD_SECONDS
        return min(longest, max(1, math.ceil(self._left()))) + HOLD_GRACE_SECONDS

    def _snapshot_seconds(self) -> float:
        """What a snapshot may take: less when the held read has used up most of the time after the deadline."""
        return min(SNAPSHOT_SECONDS, max(SHORTEST_SNAPSHOT_SECONDS, self._left() + 1.0 + SNAPSHOT_SECONDS))

    def _enrol(self, stack: Stack) -> None:
        """Take the candidate's head of the first snapshot into the cursor, once."""
        candidate = open_layers(stack).candidate
        if not self._enrolled:
            self._cursor = Cursor(self._stack_id, candidate.head_sha if candidate is not None else None)
            self._enrolled = True
        self._envelope = WatchEnvelope(self._cursor).seen(candidate)
        self._pull_requests = self._envelope.pull_requests

    def _assess(self, stack: Stack, raw: list[Any]) -> None:
        entries: tuple[QueueEntry, ...] = read_entries(raw, self._stack_id)
        assessment = stack_blockers(stack, entries, self._cursor, self._clock.now())
        self._envelope = WatchEnvelope.assessed(stack, assessment, self._cursor)
        self._pull_requests |= self._envelope.pull_requests

    async def _tick(self, status: str | None = None) -> None:
        total = self._terms.seconds
        gone = min(total, max(0.0, total - self._left()))
        if gone <= self._told:
            return  # the protocol wants every report to be further on than the last
        self._told = gone
        await self._terms.progress(gone, total, status or self._envelope.status)

    async def _read_stack(self, allowance: Callable[[], float]) -> Stack:
        reply = await self._read(lambda seconds: self._reader.enrich(self._stack_id, seconds), allowance)
        stacks = listed_stacks(reply.body)
        if stacks is None:
            raise self._failed(
                CommandError("Mergestorm's answer lists no stacks; call again in a while."), transient=True
            )
        raw = find_stack(stacks, self._stack_id)
        if raw is None:
            self._envelope = self._envelope.vanished(self._pull_requests)
            raise StackWatchError(
                CommandError(f"Mergestorm does not list the stack {self._stack_id}."), self._envelope
            )
        stack = Stack.read(raw)
        if not stack.layers_known:
            raise self._failed(
                CommandError("Mergestorm's answer lists no layers; call again in a while."), transient=True
            )
        return stack

    async def _read_queue(
        self, allowance: Callable[[], float], *, seen: str | None = None, hold: bool = False
    ) -> tuple[list[Any], str | None]:
        """The queue's entries and its fingerprint, if it has a usable one."""
        reply = await self._read(
            lambda seconds: self._reader.queue(
                self._stack_id, seconds, wait=int(seconds - HOLD_GRACE_SECONDS) if hold else None, seen=seen
            ),
            allowance,
        )
        raw = entries_of(reply.body)
        if raw is None:
            raise self._failed(
                CommandError("Mergestorm's answer lists no queue; call again in a while."), transient=True
            )
        fingerprint = reply.body.get("fingerprint")
        return raw, fingerprint if isinstance(fingerprint, str) and fingerprint else None

    async def _read(self, read: Callable[[float], Awaitable[Reply]], allowance: Callable[[], float]) -> Reply:
        """Make one read, with the retries that are left.

        Args:
            read: makes the read within the seconds it is given.
            allowance: those seconds, asked anew for every attempt.
        """
        while True:
            seconds = allowance()
            if seconds <= 0:
                raise StackWatchTimeout(self._envelope)
            failure: CommandError
            try:
                reply = await read(seconds)
            except (RequestTimeout, ConnectionFailed) as error:
                failure = error
            except (
                CommandError
            ) as error:  # a rejected key, or settings that cannot work: no retry mends those
                raise self._failed(error) from None
            else:
                if reply.status == 200:
                    return reply
                failure = _refused(reply)
                if not is_transient_status(reply.status):
                    raise self._failed(failure)
            await self._back_off(failure)

    async def _back_off(self, failure: CommandError) -> None:
        """Pause before a retry, or give up."""
        limited = failure.code == "rate_limited"
        if self._terms.seconds == 0:
            raise self._failed(failure, transient=True)
        left = self._left()
        pause = backoff_seconds(self._retries + 1, failure.retry_after_seconds, self._terms.jitter)
        if limited and pause > left:
            raise self._failed(failure, transient=True)
        if left <= 0:
            # The answer would only have confirmed what is known; that stands, but nobody vouches for it any more.
            raise StackWatchTimeout(self._envelope.unread())
        if self._retries >= MAX_RETRIES:
            raise self._failed(failure, transient=True)
        self._retries += 1
        self._envelope = self._envelope.unread()
        await self._tick("rate_limited" if limited else None)
        await self._clock.sleep(min(pause, left))

    def _failed(self, error: CommandError, *, transient: bool = False) -> StackWatchError:
        status = "rate_limited" if error.code == "rate_limited" else "failed"
        self._envelope = self._envelope.unread(status)
        return StackWatchError(error, self._envelope, transient=transient)


def _refused(reply: Reply) -> CommandError:
    if reply.status == 429:
        return rate_limited(reply.retry_after)
    return CommandError(f"Failed to read the stack (HTTP {reply.status}): {short_json(reply.body)}")

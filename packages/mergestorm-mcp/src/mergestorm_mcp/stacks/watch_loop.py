"""`mg stack watch`: waits for hours, says little, and ends with a line a host can match (contract, section 6).

    MS-WATCH ATTENTION pr=… head=… blocker="…" repair=…                                 exit 3
    MS-WATCH ATTENTION stack=… reason=closed|archived|not_found|landing_unconfirmed     exit 3
    MS-WATCH ATTENTION failed stack=… error="…"                                         exit 3
    MS-WATCH LANDED stack=… reason=landed                                               exit 0
    MS-WATCH TIMEOUT stack=… after=…m                                                   exit 5
    (stopped: no line)                                                                  exit 130

Slices of five minutes carry one cursor. Rate limits are waited out and count for nothing; what may pass is tried again
for a quarter of an hour, anything else once. A stack that is no longer listed has landed only if its newest landed queue
entry names a pull request, or the enrolled head, of this watch.
"""

from __future__ import annotations

import json
import random
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio

from mergestorm_mcp.clock import Clock
from mergestorm_mcp.errors import EXIT_ABORTED, EXIT_ATTENTION, EXIT_TIMEOUT, CommandError
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.model import QueueEntry, same_head, same_id
from mergestorm_mcp.stacks.obligation import done_watch
from mergestorm_mcp.stacks.reader import StackReader
from mergestorm_mcp.stacks.watch import StackWatchError, StackWatchTimeout, WatchTerms, watch_slice
from mergestorm_mcp.text import one_line, without_watch_mark

__all__ = ["LoopOptions", "LoopOutcome", "watch_loop"]

SLICE_SECONDS: Final = 300.0
PAUSE_SECONDS: Final = 30.0
PERMANENT_PAUSE_SECONDS: Final = 15.0
TRANSIENT_SECONDS: Final = 15 * 60.0
FIRST_PAUSE_SECONDS: Final = 15.0
LONGEST_PAUSE_SECONDS: Final = 60.0
CONFIRM_SECONDS: Final = 30.0
LONGEST_DELAY_SECONDS: Final = 3600.0
"""A service that asks for more is asked again after this: it may have been a mistake."""

_REMEMBERED: Final = 256
_MINUTES: Final = re.compile(r"\b\d+m\b")

_Key = tuple[int | None, str | None, str]


@dataclass(frozen=True)
class LoopOptions:
    """How a watch runs.

    Attributes:
        until: end with the first attention, or print each new one and go on until the stack ends.
        ignore: texts; the first attention whose blocker contains one is passed over while it stays the same.
        max_minutes: when to give up; None never does.
        head: the head to enrol, instead of the one found first.
    """

    until: Literal["attention", "landed"] = "attention"
    ignore: tuple[str, ...] = ()
    max_minutes: float | None = None
    head: str | None = None


@dataclass(frozen=True)
class LoopOutcome:
    """How a watch ended.

    Attributes:
        exit_code: for the process.
        document: the one JSON document: the last envelope, or the stack and how it ended.
    """

    exit_code: int
    document: dict[str, Any]


async def watch_loop(
    reader: StackReader,
    stack_id: str,
    options: LoopOptions,
    *,
    clock: Clock,
    say: Callable[[str], None],
    jitter: random.Random | None = None,
    stop: anyio.Event | None = None,
) -> LoopOutcome:
    """Watch a stack until something is to be said that ends the watch.

    Args:
        reader: where stack and queue are read.
        stack_id: the stack.
        options: how.
        clock: time.
        say: prints a line.
        jitter: randomness for the pauses before retries.
        stop: ends the watch without a line when it is set.
    """
    loop = _Loop(reader, stack_id.strip().lower(), options, clock, say, jitter or random.Random())  # noqa: S311 - spreads retries, protects nothing
    if stop is None:
        return await loop.run()
    outcome: LoopOutcome | None = None
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:

        async def stopper() -> None:
            await stop.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(stopper)
        try:
            outcome = await loop.run()
        except Exception as error:  # noqa: BLE001 - raised again below, without the wrapping of the group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return outcome or LoopOutcome(EXIT_ABORTED, {"stackId": loop.stack_id, "outcome": "aborted"})


@dataclass
class _Silence:
    """One `--ignore` text and the attention it silenced."""

    text: str
    key: _Key | None = None
    over: bool = False

    def covers(self, key: _Key) -> bool:
        if self.key is None and not self.over and self.text.casefold() in key[2].casefold():
            self.key = key
        if self.key is not None and self.key != key:
            self.key, self.over = None, True
        return self.key == key


@dataclass
class _Failures:
    """What went wrong since the last good slice."""

    permanent: int = 0
    transient: int = 0
    transient_since: float = 0.0


@dataclass
class _Loop:
    reader: StackReader
    stack_id: str
    options: LoopOptions
    clock: Clock
    say: Callable[[str], None]
    jitter: random.Random
    began: float = field(init=False)
    cursor: Cursor | None = field(init=False)
    failures: _Failures = field(default_factory=_Failures)
    pull_requests: set[int] = field(default_factory=set)
    told: OrderedDict[_Key, None] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()
        head = self.options.head
        self.cursor = Cursor(self.stack_id, head) if head is not None else None
        self.silences = [_Silence(text) for text in self.options.ignore if text.strip()]

    async def run(self) -> LoopOutcome:
        while True:
            left = self.left()
            if left <= 0:
                return self.timeout()
            terms = WatchTerms(self.clock, min(SLICE_SECONDS, left), self.jitter)
            try:
                envelope = await watch_slice(self.reader, self.stack_id, terms, self.cursor)
            except StackWatchTimeout as timeout:
                self.remember(timeout.envelope)
                if timeout.envelope.status == "failed":  # the whole slice passed without one good read
                    unread = CommandError("Mergestorm did not answer during this part of the watch.")
                    outcome = await self.failed(unread, transient=True, envelope=timeout.envelope)
                    if outcome is not None:
                        return outcome
                elif timeout.envelope.available:
                    self.failures = _Failures()
                continue
            except StackWatchError as error:
                self.remember(error.envelope)
                if error.envelope.done:
                    return await self.gone(error.envelope)
                if error.error.code == "rate_limited":
                    delay = error.retry_after
                    await self.pause(
                        PAUSE_SECONDS if delay is None else min(LONGEST_DELAY_SECONDS, max(1.0, delay))
                    )
                    continue
                outcome = await self.failed(error.error, transient=error.transient, envelope=error.envelope)
                if outcome is not None:
                    return outcome
                continue
            self.failures = _Failures()
            self.remember(envelope)
            if envelope.done:
                return self.ended(envelope)
            if self.announce(envelope) and self.options.until == "attention":
                return LoopOutcome(EXIT_ATTENTION, envelope.wire())
            await self.pause(PAUSE_SECONDS)

    def left(self) -> float:
        if self.options.max_minutes is None:
            return float("inf")
        return self.options.max_minutes * 60.0 - (self.clock.monotonic() - self.began)

    async def pause(self, seconds: float) -> None:
        await self.clock.sleep(max(0.0, min(seconds, self.left())))

    def remember(self, envelope: WatchEnvelope) -> None:
        self.cursor = envelope.cursor
        self.pull_requests |= envelope.pull_requests

    def announce(self, envelope: WatchEnvelope) -> bool:
        """Print an attention, unless it is silenced or was printed; says whether it counts."""
        known = envelope.known or {}
        blocker = known.get("blocker") or ""
        key = (known.get("prNumber"), known.get("headSha"), _MINUTES.sub("#m", blocker))
        silenced = [
            silence.covers(key) for silence in self.silences
        ]  # each of them has to see every attention
        if any(silenced):
            return False
        if key in self.told:
            self.told.move_to_end(key)
            return False
        self.told[key] = None
        if len(self.told) > _REMEMBERED:
            self.told.popitem(last=False)
        repair = known.get("repair") or {}
        number, head = known.get("prNumber") or "none", _bare(known.get("headSha"))
        self.say(
            f"MS-WATCH ATTENTION pr={number} head={head} blocker={_quoted(blocker)} repair={repair.get('kind') or 'none'}"
        )
        return True

    def ended(self, envelope: WatchEnvelope) -> LoopOutcome:
        reason = envelope.ended or "closed"
        if reason == "landed":
            return self.landed(envelope.wire())
        return self.over(reason, envelope.wire())

    def landed(self, document: dict[str, Any]) -> LoopOutcome:
        self.say(f"MS-WATCH LANDED stack={_bare(self.stack_id)} reason=landed")
        self.say(done_watch("landed")["message"])
        return LoopOutcome(0, document)

    def over(self, reason: str, document: dict[str, Any]) -> LoopOutcome:
        self.say(f"MS-WATCH ATTENTION stack={_bare(self.stack_id)} reason={reason}")
        message = done_watch("not_found" if reason == "landing_unconfirmed" else reason)["message"]
        self.say(message)
        return LoopOutcome(EXIT_ATTENTION, document)

    async def gone(self, envelope: WatchEnvelope) -> LoopOutcome:
        """A stack that is no longer listed: see whether it landed."""
        try:
            reply = await self.reader.landed(self.stack_id, CONFIRM_SECONDS)
        except CommandError:
            return self.over("landing_unconfirmed", envelope.wire())
        if (
            reply.status != 200
            or not isinstance(reply.body, dict)
            or not isinstance(reply.body.get("entries"), list)
        ):
            return self.over("landing_unconfirmed", envelope.wire())
        raw = reply.body.get("landed")
        if isinstance(raw, dict) and self.confirms(QueueEntry.read(raw)):
            return self.landed({"stackId": self.stack_id, "outcome": "landed"})
        return self.over("not_found", envelope.wire())

    def confirms(self, entry: QueueEntry) -> bool:
        if entry.state != "landed" or not same_id(entry.stack_id, self.stack_id):
            return False
        enrolled = self.cursor.enrolled_head_sha if self.cursor is not None else None
        return _meet(self.pull_requests, entry.landed_pr_numbers) or same_head(
            enrolled, entry.verify_head_sha
        )

    async def failed(
        self, error: CommandError, *, transient: bool, envelope: WatchEnvelope
    ) -> LoopOutcome | None:
        """Pause after a failure; an outcome once it has lasted too long."""
        failures, now = self.failures, self.clock.monotonic()
        if transient:
            if failures.transient == 0:
                failures.transient_since = now
            if now - failures.transient_since >= TRANSIENT_SECONDS:
                return self.give_up(error, envelope)
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures.transient, 10))
            failures.transient += 1
            await self.pause(pause)
            return None
        failures.permanent += 1
        if failures.permanent > 1:
            return self.give_up(error, envelope)
        await self.pause(PERMANENT_PAUSE_SECONDS)
        return None

    def give_up(self, error: CommandError, envelope: WatchEnvelope) -> LoopOutcome:
        self.say(f"MS-WATCH ATTENTION failed stack={_bare(self.stack_id)} error={_quoted(error.message)}")
        return LoopOutcome(EXIT_ATTENTION, envelope.wire())

    def timeout(self) -> LoopOutcome:
        self.say(f"MS-WATCH TIMEOUT stack={_bare(self.stack_id)} after={self.options.max_minutes:g}m")
        return LoopOutcome(EXIT_TIMEOUT, {"stackId": self.stack_id, "outcome": "timeout"})


def _meet(seen: set[int], landed: Iterable[int]) -> bool:
    return not seen.isdisjoint(landed)


def _quoted(text: str) -> str:
    return json.dumps(without_watch_mark(one_line(text, 1000)), ensure_ascii=False)


def _bare(text: str | None) -> str:
    """A value without quotes: nothing in it may look like the next field or another line."""
    return re.sub(r"[^\w.:/-]", "?", text[:100]) if text else "none"

"""What `stack_wait` answers: one slice of a watch (contract 3.14)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mergestorm_mcp.answers import Answer, failure, success, thrown
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.lines import blockers_summary, repair_line
from mergestorm_mcp.stacks.reader import ApiStackReader
from mergestorm_mcp.stacks.reading import MAX_SUMMARY
from mergestorm_mcp.stacks.watch import Progress, StackWatchError, StackWatchTimeout, WatchTerms, watch_slice
from mergestorm_mcp.text import plain

__all__ = ["wait_for_stack"]


async def wait_for_stack(
    runtime: Runtime,
    stack_id: str,
    seconds: float,
    selectors: Mapping[str, str | None],
    report: Progress,
) -> Answer:
    """Wait until a stack needs somebody or ends.

    Args:
        runtime: the outside world.
        stack_id: the stack.
        seconds: how long; 0 takes one snapshot.
        selectors: the cursor of the wait before, as it was passed.
        report: told of progress.
    """
    wanted = stack_id.lower()
    cursor = Cursor.from_selectors(wanted, selectors)
    terms = WatchTerms(runtime.clock, seconds, runtime.jitter, report)
    try:
        reader = ApiStackReader(runtime.api())
    except CommandError as error:  # no key, or one that may not be used: nothing was read
        return _unread(WatchEnvelope(cursor or Cursor(wanted)), error)
    try:
        envelope = await watch_slice(reader, wanted, terms, cursor)
    except StackWatchTimeout as timeout:
        envelope = timeout.envelope
    except StackWatchError as error:
        if not error.envelope.done:
            return _unread(error.envelope, error.error)
        envelope = error.envelope
    data = envelope.wire()
    return success(_wait_summary(envelope, data), data)


def _unread(envelope: WatchEnvelope, error: CommandError) -> Answer:
    told = thrown(error)
    data = envelope.wire(error.retry_after_seconds)
    text = f"{_wait_summary(envelope, data)}\n{told.summary}"
    data |= told.data
    if error.retry_after_seconds is not None:
        data["retry_after_seconds"] = error.retry_after_seconds
    return failure(plain(text, MAX_SUMMARY), data)


def _wait_summary(envelope: WatchEnvelope, data: Mapping[str, Any]) -> str:
    line = f"Stack {data['stackId']} · {data['status']}{blockers_summary(data)}"
    if not envelope.available:
        line += " · assessment unavailable"
    lines = [data["watch"]["message"], "", line]
    repair = repair_line(data["repair"])
    lines += [repair] if repair is not None else []
    if not envelope.done and data["status"] in {"waiting", "in_progress"}:
        lines.append(f"Selectors of the next call: {_selectors(envelope)}")
    return plain("\n".join(lines), MAX_SUMMARY)


def _selectors(envelope: WatchEnvelope) -> str:
    selectors = envelope.cursor.selectors()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in selectors.items())

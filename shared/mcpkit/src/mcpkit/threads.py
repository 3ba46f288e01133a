"""Blocking work in a worker thread, told when nobody waits for it any more.

There is one way to stop such work: it gets a check to look at now and then, which turns true when the task that waits
for it is cancelled. Engines take the check as an argument and need to know nothing of event loops.

Standard library only until `run_in_thread` runs: start-up checks and command lines use what takes the check.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["CancelCheck", "WorkCancelled", "checkpoint", "run_in_thread"]

T = TypeVar("T")

CancelCheck = Callable[[], bool]
"""True once the work is no longer wanted. Cheap; may be called from any thread."""


class WorkCancelled(Exception):
    """Ends work that is no longer wanted; whoever cancelled it has gone and does not see it."""


def checkpoint(cancel: CancelCheck) -> Callable[[], None]:
    """The check for code that has no way back but an exception: what is returned raises `WorkCancelled`."""

    def check() -> None:
        if cancel():
            raise WorkCancelled

    return check


async def run_in_thread(call: Callable[[CancelCheck], T]) -> T:
    """Run `call` in a worker thread.

    When the waiting task is cancelled, the check turns true and the thread returns by itself; nobody waits for it. A
    git process that was given the check is ended within about 50 ms.

    Args:
        call: the work; it gets the check.
    """
    import anyio.to_thread  # an event loop library, for those that have an event loop

    cancelled = threading.Event()
    try:
        return await anyio.to_thread.run_sync(call, cancelled.is_set, abandon_on_cancel=True)
    finally:
        cancelled.set()

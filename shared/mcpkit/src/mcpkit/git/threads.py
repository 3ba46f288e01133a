"""Git calls from asynchronous code, ended when the task that waits for them is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from mcpkit.git.process import CancelCheck

__all__ = ["run_in_thread"]

T = TypeVar("T")


async def run_in_thread(call: Callable[[CancelCheck], T]) -> T:
    """Run `call` in a worker thread; it gets a cancel check to hand to `Repository.open` or `Repository.bounded`.

    When the waiting task is cancelled, the check turns true, the git process is ended within about 50 ms, and the
    thread returns by itself; nobody waits for it.
    """
    # Imported here so that a start-up check can use this package without an event loop library.
    import anyio.to_thread

    cancelled = threading.Event()
    try:
        return await anyio.to_thread.run_sync(call, cancelled.is_set, abandon_on_cancel=True)
    finally:
        cancelled.set()

"""Tasks that run beside a test's own code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

__all__ = ["background"]


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group whose body's exception comes out as it is, so that a test's assertion is not wrapped in a group.

    A body that fails cancels the tasks; one that ends leaves them to end by themselves or be cancelled by it.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group
            failure = error
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure

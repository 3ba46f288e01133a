"""Work in a thread: its answer, its error, and how it learns that nobody waits any more."""

from __future__ import annotations

import subprocess
import sys
import threading

import anyio
import anyio.to_thread
import pytest

from mcpkit.threads import CancelCheck, WorkCancelled, checkpoint, run_in_thread

_PATIENCE_SECONDS = 20


@pytest.mark.anyio
async def test_the_task_gets_what_the_work_returns_or_raises() -> None:
    assert await run_in_thread(lambda cancel: ("answer", cancel())) == ("answer", False)

    def fail(_cancel: CancelCheck) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await run_in_thread(fail)


@pytest.mark.anyio
async def test_the_check_turns_true_and_the_task_does_not_wait_for_the_thread() -> None:
    begun, let_go, saw = threading.Event(), threading.Event(), threading.Event()

    def work(cancel: CancelCheck) -> None:
        begun.set()
        let_go.wait(_PATIENCE_SECONDS)
        if cancel():
            saw.set()

    with anyio.fail_after(_PATIENCE_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(run_in_thread, work)
            await anyio.to_thread.run_sync(begun.wait, _PATIENCE_SECONDS)
            group.cancel_scope.cancel()
        let_go.set()  # only now: the task ended before its thread did
        assert await anyio.to_thread.run_sync(saw.wait, _PATIENCE_SECONDS)


@pytest.mark.anyio
async def test_work_that_outlives_its_answer_sees_the_check_turn_true() -> None:
    kept: list[CancelCheck] = []
    await run_in_thread(kept.append)
    assert kept[0]()


def test_a_checkpoint_raises_once_the_check_is_true() -> None:
    wanted = [True]
    check = checkpoint(lambda: not wanted)
    check()
    wanted.clear()
    with pytest.raises(WorkCancelled):
        check()


def test_importing_it_loads_no_event_loop() -> None:
    script = "import sys, mcpkit.threads; print(*({'anyio', 'asyncio', 'fastmcp'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == []

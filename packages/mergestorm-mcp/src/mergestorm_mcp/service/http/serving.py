"""The socket, the loop and the end of a service.

    async with serving(world, port=0) as address: ...     on the running loop
    with running(world) as address: ...                   on a thread of its own, for tests and tools

uvicorn speaks HTTP, set up by mcpkit, whose connections give up on heads that do not end and clients that do not read.
At the end whoever waits in a long poll is woken and answered, and events that are being handled finish.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from mcpkit.cli import ListenAddress
from mcpkit.http.listening import bind, bounded_server
from mcpkit.http.rules import is_loopback
from mergestorm_mcp.service.agents import pushes
from mergestorm_mcp.service.http.app import application
from mergestorm_mcp.service.world import World

__all__ = ["GRACE_SECONDS", "running", "serving"]

GRACE_SECONDS: Final = 5
_BACKLOG: Final = 2048
_START_SECONDS: Final = 20.0


@asynccontextmanager
async def serving(world: World, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve until the context ends; the timeline runs beside it.

    Args:
        world: the service; it is closed for new waits at the end, and not to be served again.
        host: a literal loopback address.
        port: 0 lets the system choose.

    Yields:
        The base URL.

    Raises:
        ValueError: the address is not a loopback one.
        OSError: it cannot be listened on.
    """
    if not is_loopback(host):
        raise ValueError("the service listens on loopback addresses only")
    with bind(ListenAddress(host, port)) as listener:
        world.base_url = f"http://{ListenAddress(host, listener.getsockname()[1])}"
        server = bounded_server(application(world), graceful_seconds=GRACE_SECONDS, backlog=_BACKLOG)
        async with asyncio.TaskGroup() as tasks:
            served = tasks.create_task(server.serve(sockets=[listener]))
            timeline = tasks.create_task(world.timeline.run(world))
            tasks.create_task(pushes.watch(world))
            try:
                yield world.base_url
            finally:
                server.should_exit = True
                world.changes.close()
                await asyncio.wait({served, timeline})


@contextmanager
def running(world: World, *, port: int = 0) -> Iterator[str]:
    """Serve on a thread until the context ends; yields the base URL. The store stays open.

    Raises:
        OSError: the port cannot be listened on.
    """
    begun = threading.Event()
    loop = asyncio.new_event_loop()
    end = asyncio.Event()
    failure: list[BaseException] = []

    async def serve() -> None:
        async with serving(world, port=port):
            begun.set()
            await end.wait()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(serve())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            failure.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=run, name="mergestorm-local", daemon=True)
    thread.start()
    try:
        if not begun.wait(_START_SECONDS) or failure:
            raise failure[0] if failure else TimeoutError("the service did not start")
        yield world.base_url
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(end.set)
        thread.join()
    if failure:
        raise failure[0]

"""The socket, the loop and the end of a service.

    async with serving(world, port=0) as address: ...     on the running loop
    with running(world) as address: ...                   on a thread of its own, for tests and tools

uvicorn speaks HTTP; its connections are mcpkit's, which give up on heads that do not end and clients that do not read.
At the end whoever waits in a long poll is woken and answered, and events that are being handled finish.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn

from mcpkit.cli import ListenAddress
from mcpkit.http.listening import BoundedProtocol, bind
from mcpkit.http.rules import is_loopback
from mergestorm_mcp.service.agents import pushes
from mergestorm_mcp.service.http.app import application
from mergestorm_mcp.service.world import World

__all__ = ["GRACE_SECONDS", "running", "serving"]

GRACE_SECONDS: Final = 5
_MAX_CONNECTIONS: Final = 512
_MAX_HEAD: Final = 64 << 10
_KEEP_ALIVE_SECONDS: Final = 75
_START_SECONDS: Final = 20.0


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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
        server = _Server(_config(world))
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


def _config(world: World) -> uvicorn.Config:
    return uvicorn.Config(
        application(world),
        http=BoundedProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEAD,
    )

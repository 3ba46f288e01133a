"""From the command to the exit code, with real processes and signals."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcpkit.testing import HttpClient, connect_http, start_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
]

no_signals = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM that a process can handle")

Command = Callable[..., list[str]]


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@no_signals
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_requests_finish_and_exits_0_in_silence(
    server_command: Command, tmp_path: Path, number: signal.Signals
) -> None:
    release = tmp_path / "release"
    async with connect_http(server_command()) as client:
        process = client.process
        assert process is not None
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await client.call("until", {"path": str(release)}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await process.wait_for(lambda server: "waiting for release" in server.stderr)
            process.signal(number)
            await refused(client.url)
            release.touch()
        assert outcomes[0].structured == {"text": "finished"}
        assert await process.wait() == 0
        assert process.output == b""
        assert len(process.stderr.splitlines()) == 2  # the address, and the tool's own line


async def refused(url: str) -> None:
    """Wait until the server takes no more connections."""
    with anyio.fail_after(10):
        while True:
            try:
                async with httpx2.AsyncClient(trust_env=False) as other:
                    await other.get(url)
            except httpx2.TransportError:
                return


@no_signals
async def test_what_outlasts_the_grace_is_answered_and_the_exit_code_is_0(server_command: Command) -> None:
    async with connect_http(server_command("host='127.0.0.1', port=0, grace=0.2")) as client:
        process = client.process
        assert process is not None
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await client.call("hold", {"name": "on"}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await process.wait_for(lambda server: "holding on" in server.stderr)
            process.signal()
        assert (outcomes[0].code, outcomes[0].kind) == (-32603, "shutting_down")
        assert await process.wait() == 0


@no_signals
@pytest.mark.parametrize("tool", ["stuck", "hold"])
async def test_a_second_signal_ends_at_once(server_command: Command, tool: str) -> None:
    async with connect_http(server_command("host='127.0.0.1', port=0, grace=60")) as client:
        process = client.process
        assert process is not None
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await client.call(tool, {"name": "x"}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await process.wait_for(lambda server: " x\n" in server.stderr)
            process.signal()
            await refused(client.url)
            process.signal()
        assert outcomes[0].kind == "shutting_down"
        assert await process.wait() == 0


@no_signals
async def test_a_thread_that_does_not_stop_is_left_behind(server_command: Command) -> None:
    async with connect_http(server_command("host='127.0.0.1', port=0, grace=0.1")) as client:
        process = client.process
        assert process is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call, "stuck", {"name": "for ever"})
            await process.wait_for(lambda server: "stuck for ever" in server.stderr)
            process.signal()
        assert await process.wait() == 0


@no_signals
async def test_a_thread_that_a_call_started_and_forgot_cannot_hold_the_process(
    server_command: Command,
) -> None:
    async with connect_http(server_command()) as client:
        process = client.process
        assert process is not None
        assert (await client.call("forget", {"name": "it"})).ok
        process.signal()
        assert await process.wait() == 0


@no_signals
async def test_a_call_that_blocks_the_event_loop_cannot_hold_the_process(server_command: Command) -> None:
    async with connect_http(
        server_command(
            "host='127.0.0.1', port=0, grace=0.1",
            extra="\nfrom mcpkit.http import listening\nlistening._LAST_RESORT_SECONDS = 0.2\n",
        )
    ) as client:
        process = client.process
        assert process is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ignore_failure, client, "block", {"name": "all"})
            await process.wait_for(lambda server: "blocking all" in server.stderr)
            process.signal()
        assert await process.wait() == 0


async def ignore_failure(client: HttpClient, tool: str, arguments: dict[str, Any]) -> None:
    try:
        await client.call(tool, arguments)
    except httpx2.TransportError:
        return


@no_signals
async def test_a_signal_while_the_server_is_loaded_exits_0(server_command: Command) -> None:
    waiting = """
def load():
    import sys, threading
    print("loading", file=sys.stderr, flush=True)
    threading.Event().wait()
"""
    async with start_server(server_command(extra=waiting)) as process:
        await process.wait_for(lambda server: "loading" in server.stderr)
        process.signal()
        assert await process.wait() == 0
        assert process.stderr.split() == ["loading"]


async def test_early_clients_wait_while_the_server_is_loaded(server_command: Command, tmp_path: Path) -> None:
    """The port is there before FastMCP is."""
    gate = tmp_path / "gate"
    slow = f"""
real = load
def load():
    import socket, sys, time
    from pathlib import Path
    print("loading", file=sys.stderr, flush=True)
    while not Path({str(gate)!r}).exists():
        time.sleep(0.01)
    return real()
"""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with start_server(server_command(f"host='127.0.0.1', port={port}", extra=slow)) as process:
        await process.wait_for(lambda server: "loading" in server.stderr)
        async with connect_http(f"http://127.0.0.1:{port}/") as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call, "entity_list")
                gate.touch()
            assert (await client.call("entity_list")).structured == {"entities": ["Boat"]}
        assert process.stderr == "loading\n"  # silent on success where the port was given


async def test_a_port_in_use_exits_1_with_one_line(server_command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        async with start_server(server_command(f"host='127.0.0.1', port={port}", extra=NO_LOAD)) as process:
            assert await process.wait() == 1
            assert len(process.stderr.splitlines()) == 1
            assert f"127.0.0.1:{port}" in process.stderr
            assert "loaded" not in process.stderr


NO_LOAD = """
def load():
    import sys
    print("loaded", file=sys.stderr, flush=True)
"""


async def test_an_address_of_another_machine_exits_1(server_command: Command) -> None:
    async with start_server(server_command("host='192.0.2.1', port=0", extra=NO_LOAD)) as process:
        assert await process.wait() == 1
        assert len(process.stderr.splitlines()) == 1


async def test_a_server_that_cannot_be_loaded_exits_1_with_one_line(server_command: Command) -> None:
    broken = "\ndef load():\n    raise RuntimeError('no\\nsuch module')\n"
    async with start_server(server_command(extra=broken)) as process:
        assert await process.wait() == 1
        assert process.stderr.splitlines() == [
            "stand-in: the server could not be loaded: RuntimeError: no such module"
        ]


async def test_a_server_whose_lifespan_fails_exits_1_with_one_line(
    server_command: Command, free_port: int
) -> None:
    broken = """
def load():
    from contextlib import asynccontextmanager
    from fastmcp import FastMCP

    @asynccontextmanager
    async def lifespan(app):
        raise RuntimeError("no database")
        yield

    return FastMCP("broken", lifespan=lifespan)
"""
    async with start_server(server_command(f"host='127.0.0.1', port={free_port}", extra=broken)) as process:
        code = await process.wait()
    assert code == 1
    assert len(process.stderr.splitlines()) == 1


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_an_ipv6_address_is_listened_on(server_command: Command) -> None:
    async with connect_http(server_command("host='::1', port=0, base_path='/mcp'")) as client:
        assert client.url.startswith("http://[::1]:")
        assert client.url.endswith("/mcp")
        assert (await client.call("entity_list")).structured == {"entities": ["Boat"]}
        refusal = await client.post(b"{}", {"Host": "evil.example"})
        assert refusal.status_code == 403


async def test_an_empty_host_listens_everywhere_and_still_checks_loopback_hosts(
    server_command: Command,
) -> None:
    async with start_server(server_command("host='', port=0")) as process:
        await process.wait_for(lambda server: "listening on" in server.stderr)
        port = process.stderr.rsplit(":", 1)[1].split("/")[0]
        async with connect_http(f"http://127.0.0.1:{port}/") as client:
            assert (await client.call("entity_list")).ok
            assert (await client.post(b"{}", {"Host": "evil.example"})).status_code == 403


async def test_a_server_that_knows_nothing_of_mcpkit_is_served(tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text(
        "from mcpkit import http\n"
        "def load():\n"
        "    from fastmcp import FastMCP\n"
        "    app = FastMCP('plain')\n"
        "    @app.tool\n"
        "    def twice(n: int) -> int:\n"
        "        return 2 * n\n"
        "    return app\n"
        "raise SystemExit(http.serve(load, host='127.0.0.1', port=0))\n",
        encoding="utf-8",
    )
    async with connect_http([sys.executable, "-P", str(plain)]) as client:
        await client.initialize()
        assert (await client.call("twice", {"n": 2})).structured == {"result": 4}
        wrong = await client.call("twice", {"n": "secret"})
        assert wrong.tool_error is not None
        assert wrong.kind == "invalid_arguments"
        assert "secret" not in repr(wrong)
        assert (await client.request("resources/list", {})).ok
        assert (await client.post({"jsonrpc": "2.0", "id": 1, "method": "x/y"})).json()["error"][
            "code"
        ] == -32601

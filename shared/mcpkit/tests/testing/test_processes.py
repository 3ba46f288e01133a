"""Server processes are watched and always reaped."""

from __future__ import annotations

import os
import sys

import psutil
import pytest

from mcpkit.testing import connect_stdio, start_server

pytestmark = pytest.mark.anyio

ROOT = os.path.abspath(os.sep)

STUBBORN = """
import signal, sys, threading
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
print("ready", file=sys.stderr, flush=True)
threading.Event().wait()
"""


async def test_a_process_is_gone_when_the_context_ends() -> None:
    async with start_server([sys.executable, "-c", "import sys; sys.stdin.read()"]) as server:
        assert psutil.pid_exists(server.pid)
        assert server.returncode is None
    assert not psutil.pid_exists(server.pid)


async def test_a_stubborn_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpkit.testing.process._PATIENCE_SECONDS", 0.1)
    async with start_server([sys.executable, "-c", STUBBORN]) as server:
        await server.wait_for(lambda running: "ready" in running.stderr, deadline=20)
    assert not psutil.pid_exists(server.pid)


async def test_a_process_can_be_killed_by_the_test() -> None:
    async with start_server([sys.executable, "-c", STUBBORN]) as server:
        await server.wait_for(lambda running: "ready" in running.stderr)
        server.kill()
        assert await server.wait() != 0


async def test_output_is_collected_and_waited_for() -> None:
    code = "import os, sys; print(os.getcwd()); print(os.environ['X'], file=sys.stderr); sys.exit(3)"
    env = {**os.environ, "X": "set"}
    async with start_server([sys.executable, "-c", code], env=env, cwd=os.sep) as server:
        assert await server.wait() == 3
        assert server.output.decode().strip() == ROOT
        assert server.stderr.strip() == "set"
        with pytest.raises(TimeoutError):
            await server.wait_for(lambda running: "never" in running.stderr)


async def test_a_wait_has_a_deadline() -> None:
    async with start_server([sys.executable, "-c", "import sys; sys.stdin.read()"]) as server:
        with pytest.raises(TimeoutError):
            await server.wait(deadline=0.01)


async def test_what_is_not_json_on_stdout_is_kept_apart() -> None:
    code = (
        'import sys; sys.stdin.readline(); print(\'hello\'); print(\'{"jsonrpc":"2.0","id":1,"result":{}}\');'
        'print(\'{"jsonrpc":"2.0","method":"n"}\'); sys.stdout.write(\'rest\')'
    )
    async with connect_stdio([sys.executable, "-c", code]) as client:
        assert (await client.request("ping")).ok
        assert await client.receive() == [{"jsonrpc": "2.0", "method": "n"}]
        assert await client.process.wait() == 0
        with pytest.raises(Exception, match="messages came"):
            await client.receive()
        assert client.strays == [b"hello", b"rest"]

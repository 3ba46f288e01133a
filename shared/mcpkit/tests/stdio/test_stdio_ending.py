"""How a session ends: real processes that are closed, signalled, orphaned and abandoned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

with_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send")
with_parents = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not pass on parents")

TOOLS = """
import anyio, os, sys, threading
from contextlib import asynccontextmanager
from fastmcp import FastMCP

def note(text):
    sys.stderr.write(text + "\\n")
    sys.stderr.flush()

@asynccontextmanager
async def lifespan(app):
    yield
    note("lifespan over")

app = FastMCP("small", version="1", lifespan=lifespan)

@app.tool
async def until(path: str) -> str:
    note("started")
    while not os.path.exists(path):
        await anyio.sleep(0.01)
    return "finished"

@app.tool
def stuck() -> str:
    note("started")
    threading.Event().wait()
    return "never"

@app.tool
async def stuck_loop() -> str:
    note("started")
    threading.Event().wait()
    return "never"

@app.tool
async def stubborn() -> str:
    note("started")
    while True:
        try:
            await anyio.sleep_forever()
        except BaseException:
            note("not yet")

@app.tool
async def big() -> str:
    return "x" * 1_000_000
"""

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "main.py"])
sys.stderr.write(f"{child.pid}\\n")
sys.stderr.flush()
child.wait()
"""

QUIET = """
from fastmcp import FastMCP
app = FastMCP("quiet", version="1")
"""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return tmp_path / "release"


def test_the_end_of_input_ends_an_idle_server_with_0_and_its_lifespan(workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize())
    server.ask(messages.call(1, "big"))
    assert server.end() == 0
    assert server.errors() == "lifespan over\n"


def test_the_end_of_input_during_the_import_ends_a_server_that_owes_nothing(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code)
    server.ask(messages.initialize())
    gate.reached()
    assert server.end() == 0
    assert server.errors() == ""


def test_calls_in_flight_at_the_end_of_input_are_answered(
    workshop: Any, messages: Any, release: Path
) -> None:
    server = workshop.start(TOOLS, grace=60.0)
    server.send(messages.initialize(), messages.call(1, "until", path=str(release)))
    server.wait_for_errors("started")
    server.close_input()
    release.touch()
    assert server.reply(1)["result"]["structuredContent"] == {"result": "finished"}
    assert server.wait() == 0


def test_everything_sent_before_the_end_of_input_is_answered_even_if_the_server_is_not_there_yet(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code + QUIET)
    server.send(messages.initialize(), messages.request(1, "no/such"))
    server.close_input()
    gate.open()
    assert server.wait() == 0
    assert [message["id"] for message in server.rest()] == ["init", 1]


@pytest.mark.parametrize("tool", ["stuck", "stuck_loop", "stubborn"])
def test_a_call_that_does_not_finish_in_time_is_answered_and_left_behind(
    tool: str, workshop: Any, messages: Any
) -> None:
    server = workshop.start(TOOLS, grace=0.2)
    server.send(messages.initialize(), messages.call(1, tool))
    server.wait_for_errors("started")
    assert server.end() == 0
    error = server.receive(lambda message: message["id"] == 1)["error"]
    assert (error["code"], error["data"]["kind"]) == (-32603, "shutting_down")


def test_an_import_that_does_not_finish_in_time_is_left_behind(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code, total=0.2)
    server.send(messages.initialize(), messages.request(1, "tools/call"))
    server.close_input()
    assert server.wait() == 0
    assert server.receive(lambda message: message["id"] == 1)["error"]["data"]["kind"] == "shutting_down"


def test_a_cancelled_call_whose_thread_goes_on_does_not_keep_the_process(
    workshop: Any, messages: Any
) -> None:
    server = workshop.start(TOOLS, grace=0.2)
    server.send(messages.initialize(), messages.call(1, "stuck"))
    server.wait_for_errors("started")
    server.send(messages.cancelled(1))
    assert server.end() == 0
    assert [message["id"] for message in server.rest()] == ["init"]


def test_a_thread_of_the_server_does_not_keep_the_process(workshop: Any, messages: Any) -> None:
    server = workshop.start(
        "import threading\nthreading.Thread(target=threading.Event().wait).start()\n" + QUIET
    )
    server.ask(messages.initialize())
    server.ask(messages.request(1, "no/such"))
    assert server.end() == 0


@with_signals
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_with_0(number: int, workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize())
    server.ask(messages.call(1, "big"))
    server.process.send_signal(number)
    assert server.wait() == 0
    assert server.errors() == "lifespan over\n"


@with_signals
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_import_ends_the_server_with_0(
    number: int, workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code)
    server.ask(messages.initialize())
    gate.reached()
    server.process.send_signal(number)
    assert server.wait() == 0
    assert server.errors() == ""


@with_signals
def test_a_signal_lets_calls_finish_and_refuses_new_ones(
    workshop: Any, messages: Any, release: Path, eventually: Any
) -> None:
    server = workshop.start(TOOLS, grace=60.0)
    server.send(messages.initialize(), messages.call(1, "until", path=str(release)))
    server.wait_for_errors("started")
    server.process.send_signal(signal.SIGTERM)

    pings = iter(range(100, 1_000_000))

    def refused() -> bool:
        answer = server.ask(messages.request(next(pings), "ping"))
        return "error" in answer and bool(answer["error"]["data"] == {"kind": "shutting_down"})

    eventually(refused)
    release.touch()
    assert server.reply(1)["result"]["structuredContent"] == {"result": "finished"}
    assert server.wait() == 0


@with_signals
def test_a_second_signal_ends_the_server_at_once(workshop: Any, messages: Any, eventually: Any) -> None:
    server = workshop.start(TOOLS, grace=1000.0, total=1000.0)
    server.send(messages.initialize(), messages.call(1, "stuck"))
    server.wait_for_errors("started")
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: "error" in server.ask(messages.request(os.urandom(4).hex(), "ping")))
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 128 + signal.SIGTERM
    error = server.receive(lambda message: message["id"] == 1)["error"]
    assert error["data"]["kind"] == "shutting_down"


@with_parents
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_closed_stdout_ends_the_server_quietly_though_stdin_stays_open(
    busy: bool, workshop: Any, messages: Any
) -> None:
    server = workshop.start(TOOLS, reading=False)
    server.send(messages.initialize(), messages.call(1, "stuck"))
    server.wait_for_errors("started")
    if not busy:
        server.send(messages.cancelled(1))
    server.process.stdout.close()
    if busy:
        server.send(messages.request(2, "ping"))  # finds the pipe broken, if it comes in time
    assert server.wait() == 0
    assert "Error" not in server.errors()


@with_parents
def test_a_closed_stdout_during_the_import_ends_the_server(workshop: Any, gate: Any, messages: Any) -> None:
    server = workshop.start(gate.code, reading=False)
    server.send(messages.initialize())
    gate.reached()
    server.process.stdout.close()
    assert server.wait() == 0
    assert server.errors() == ""


@with_parents
@pytest.mark.parametrize("stage", ["importing", "serving"])
def test_a_dead_parent_ends_the_server_though_its_streams_stay_open(
    stage: str, workshop: Any, gate: Any, messages: Any
) -> None:
    """The parent starts the server with its own streams, which this test keeps open, and is killed."""
    code = QUIET if stage == "serving" else gate.code
    workshop.prepare(code)
    parent = workshop.start_command([
        sys.executable,
        "-c",
        PARENT,
    ])
    parent.wait_for_errors("\n")
    child = psutil.Process(int(parent.errors()))
    assert "result" in parent.ask(messages.initialize())
    if stage == "serving":
        parent.ask(messages.request(1, "no/such"))
    parent.process.kill()
    parent.process.wait()
    assert psutil.wait_procs([child], timeout=60.0)[1] == []


def test_a_client_that_stops_reading_does_not_keep_the_server_from_ending(
    workshop: Any, messages: Any
) -> None:
    server = workshop.start(TOOLS, reading=False, grace=1.0)
    server.send(messages.initialize(), *(messages.call(id_, "big") for id_ in range(100)))
    assert server.end() == 0  # 200 MB of answers, none of it read


def test_a_client_that_reads_late_gets_every_answer(workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS, reading=False, grace=60.0, total=60.0)
    server.send(messages.initialize(), *(messages.call(id_, "big") for id_ in range(80)))
    server.close_input()
    answers = [json.loads(line) for line in server.process.stdout]
    assert server.wait() == 0
    assert {answer["id"] for answer in answers} == {"init", *range(80)}


@with_signals
def test_closed_standard_streams_are_no_reason_to_fail(workshop: Any) -> None:
    workshop.prepare(QUIET)
    for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        command = f'exec "{sys.executable}" main.py {closing}'
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=workshop.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

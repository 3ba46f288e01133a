"""No request stays unanswered: real processes, before and after the server is there."""

from __future__ import annotations

import json
import random
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TOOLS = """
import anyio, sys, threading
from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from mcp_types import TextContent
from mcpkit.threads import run_in_thread

app = FastMCP("small", version="1")

def note(text):
    sys.stderr.write(text + "\\n")
    sys.stderr.flush()

@app.tool
async def echo(value: object = None) -> dict[str, object]:
    return {"value": value}

@app.tool
async def surrogate() -> ToolResult:
    return ToolResult(content=[TextContent(type="text", text="\\ud800")])

@app.tool
async def not_finite() -> ToolResult:
    return ToolResult(content=[], structured_content={"x": float("nan")})

@app.tool
async def wait_for_cancellation() -> str:
    note("waiting")
    try:
        await anyio.sleep_forever()
    except BaseException as error:
        note("async tool saw " + type(error).__name__)
        raise

@app.tool
async def work_for_cancellation() -> str:
    def work(cancel):
        note("working")
        pause = threading.Event()
        while not cancel():
            pause.wait(0.01)
        note("thread saw the cancellation")
    return await run_in_thread(work)
"""

DEEP = b"[" * 2000 + b"]" * 2000

# What the SDK's own reader leaves unanswered or gets wrong, and the answer.
CASES = {
    "bad JSON": (b"nonsense", -32700, None),
    "truncated": (b'{"jsonrpc":"2.0","id":9,"method":"pi', -32700, None),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\xff"}}', -32700, None),
    "wrong tag": (b'{"jsonrpc":"1.0","id":9,"method":"ping"}', -32600, 9),
    "no tag": (b'{"id":9,"method":"ping"}', -32600, 9),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    "array params": (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}', -32602, 9),
    "deep": (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":%s}}' % DEEP, -32600, 9),
    "lone surrogate": (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\\ud800"}}', -32602, 9),
    "late batch": (b'[{"jsonrpc":"2.0","id":9,"method":"ping"}]', -32600, None),
    "scalar": (b"42", -32600, None),
    "huge": (
        b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"%s"}}' % (b"x" * 100_000_000),
        -32600,
        9,
    ),
    "unknown method": (b'{"jsonrpc":"2.0","id":9,"method":"no/such"}', -32601, 9),
    "unknown tool": (
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"none","arguments":{}}}',
        -32602,
        9,
    ),
    "bad params": (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":5}}', -32602, 9),
}


def test_every_faulty_message_gets_its_answer_and_the_session_goes_on(workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize())
    for name, (line, code, id_) in CASES.items():
        server.write(line + b"\n")
        error = server.reply(id_)["error"]
        assert error["code"] == code, name
        # An unknown tool is the exception: the recorded reference servers give it no kind.
        assert isinstance(error["data"].get("kind"), str) != (name == "unknown tool"), name
        assert server.ask(messages.request(name, "ping"))["result"] == {}
    value = {"ü": [1.5, 10**30, None, "\u2028\n"]}
    assert server.ask(messages.call(10**30, "echo", value=value))["result"]["structuredContent"] == {
        "value": value
    }
    assert server.end() == 0
    assert server.errors() == ""
    assert server.rest() == []


def test_faulty_messages_are_answered_before_initialize_and_during_the_import_as_well(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code)
    gate.reached()
    early = server.ask(messages.request(1, "tools/list"))["error"]
    assert (early["code"], early["data"]["kind"]) == (-32600, "not_initialized")
    for line, code, id_ in list(CASES.values())[:11]:
        server.write(line + b"\n")
        assert server.reply(id_)["error"]["code"] == code
    server.write(b'\n  \n {"jsonrpc":"2.0","id":2,"method":"ping"} \r\n')
    assert server.reply(2)["result"] == {}
    server.write(b'{"jsonrpc":"2.0","id":3,"method":"ping"}')  # the last line, without its newline
    server.close_input()
    assert server.reply(3)["result"] == {}
    assert server.wait() == 0


def test_memory_stays_bounded_while_a_line_of_100_megabytes_is_discarded(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code)
    gate.reached()
    server.ask(messages.initialize())
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    peak = before
    for _ in range(100):
        server.write(b"x" * 1_000_000)
        peak = max(peak, process.memory_info().rss)
    server.write(b"\n")
    assert server.reply(None)["error"]["data"]["kind"] == "message_too_large"
    assert peak - before < 3 * 32 * 1024 * 1024


def test_a_batch_under_2025_03_26_is_answered_as_one(workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize("2025-03-26"))
    server.send([
        messages.call(1, "echo", value=1),
        messages.request(2, "ping"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        messages.call(3, "echo", value=3),
        7,
    ])
    batch = server.receive(lambda message: isinstance(message, list))
    assert {answer["id"]: "result" in answer for answer in batch} == {1: True, 2: True, 3: True, None: False}
    assert server.end() == 0
    assert server.rest() == []


def test_a_result_that_json_cannot_carry_is_an_error_and_the_session_goes_on(
    workshop: Any, messages: Any
) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize())
    error = server.ask(messages.call(1, "surrogate"))["error"]
    assert (error["code"], error["data"]["kind"]) == (-32603, "unserialisable")
    assert (
        server.ask(messages.call(2, "not_finite"))["result"]["isError"] is True
    )  # FastMCP sees this one itself
    assert "result" in server.ask(messages.call(3, "echo"))
    assert server.end() == 0


def test_a_cancellation_reaches_the_tool_and_the_call_is_not_answered(workshop: Any, messages: Any) -> None:
    server = workshop.start(TOOLS)
    server.ask(messages.initialize())
    server.send(messages.call(1, "wait_for_cancellation"))
    server.wait_for_errors("waiting")
    server.send(messages.cancelled(1))
    server.wait_for_errors("async tool saw CancelledError")
    server.send(messages.call(2, "work_for_cancellation"))
    server.wait_for_errors("working")
    server.send(messages.cancelled(2))
    server.wait_for_errors("thread saw the cancellation")
    assert "result" in server.ask(messages.call(1, "echo"))
    assert server.end() == 0
    assert server.rest() == []


SEEDS = [
    json.dumps(message).encode()
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "x", "arguments": {"a": [1]}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
        [{"jsonrpc": "2.0", "id": 3, "method": "ping"}],
    )
]


def mutated(seed: int) -> bytes:
    source = random.Random(seed)
    line = bytearray(source.choice(SEEDS))
    for _ in range(source.randrange(4)):
        place = source.randrange(len(line))
        line[place : place + source.randrange(4)] = source.randbytes(source.randrange(4))
    return bytes(line)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["importing", "serving"])
def test_no_bytes_whatever_end_the_session(stage: str, workshop: Any, gate: Any, messages: Any) -> None:
    """One process takes every example: after each, it must still answer a ping, and a call in the end."""
    server = workshop.start(gate.code if stage == "importing" else TOOLS)
    if stage == "importing":
        gate.reached()
    else:
        server.ask(messages.initialize())
        server.ask(messages.call("first", "echo"))
    number = 0

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.one_of(st.binary(max_size=200), st.integers(0, 10**6).map(mutated)), max_size=5))
    def torment(lines: list[bytes]) -> None:
        nonlocal number
        number += 1
        server.write(b"\n".join(lines) + b"\n")
        assert server.ask(messages.request(f"ping-{number}", "ping"))["result"] == {}

    torment()
    if stage == "serving":
        assert "result" in server.ask(messages.call("last", "echo"))
        assert server.end() == 0
    assert server.errors() == ""

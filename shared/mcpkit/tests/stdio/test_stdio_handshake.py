"""The handshake while the server is still being imported, and the hand-over to FastMCP afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NEVER_IMPORTED = "raise SystemExit('the gate was opened')"

SMALL = """
from fastmcp import FastMCP
app = FastMCP("small", version="1")

@app.tool
async def add(a: int, b: int) -> int:
    return a + b

@app.tool
async def mark(path: str) -> str:
    open(path, "x", encoding="utf-8").close()
    return path
"""


def test_initialize_ping_and_tools_list_are_answered_while_the_server_is_imported(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code + NEVER_IMPORTED)
    gate.reached()

    assert server.ask(messages.initialize())["result"] == messages.surface["initialize"]["2025-11-25"]
    assert server.ask(messages.request(2, "ping"))["result"] == {}
    tools = server.ask(messages.request(3, "tools/list", {}))
    assert tools["result"] == messages.surface["tools/list"]["2025-11-25"]


@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_a_known_version_is_answered_with_itself_and_any_other_with_the_latest(
    requested: str | None, answered: str, messages: Any
) -> None:
    from mcpkit.messages import encode, parse
    from mcpkit.stdio.session import Session
    from mcpkit.surface import Surface

    recorded = {name: messages.surface[name] for name in ("initialize", "tools/list")}
    message = parse(encode(messages.initialize(requested)))
    assert message is not None
    (answer,) = Session(Surface(recorded)).receive(message)
    assert b'"protocolVersion":"%s"' % answered.encode() in answer


def test_calls_that_came_during_the_import_are_served_by_fastmcp_after_it(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code + SMALL)
    assert "result" in server.ask(messages.initialize())
    server.send(messages.call(1, "add", a=1, b=2), messages.call("1", "add", a=10, b=20))
    gate.open()

    assert server.reply(1)["result"]["structuredContent"] == {"result": 3}
    assert server.reply("1")["result"]["structuredContent"] == {"result": 30}
    # From now on the list is the server's own.
    names = [tool["name"] for tool in server.ask(messages.request(2, "tools/list"))["result"]["tools"]]
    assert names == ["add", "mark"]
    assert server.end() == 0
    assert server.errors() == ""
    assert server.rest() == []


def test_a_call_cancelled_while_it_waits_neither_runs_nor_is_answered(
    workshop: Any, gate: Any, messages: Any, tmp_path: Path
) -> None:
    server = workshop.start(gate.code + SMALL)
    unwanted, wanted = tmp_path / "unwanted", tmp_path / "wanted"
    server.send(messages.initialize(), messages.call(1, "mark", path=str(unwanted)))
    server.send(messages.cancelled(1))
    server.ask(messages.request(2, "ping"))  # so the cancellation has been read
    gate.open()

    assert "result" in server.ask(messages.call(3, "mark", path=str(wanted)))
    assert wanted.exists()
    assert not unwanted.exists()
    assert server.end() == 0
    assert [message["id"] for message in server.rest()] == ["init"]


def test_without_a_snapshot_the_handshake_waits_for_the_server_and_is_fastmcps_own(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code + SMALL, surface=None)
    server.send(messages.initialize("2099-01-01"), messages.request(2, "tools/list"))
    assert server.ask(messages.request(1, "ping"))["result"] == {}
    gate.open()

    answer = server.reply("init")["result"]
    assert answer["protocolVersion"] == "2025-11-25"
    assert answer["serverInfo"]["name"] == "small"
    assert len(server.reply(2)["result"]["tools"]) == 2
    assert server.end() == 0


def test_initialize_may_be_repeated_and_needs_nothing_but_its_method(workshop: Any, messages: Any) -> None:
    server = workshop.start(SMALL)
    # FastMCP would refuse these params; the session must not depend on them.
    first = server.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    assert first["result"]["protocolVersion"] == "2025-11-25"
    assert server.ask(messages.call(2, "add", a=1, b=1))["result"]["isError"] is False
    again = server.ask(messages.initialize("2024-11-05", id_=3))
    assert again["result"]["protocolVersion"] == "2024-11-05"
    assert server.ask(messages.call(4, "add", a=1, b=1))["result"]["isError"] is False
    refused = server.ask(messages.request(5, "tools/list", {"_meta": ENVELOPE}))
    assert (refused["error"]["code"], refused["error"]["data"]["kind"]) == (-32600, "invalid_request")
    unknown = server.ask(messages.request(6, "no/such"))
    assert (unknown["error"]["code"], unknown["error"]["data"]["kind"]) == (-32601, "method_not_found")
    assert server.end() == 0
    assert server.errors() == ""


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_discover_first_opens_the_modern_era_which_is_fastmcps_alone(
    workshop: Any, gate: Any, messages: Any
) -> None:
    server = workshop.start(gate.code + SMALL)
    gate.reached()
    server.send(messages.request(1, "server/discover", {"_meta": ENVELOPE}))
    gate.open()

    assert "2026-07-28" in server.reply(1)["result"]["supportedVersions"]
    called = server.ask(
        messages.request(2, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": ENVELOPE})
    )
    assert called["result"]["structuredContent"] == {"result": 3}
    refused = server.ask(messages.initialize(id_=3))
    assert (refused["error"]["code"], refused["error"]["data"]["kind"]) == (
        -32022,
        "unsupported_protocol_version",
    )
    assert server.ask(messages.request(4, "ping", {"_meta": ENVELOPE}))["error"]["code"] == -32601
    server.send([messages.request(5, "ping")])
    assert server.reply(None)["error"]["data"]["kind"] == "batch_not_supported"
    assert server.end() == 0
    assert server.errors() == ""


def test_an_enveloped_request_first_bypasses_the_snapshot(workshop: Any, messages: Any) -> None:
    server = workshop.start(SMALL)
    tools = server.ask(messages.request(1, "tools/list", {"_meta": ENVELOPE}))
    assert [tool["name"] for tool in tools["result"]["tools"]] == ["add", "mark"]
    assert server.end() == 0


@pytest.mark.parametrize(
    "failing",
    ["import no_such_module", "raise SystemExit(0)", "app = None", "lifespan"],
    ids=["import error", "exit at import", "no server", "lifespan error"],
)
def test_a_failing_start_is_answered_to_everyone_said_on_stderr_and_exits_1(
    failing: str, workshop: Any, gate: Any, messages: Any
) -> None:
    if failing == "lifespan":
        failing = """
from contextlib import asynccontextmanager
from fastmcp import FastMCP
@asynccontextmanager
async def lifespan(app):
    raise RuntimeError("no database")
    yield
app = FastMCP("small", version="1", lifespan=lifespan)
"""
    server = workshop.start(gate.code + failing, linger=30.0)
    server.ask(messages.initialize())
    server.send(messages.call(1, "add", a=1, b=2), messages.request(2, "no/such"))
    gate.open()

    for id_ in (1, 2):
        error = server.reply(id_)["error"]
        assert (error["code"], error["data"]["kind"]) == (-32603, "startup_failed")
    later = server.ask(messages.request(3, "ping"))["error"]
    assert (later["code"], later["data"]["kind"]) == (-32603, "startup_failed")
    assert server.end() == 1
    assert len(server.errors().splitlines()) == 1

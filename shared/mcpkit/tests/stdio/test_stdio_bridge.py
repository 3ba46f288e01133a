"""The hand-over to FastMCP, in this process: what the server says of its own accord, and how it fails."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Context, FastMCP

from mcpkit.messages import encode, parse
from mcpkit.server import harden
from mcpkit.stdio.bridge import Bridge
from mcpkit.stdio.session import Session
from mcpkit.stdio.streams import Outbox


class Connection:
    """A server on a thread, a session, and the lines it wrote."""

    def __init__(self, app: FastMCP[Any]) -> None:
        self.lines: list[Any] = []
        self._changed = threading.Condition()
        self._session = Session(None)
        self._outbox = Outbox(self._write, lambda: None)
        self._bridge = Bridge(app, self._session, self._outbox, lambda: None)
        self.failure: BaseException | None = None
        threading.Thread(target=self._outbox.run, daemon=True).start()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._bridge.run()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.failure = error

    def _write(self, line: bytes) -> None:
        with self._changed:
            self.lines.append(json.loads(line))
            self._changed.notify_all()

    def say(self, message: Any) -> None:
        parsed = parse(encode(message))
        assert parsed is not None
        for line in self._session.receive(parsed):
            self._outbox.put(line)

    def wait_for(self, method: str | None = None, id_: Any = None) -> Any:
        def found() -> list[Any]:
            return [line for line in self.lines if line.get("method") == method and line.get("id") == id_]

        def any_method() -> list[Any]:
            return [line for line in self.lines if line.get("method") == method]

        with self._changed:
            look = any_method if method is not None else found
            assert self._changed.wait_for(look, timeout=60.0)
            return look()[0]

    def end(self) -> None:
        self._bridge.stop()
        self._thread.join(60.0)
        assert not self._thread.is_alive()


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def call(id_: int, tool: str, **extra: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {}, **extra},
    }


def talkative() -> FastMCP[Any]:
    app: FastMCP[Any] = FastMCP("talkative", version="1")

    @app.tool
    async def progress(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half")
        return "done"

    @app.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Which?", response_type=str)
        return str(answer.action)

    @app.tool
    async def identify(ctx: Context) -> str:
        return str(ctx.request_id)

    return harden(app)


def test_progress_and_the_servers_own_questions_pass_both_ways() -> None:
    connection = Connection(talkative())
    connection.say(INITIALIZE)
    connection.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert connection.wait_for(id_="init")["result"]["serverInfo"]["name"] == "talkative"

    connection.say(call(1, "progress", _meta={"progressToken": "p"}))
    assert connection.wait_for("notifications/progress")["params"]["progressToken"] == "p"
    assert connection.wait_for(id_=1)["result"]["structuredContent"] == {"result": "done"}

    connection.say(call(2, "ask"))
    question = connection.wait_for("elicitation/create")
    connection.say({"jsonrpc": "2.0", "id": question["id"], "neither": "result nor error"})
    connection.say({"jsonrpc": "2.0", "id": question["id"] + 1000, "result": {"action": "accept"}})
    connection.say({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    assert connection.wait_for(id_=2)["result"]["structuredContent"] == {"result": "decline"}
    connection.end()
    assert connection.failure is None


def test_a_malformed_answer_to_the_servers_question_is_dropped() -> None:
    connection = Connection(talkative())
    connection.say(INITIALIZE)
    connection.say(call(2, "ask"))
    question = connection.wait_for("elicitation/create")
    connection.say({"id": question["id"], "result": "not an object"})
    connection.say(call(3, "identify"))
    assert connection.wait_for(id_=3)["result"]["structuredContent"] == {"result": "3"}
    connection.end()


def test_the_server_sees_the_clients_request_ids() -> None:
    connection = Connection(talkative())
    connection.say(INITIALIZE)
    connection.say(call(77, "identify"))
    assert connection.wait_for(id_=77)["result"]["structuredContent"] == {"result": "77"}
    connection.end()


def test_a_server_that_was_not_hardened_still_sends_kinds_and_no_unmapped_text() -> None:
    app: FastMCP[Any] = FastMCP("plain", version="1")

    async def fail(ctx: Any, call_next: Any) -> dict[str, Any]:
        raise ValueError("secret")

    low = app._mcp_server
    low.middleware.insert(0, fail)
    connection = Connection(app)
    connection.say(INITIALIZE)
    error = connection.wait_for(id_="init")["error"]
    assert (error["code"], error["data"]) == (-32603, {"kind": "internal_error"})
    assert "secret" not in json.dumps(error)
    connection.end()


def test_a_lifespan_that_fails_at_the_end_comes_out() -> None:
    @asynccontextmanager
    async def lifespan(_app: FastMCP[Any]) -> AsyncIterator[None]:
        yield
        raise RuntimeError("could not close")

    connection = Connection(harden(FastMCP("plain", version="1", lifespan=lifespan)))
    connection.say(INITIALIZE)
    connection.wait_for(id_="init")
    connection.end()
    assert isinstance(connection.failure, RuntimeError)


def test_a_bridge_stopped_before_it_ran_ends_at_once() -> None:
    session = Session(None)
    bridge = Bridge(talkative(), session, Outbox(lambda _line: None, lambda: None), lambda: None)
    bridge.stop()
    bridge.run()

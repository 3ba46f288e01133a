"""What depends on the address a connection came in on, which a loopback socket cannot show."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

from mcpkit.cli import UsageError
from mcpkit.http import application
from mcpkit.http.endpoint import Endpoint

pytestmark = pytest.mark.anyio


async def test_a_foreign_address_takes_any_host_but_no_foreign_origin(stand_in: Any, make_asgi: Any) -> None:
    async with application(stand_in, base_path="/mcp") as app:
        asgi = make_asgi(app)
        for path in ("/mcp", "/mcp/", "//mcp//", "/a/../mcp"):
            assert (await asgi.ask(path=path, local="192.0.2.1", headers={"Host": "x.example"})).status == 200
        refused = await asgi.ask(path="/mcp", local="192.0.2.1", headers={"Origin": "http://localhost"})
        assert (refused.status, refused.error) == (403, (-32600, "origin_not_allowed"))
        assert (await asgi.ask(path="/")).status == 404


async def test_allowed_hosts_turn_the_check_on_everywhere(stand_in: Any, make_asgi: Any) -> None:
    async with application(stand_in, allow_hosts=["a.example"], allow_origins=["https://a.example"]) as app:
        asgi = make_asgi(app)
        for local in ("127.0.0.1", "::1", "192.0.2.1"):
            good = {"Host": "a.example:80", "Origin": "https://a.example"}
            assert (await asgi.ask(local=local, headers=good)).status == 200
            assert (await asgi.ask(local=local, headers={"Host": "b.example"})).error[1] == "host_not_allowed"
            assert (await asgi.ask(local=local, headers={"Host": None})).status == 403


async def test_a_connection_of_unknown_address_counts_as_foreign(stand_in: Any, make_asgi: Any) -> None:
    async with application(stand_in) as app:
        asgi = make_asgi(app)
        assert (await asgi.ask(local=None, headers={"Host": "x.example"})).status == 200
        assert (await asgi.ask(local=None, headers={"Origin": "http://localhost"})).status == 403


async def test_malformed_allowances_stop_the_start(stand_in: Any) -> None:
    with pytest.raises(UsageError):
        async with application(stand_in, allow_hosts=["http://x"]):
            pass


async def test_a_body_in_pieces_is_put_together(stand_in: Any, make_asgi: Any) -> None:
    async with application(stand_in) as app:
        pieces = [b'{"jsonrpc":"2.0",', b"", b'"id":1,"method":"ping"}']
        assert (await make_asgi(app).ask(pieces=pieces)).json["id"] == 1


async def test_an_abandoned_endpoint_answers_what_waits_and_what_comes(stand_in: Any, make_asgi: Any) -> None:
    async with application(stand_in) as app:
        asgi = make_asgi(app)
        arguments = {"name": "hold", "arguments": {"name": "waiting"}}
        held = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
        answers = []

        async def ask() -> None:
            answers.append(await asgi.ask(body=held))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            app.abandon()
            app.abandon()
        answers.append(await asgi.ask(body=held))
        assert [(each.status, each.error) for each in answers] == [(503, (-32603, "shutting_down"))] * 2
        await anyio.wait_all_tasks_blocked()
        assert app.unfinished == 0


async def test_the_endpoint_takes_part_in_a_lifespan_and_ignores_websockets(stand_in: Any) -> None:
    async with application(stand_in) as app:
        assert isinstance(app, Endpoint)
        events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent: list[Any] = []

        async def receive() -> Any:
            return events.pop(0)

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)
        await app({"type": "websocket"}, receive, send)
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_server_with_authentication_is_not_served_without_it() -> None:
    guarded: FastMCP[Any] = FastMCP(
        "guarded", auth=StaticTokenVerifier({"t": {"client_id": "c", "scopes": []}})
    )
    with pytest.raises(ValueError):
        async with application(guarded):
            pass

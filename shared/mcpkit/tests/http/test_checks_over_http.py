"""Every check of the endpoint over a real connection: status, code and kind."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpkit.testing import HttpClient

pytestmark = pytest.mark.anyio

Exchange = Callable[..., Awaitable[bytes]]


async def test_a_call_needs_no_initialize_and_gets_no_session(
    client: HttpClient, call: dict[str, Any]
) -> None:
    response = await client.post(call)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert "mcp-session-id" not in response.headers
    assert response.json()["result"]["structuredContent"] == {"entities": ["Boat"]}


@pytest.mark.parametrize(
    ("requested", "negotiated"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
        (None, "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
async def test_initialize_negotiates_a_version_without_a_session(
    client: HttpClient, requested: Any, negotiated: str
) -> None:
    outcome = await client.initialize(requested)
    assert outcome.result["protocolVersion"] == negotiated
    assert outcome.result["capabilities"] == {"tools": {}}
    assert outcome.result["serverInfo"] == {"name": "stand-in", "version": "1.2.3"}


async def test_initialize_with_empty_params_is_answered(client: HttpClient) -> None:
    outcome = await client.request("initialize", {})
    assert outcome.result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS", "PATCH", "DELETE", "TRACE", "BREW"])
@pytest.mark.parametrize("accept", ["text/event-stream", "text/html"])
async def test_every_method_but_post_is_refused_with_allow(
    client: HttpClient, method: str, accept: str
) -> None:
    response = await client.http.request(
        method, client.url, headers={"Accept": accept, "Mcp-Session-Id": "x"}
    )
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["error"]["data"]["kind"] == "method_not_allowed"


async def test_head_is_refused_without_a_body(client: HttpClient) -> None:
    response = await client.http.head(client.url)
    assert (response.status_code, response.headers["allow"], response.content) == (405, "POST", b"")


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"Host": "evil.example"}, 403, "host_not_allowed"),
        ({"Host": ""}, 403, "host_not_allowed"),
        ({"Origin": "http://evil.example"}, 403, "origin_not_allowed"),
        ({"Origin": "null"}, 403, "origin_not_allowed"),
        ({"Content-Type": None}, 415, "unsupported_media_type"),
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({"Accept": None}, 400, "not_acceptable"),
        ({"Accept": "text/html"}, 400, "not_acceptable"),
        ({"Accept": "application/json"}, 400, "not_acceptable"),
        ({"MCP-Protocol-Version": "2020-01-01"}, 400, "unsupported_protocol_version"),
        ({"MCP-Protocol-Version": "x" * 500}, 400, "unsupported_protocol_version"),
        ({"Last-Event-ID": "1"}, 400, "resumption_not_supported"),
    ],
)
async def test_a_refused_header_has_its_status_and_kind(
    client: HttpClient, call: dict[str, Any], headers: dict[str, str | None], status: int, kind: str
) -> None:
    client.http.headers.pop("accept", None)
    response = await client.post(call, headers)
    assert response.status_code == status
    answer = response.json()
    assert (answer["jsonrpc"], answer["id"], answer["error"]["data"]["kind"]) == ("2.0", None, kind)


async def test_checks_come_in_the_documented_order(client: HttpClient) -> None:
    """Each request breaks every rule from a certain one on; the first of them answers."""
    broken: dict[str, str | None] = {
        "Host": "evil.example",
        "Origin": "null",
        "Content-Type": "text/plain",
        "Accept": "text/html",
        "MCP-Protocol-Version": "2020-01-01",
        "Last-Event-ID": "1",
    }
    kinds = []
    for name in list(broken):
        kinds.append((await client.post(b"{", broken)).json()["error"]["data"]["kind"])
        del broken[name]
    kinds.append((await client.post(b"{", broken)).json()["error"]["data"]["kind"])
    assert kinds == [
        "host_not_allowed",
        "origin_not_allowed",
        "unsupported_media_type",
        "not_acceptable",
        "unsupported_protocol_version",
        "resumption_not_supported",
        "parse_error",
    ]


async def test_an_unsupported_version_names_the_supported_ones(
    client: HttpClient, call: dict[str, Any]
) -> None:
    error = (await client.post(call, {"MCP-Protocol-Version": "2020-01-01"})).json()["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "2020-01-01"
    assert error["data"]["supported"][0] == "2026-07-28"
    assert "2024-11-05" in error["data"]["supported"]
    odd = (await client.post(call, {"MCP-Protocol-Version": "<secret>"})).json()
    assert "secret" not in json.dumps(odd)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "", None])
async def test_every_handshake_version_header_is_served(
    client: HttpClient, call: dict[str, Any], version: str | None
) -> None:
    response = await client.post(call, {"MCP-Protocol-Version": version})
    assert response.json()["result"]["structuredContent"] == {"entities": ["Boat"]}


async def test_a_clients_session_id_is_ignored(client: HttpClient, call: dict[str, Any]) -> None:
    response = await client.post(call, {"Mcp-Session-Id": "made-up"})
    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers


async def test_loopback_origins_and_hosts_pass(client: HttpClient, call: dict[str, Any]) -> None:
    response = await client.post(call, {"Origin": "http://localhost:6274", "Host": "127.0.0.2:1"})
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["//", "/.", "/%2e", "/x", "/mcp"])
async def test_other_paths_are_not_found(at_socket: Exchange, path: str) -> None:
    """Written by hand: an HTTP client would shorten the path."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert (await at_socket(head.encode())).startswith(b"HTTP/1.1 404 ")


async def test_a_query_does_not_change_the_path(client: HttpClient, call: dict[str, Any]) -> None:
    client.url += "?a=1"
    assert (await client.post(call)).status_code == 200


async def test_health_answers_get_and_head_only(client: HttpClient) -> None:
    url = client.url + "healthz"
    healthy = await client.http.get(url, headers={"Host": "probe.example"})
    assert (healthy.status_code, healthy.text) == (200, "ok\n")
    assert (await client.http.head(url)).status_code == 200
    refused = await client.http.post(url)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


async def test_an_absolute_target_is_checked_by_its_own_host(
    at_socket: Exchange, call: dict[str, Any]
) -> None:
    body = json.dumps(call).encode()
    rest = (
        b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: */*\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    good = await at_socket(b"POST http://127.0.0.1/" + rest + body)
    assert good.startswith(b"HTTP/1.1 200 ")
    evil = await at_socket(b"POST http://evil.example/" + rest + body)
    assert evil.startswith(b"HTTP/1.1 403 ")


async def test_an_http_1_0_request_without_host_is_refused(at_socket: Exchange) -> None:
    answer = await at_socket(b"POST / HTTP/1.0\r\nContent-Type: application/json\r\nAccept: */*\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")


async def test_what_is_no_http_gets_a_400_and_no_more(at_socket: Exchange) -> None:
    assert (await at_socket(b"\x16\x03\x01 nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def test_pipelined_requests_are_answered_in_order(at_socket: Exchange) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
    parts = []
    for number, close in ((1, b""), (2, b"Connection: close\r\n")):
        body = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number
        parts.append(head + close + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    answer = await at_socket(b"".join(parts))
    assert answer.index(b'"id":1') < answer.index(b'"id":2')
    assert answer.count(b"HTTP/1.1 200 ") == 2


async def test_a_refused_connection_can_be_used_again_where_there_was_no_body(
    client: HttpClient, call: dict[str, Any]
) -> None:
    refused = await client.http.get(client.url)
    assert "connection" not in refused.headers
    assert (await client.post(call)).status_code == 200

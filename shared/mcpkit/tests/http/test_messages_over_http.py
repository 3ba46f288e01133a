"""What a POST's message is answered with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpkit.testing import HttpClient

pytestmark = pytest.mark.anyio


def request(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 5, "method": "ping", **members}


DEEP = b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":' + b"[" * 2000 + b"]" * 2000 + b"}}"


@pytest.mark.parametrize(
    ("body", "id_", "code", "kind"),
    [
        (b"", None, -32700, "parse_error"),
        (b"   ", None, -32700, "parse_error"),
        (b"{nope", None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} xx', None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}', None, -32700, "parse_error"),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', None, -32700, "parse_error"),
        (b"5", None, -32600, "invalid_request"),
        (b"null", None, -32600, "invalid_request"),
        (b'{"id":1,"method":"ping"}', 1, -32600, "invalid_request"),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, -32600, "invalid_request"),
        (b'{"JSONRPC":"2.0","id":1,"method":"ping"}', 1, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', None, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1}', 1, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 1, -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 1, -32602, "invalid_params"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}', 1, -32602, "invalid_params"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
            1,
            -32602,
            "invalid_params",
        ),
        (DEEP, 9, -32600, "too_deep"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 1, -32602, "invalid_params"),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', 1, -32602, "invalid_params"),
        (b'{"jsonrpc":"2.0","id":1,"method":"nope"}', 1, -32601, "method_not_found"),
        (b'{"jsonrpc":"2.0","method":"notifications/nope"}', None, -32601, "method_not_found"),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}', None, -32600, "missing_id"),
        (b'{"jsonrpc":"2.0","id":4,"method":"notifications/initialized"}', 4, -32600, "unexpected_id"),
        (
            b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}',
            None,
            -32602,
            "invalid_params",
        ),
    ],
)
async def test_a_message_that_cannot_be_served_is_a_400_with_a_coded_error(
    client: HttpClient, body: bytes, id_: Any, code: int, kind: str
) -> None:
    response = await client.post(body)
    answer = response.json()
    assert response.status_code == 400
    assert (answer["id"], answer["error"]["code"], answer["error"]["data"]["kind"]) == (id_, code, kind)


@pytest.mark.parametrize("id_", ["abc", "", 0, -1, 9007199254740993, 10**40, "\u00e9\u4e2d"])
async def test_ids_are_echoed_exactly(client: HttpClient, id_: str | int) -> None:
    answer = json.loads((await client.post(request(id=id_))).content)
    assert answer == {"jsonrpc": "2.0", "id": id_, "result": {}}
    assert type(answer["id"]) is type(id_)


async def test_duplicate_and_unknown_members_are_harmless(client: HttpClient) -> None:
    response = await client.post(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","x":{"y":1}}\r\n ')
    assert response.json() == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_notifications_and_responses_are_accepted_without_an_answer(
    client: HttpClient, message: dict[str, Any]
) -> None:
    response = await client.post(message)
    assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize(
    ("message", "code", "kind"),
    [
        (request(method="resources/list", params={}), -32601, "method_not_found"),
        (request(method="completion/complete", params={}), -32602, "invalid_params"),
        (request(method="tools/call", params={"name": "nope"}), -32602, None),
        (request(method="tools/call", params={}), -32602, "invalid_params"),
        (request(method="tools/call", params={"name": 5}), -32602, "invalid_params"),
        (request(method="tools/call", params={"name": "echo", "arguments": []}), -32602, "invalid_params"),
    ],
)
async def test_an_error_of_a_served_request_comes_with_200(
    client: HttpClient, message: dict[str, Any], code: int, kind: str | None
) -> None:
    response = await client.post(message)
    assert response.status_code == 200
    error = response.json()["error"]
    assert (error["code"], error["data"].get("kind")) == (code, kind)


async def test_null_params_and_arguments_count_as_absent(client: HttpClient) -> None:
    assert (await client.post(request(method="tools/list", params=None))).status_code == 200
    listed = await client.request("tools/call", {"name": "entity_list", "arguments": None})
    assert listed.structured == {"entities": ["Boat"]}


@pytest.mark.parametrize(
    ("how", "code", "kind"),
    [
        ("request", -32602, "unknown_thing"),
        ("surprise", -32603, "internal_error"),
    ],
)
async def test_a_tool_that_fails_the_request_gets_a_coded_error(
    client: HttpClient, how: str, code: int, kind: str
) -> None:
    outcome = await client.call("fail", {"how": how})
    assert (outcome.code, outcome.kind) == (code, kind)
    assert "secret" not in repr(outcome)


async def test_a_tool_that_fails_the_call_gets_a_structured_result(client: HttpClient) -> None:
    outcome = await client.call("fail", {"how": "tool"})
    assert outcome.tool_error == {"kind": "not_now", "message": "try again"}


@pytest.mark.parametrize("how", ["not_a_number", "surrogate"])
async def test_a_result_that_json_cannot_carry_is_an_error_and_the_server_goes_on(
    client: HttpClient, how: str
) -> None:
    outcome = await client.call("fail", {"how": how})
    assert outcome.code == -32603
    assert outcome.kind is not None
    assert (await client.request("ping")).ok


async def test_a_tool_that_cancels_itself_is_a_coded_error(client: HttpClient) -> None:
    response = await client.post(
        request(method="tools/call", params={"name": "fail", "arguments": {"how": "cancel"}})
    )
    assert response.json()["error"]["code"] == -32603
    assert response.json()["error"]["data"]["kind"] == "internal_error"


async def test_tools_see_the_http_request(client: HttpClient) -> None:
    response = await client.post(
        request(method="tools/call", params={"name": "request_header", "arguments": {"name": "x-test"}}),
        {"X-Test": "here"},
    )
    assert response.json()["result"]["structuredContent"] == {"text": "here"}


async def test_text_beyond_ascii_comes_back_as_utf_8(client: HttpClient) -> None:
    outcome = await client.call("echo", {"text": "\u00fc\u4e2d\U0001f600"})
    assert outcome.structured == {"text": "\u00fc\u4e2d\U0001f600"}


def item(id_: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "ping", **members}


@pytest.mark.parametrize("version", [None, "", "2025-03-26", "2024-11-05"])
async def test_a_batch_is_answered_as_an_array(client: HttpClient, version: str | None) -> None:
    response = await client.post([item(1), item("x")], {"MCP-Protocol-Version": version})
    assert response.status_code == 200
    assert sorted(response.json(), key=lambda reply: str(reply["id"])) == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "result": {}},
    ]


async def test_a_batch_of_one_is_an_array_too(client: HttpClient) -> None:
    assert (await client.post([item(1)])).json() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_later_versions_have_no_batches(client: HttpClient, version: str) -> None:
    response = await client.post([item(1)], {"MCP-Protocol-Version": version})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32600
    assert response.json()["error"]["data"]["kind"]


@pytest.mark.parametrize(
    ("body", "kind"), [(b"[]", "empty_batch"), (b"[" + b"1," * 1000 + b"1]", "batch_too_large")]
)
async def test_an_empty_or_endless_batch_is_refused(client: HttpClient, body: bytes, kind: str) -> None:
    response = await client.post(body)
    assert (response.status_code, response.json()["error"]["data"]["kind"]) == (400, kind)


async def test_a_batch_without_requests_has_no_answer(client: HttpClient) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = await client.post([note, {"jsonrpc": "2.0", "id": 1, "result": {}}, note])
    assert (response.status_code, response.content) == (202, b"")


async def test_each_faulty_item_of_a_batch_has_an_error_of_its_own(client: HttpClient) -> None:
    initialize = item(3, method="initialize", params={"protocolVersion": "2025-03-26"})
    response = await client.post([
        item(1),
        5,
        item(1),
        initialize,
        item(4, method="nope"),
        item(6, params=[]),
    ])
    kinds = [reply.get("error", {}).get("data", {}).get("kind") for reply in response.json()]
    ids = [reply["id"] for reply in response.json()]
    assert response.status_code == 200
    assert list(zip(ids, kinds, strict=True)) == [
        (1, None),
        (None, "invalid_request"),
        (1, "duplicate_id"),
        (3, "initialize_in_batch"),
        (4, "method_not_found"),
        (6, "invalid_params"),
    ]


ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def modern(method: str, **headers: str) -> dict[str, str]:
    return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **headers}


async def test_the_2026_revision_is_discovered_without_a_handshake(client: HttpClient) -> None:
    response = await client.post(
        request(method="server/discover", params=ENVELOPE), modern("server/discover")
    )
    result = response.json()["result"]
    assert response.status_code == 200
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == {"tools": {"listChanged": False}}


async def test_the_2026_revision_calls_tools(client: HttpClient) -> None:
    message = request(method="tools/call", params={"name": "entity_list", "arguments": {}, **ENVELOPE})
    response = await client.post(message, modern("tools/call", **{"Mcp-Name": "entity_list"}))
    assert response.json()["result"]["structuredContent"] == {"entities": ["Boat"]}
    assert response.json()["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    ("message", "headers", "status", "code", "kind"),
    [
        (
            request(method="tools/list", params=ENVELOPE),
            {"MCP-Protocol-Version": None},
            400,
            -32020,
            "header_mismatch",
        ),
        (
            request(method="tools/list", params=ENVELOPE),
            {"MCP-Protocol-Version": "2025-11-25"},
            400,
            -32020,
            "header_mismatch",
        ),
        (request(method="tools/list", params=ENVELOPE), modern("tools/call"), 400, -32020, "header_mismatch"),
        (request(method="tools/list"), modern("tools/list"), 400, -32602, "invalid_params"),
        (request(method="nope", params=ENVELOPE), modern("nope"), 404, -32601, "method_not_found"),
        (request(method="ping", params=ENVELOPE), modern("ping"), 404, -32601, "method_not_found"),
        (request(id=1.5, params=ENVELOPE), modern("ping"), 400, -32600, "invalid_request"),
    ],
)
async def test_errors_of_the_2026_revision_have_a_kind_too(
    client: HttpClient, message: Any, headers: dict[str, str | None], status: int, code: int, kind: str
) -> None:
    response = await client.post(message, headers)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["data"]["kind"]) == (status, code, kind)


async def test_an_unknown_version_in_the_envelope_is_refused_with_the_id_of_the_request(
    client: HttpClient,
) -> None:
    envelope = {"_meta": {**ENVELOPE["_meta"], "io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
    response = await client.post(
        request(method="server/discover", params=envelope),
        modern("server/discover", **{"MCP-Protocol-Version": "2099-01-01"}),
    )
    answer = response.json()
    assert (response.status_code, answer["id"], answer["error"]["code"]) == (400, 5, -32022)
    assert answer["error"]["data"] == {
        "kind": "unsupported_protocol_version",
        "supported": ["2026-07-28"],
        "requested": "2099-01-01",
    }


async def test_an_unknown_version_without_an_envelope_is_refused_all_the_same(client: HttpClient) -> None:
    response = await client.post(
        request(method="tools/list"), modern("tools/list", **{"MCP-Protocol-Version": "2099-01-01"})
    )
    assert response.status_code == 400
    assert response.json()["error"]["data"]["kind"] == "unsupported_protocol_version"


async def test_a_notification_of_the_2026_revision_is_accepted(client: HttpClient) -> None:
    response = await client.post({"jsonrpc": "2.0", "method": "notifications/x"}, modern("notifications/x"))
    assert (response.status_code, response.content) == (202, b"")

"""The recorded HTTP exchanges, replayed byte by byte.

The recorded reference server refuses with a line of plain text; here every 4xx on the MCP path has a JSON-RPC error
with `data.kind` as body. Beyond that each difference stands in `DEVIATIONS` with its reason: the MCP specification, or
JSON-RPC, asks for something else, or the project has settled it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
import pytest

from mcpkit.testing import HttpClient

pytestmark = pytest.mark.anyio

VECTORS: Final = Path(__file__).parents[1] / "vectors" / "http.json"


class Expected(NamedTuple):
    """What is answered instead, and why."""

    why: str
    status: int
    reply: Any = None


def result(id_: Any) -> dict[str, Any]:
    return {"id": id_, "result": True}


def error(id_: Any, code: int) -> dict[str, Any]:
    return {"id": id_, "error": {"code": code}}


ONLY_POST = (
    "settled: every method but POST is 405, whatever Accept says, DELETE too; there are no sessions to end"
)
ONLY_TOOLS = (
    "the server advertises tools only, and a method of a capability not offered is -32601 (JSON-RPC, 5.1)"
)
NO_TRAILING = "settled: a body is one JSON value; text after it is -32700"
NO_NULL_CODE = "JSON-RPC reserves no error code 0; params of the wrong shape are -32602 (JSON-RPC, 5.1)"
ARGUMENTS = "the MCP schema has arguments as an object; anything else is params that do not fit, -32602"
ARRAYS = "settled: the answer to a batch is always an array (JSON-RPC, 6)"
ORIGINS = "the MCP transport page requires an invalid Origin to be refused with 403"

DEVIATIONS: Final[dict[str, Expected]] = {
    **{
        name: Expected(ONLY_POST, 405)
        for name in ("get no accept", "get json accept", "delete", "delete with session", "options")
    },
    "trailing": Expected(NO_TRAILING, 400, error(None, -32700)),
    "two objects": Expected(NO_TRAILING, 400, error(None, -32700)),
    "id float": Expected("settled: an id is a string or an integer", 400, error(None, -32600)),
    "id huge": Expected("settled: integer ids are echoed exactly", 200, result(9007199254740993)),
    "null params tools/call": Expected(
        "null counts as absent, and a call without params is refused as the one next to it is; the code for params "
        "that do not fit is -32602 (JSON-RPC, 5.1)",
        400,
        error(5, -32602),
    ),
    "array params": Expected(
        "MCP params are an object: the message is refused before it is served, with -32602",
        400,
        error(5, -32602),
    ),
    "args array": Expected(ARGUMENTS, 200, error(5, -32602)),
    "args string": Expected(ARGUMENTS, 200, error(5, -32602)),
    "name number": Expected(NO_NULL_CODE, 200, error(5, -32602)),
    **{
        name: Expected(ONLY_TOOLS, 200, error(6, -32601))
        for name in (
            "resources/list",
            "prompts/list",
            "resources/templates/list",
            "resources/read",
            "prompts/get",
            "logging/setLevel",
        )
    },
    "logging bad level": Expected(
        ONLY_TOOLS + "; the framework checks params of known methods first", 200, error(6, -32602)
    ),
    "batch 2025-03-26": Expected(ARRAYS, 200, [result(2)]),
    "batch single": Expected(ARRAYS, 200, [result(2)]),
    "batch dup id": Expected(
        "no request goes unanswered: the second use of an id is -32600 (MCP: ids must be unique)",
        200,
        [result(2), error(2, -32600)],
    ),
    "batch with init": Expected(
        "MCP 2025-03-26, lifecycle: initialize must not be part of a batch",
        200,
        [error(1, -32600), result(2)],
    ),
    "origin evil": Expected(ORIGINS, 403),
    "origin null": Expected(ORIGINS, 403),
}


def _cases() -> list[Any]:
    sessions = json.loads(VECTORS.read_text(encoding="utf-8"))["sessions"]
    return [
        pytest.param(session["name"], session["args"], case, id=f"{session['name']}-{case['name']}")
        for session in sessions
        for case in session["cases"]
    ]


@pytest.mark.parametrize(("session", "args", "case"), _cases())
async def test_an_exchange_ends_as_recorded_or_as_listed(
    served: Callable[[str, list[str]], Awaitable[HttpClient]],
    session: str,
    args: list[str],
    case: dict[str, Any],
) -> None:
    client = await served(session, args)
    port = int(client.url.split(":")[2].split("/")[0])
    status, headers, body = await exchange(port, case)

    reference = case["reference"]
    deviation = DEVIATIONS.get(case["name"])
    expected_status = deviation.status if deviation else reference["status"]
    assert status == expected_status
    if status == 405:
        assert headers["allow"] == "POST"
    assert "mcp-session-id" not in headers
    if 400 <= status < 500 and status != 404 and case["method"] != "HEAD":
        answer = json.loads(body)
        assert answer["jsonrpc"] == "2.0"
        assert isinstance(answer["error"]["code"], int)
        assert answer["error"]["data"]["kind"]
    if status == 202:
        assert body == b""
    expected = deviation.reply if deviation else reference.get("reply")
    if expected is not None:
        assert headers["content-type"] == "application/json"
        assert headers["cache-control"] == "no-cache, no-transform"
        assert reduced(json.loads(body)) == expected


def test_every_listed_deviation_is_one() -> None:
    recorded = {param.values[2]["name"]: param.values[2]["reference"] for param in _cases()}
    assert DEVIATIONS.keys() <= recorded.keys()
    for name, expected in DEVIATIONS.items():
        reference = recorded[name]
        assert (expected.status, expected.reply) != (reference["status"], reference.get("reply")), name


def reduced(reply: Any) -> Any:
    """A reply as the vectors have it: the id, and that there is a result or which code the error has."""
    if isinstance(reply, list):
        return [reduced(each) for each in reply]
    if "result" in reply:
        return {"id": reply["id"], "result": True}
    return {"id": reply["id"], "error": {"code": reply["error"]["code"]}}


async def exchange(port: int, case: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Write the request by hand, because an HTTP client would mend it, and read the answer to its end."""
    body = case["body"]
    if body is None:
        content = b""
    else:
        content = body.encode("utf-8") if isinstance(body, str) else json.dumps(body).encode("ascii")
    headers = {"Host": "127.0.0.1", **case["headers"], "Connection": "close"}
    if body is not None:
        headers["Content-Length"] = str(len(content))
    lines = [
        f"{case['method']} {case['path']} HTTP/1.1",
        *(f"{name}: {text}" for name, text in headers.items()),
    ]
    answer = b""
    with anyio.fail_after(30):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content)
            try:
                while True:
                    answer += await stream.receive()
            except anyio.EndOfStream:
                pass
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    names = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    return int(first.split(" ")[1]), names, rest

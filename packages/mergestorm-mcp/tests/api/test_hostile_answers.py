"""A service that means harm: bombs, cookies, and JSON that the next program cannot follow."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mergestorm_mcp.api.client import MAX_REPLY_BYTES, Api, Connections, parse_retry_after
from mergestorm_mcp.clock import SystemClock
from mergestorm_mcp.errors import CommandError, ConnectionFailed

pytestmark = pytest.mark.anyio
KEY = "msk_live_canary_0123456789abcdef"


@pytest.fixture
async def ask(raw_service: Any, answer: Callable[..., bytes]) -> AsyncIterator[Any]:
    """`await ask(body, *headers)` is the client's reply to an answer; `ask.requests` are the heads it sent."""
    told: dict[str, bytes] = {}

    async def handler(stream: Any, _number: int) -> None:
        await stream.send(told["answer"])

    async with raw_service(handler) as service, Connections() as connections:
        api = Api(connections, service.base, KEY, SystemClock())

        async def get(body: bytes, *headers: str) -> Any:
            told["answer"] = answer(200, body, *headers)
            return await api.get("/api/v1/me")

        get.requests = service.requests  # type: ignore[attr-defined]
        yield get


async def test_an_answer_that_was_compressed_all_the_same_is_read(ask: Any) -> None:
    body = b'{"a": 1}'
    for packed, coding in ((gzip.compress(body), "gzip"), (zlib.compress(body), "deflate")):
        assert (await ask(packed, f"Content-Encoding: {coding}")).body == {"a": 1}
    assert (await ask(b"", "Content-Encoding: gzip")).body == ""


async def test_a_compressed_answer_takes_no_more_memory_than_an_honest_one(ask: Any) -> None:
    bomb = gzip.compress(bytes(8 * MAX_REPLY_BYTES), 9)
    tracemalloc.start()
    try:
        with pytest.raises(CommandError) as caught:
            await ask(bomb, "Content-Encoding: gzip")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (caught.value.code, type(caught.value)) == (None, CommandError)
    assert peak < 3 * MAX_REPLY_BYTES


@pytest.mark.parametrize("coding", ["gzip, gzip", "gzip,deflate", "br", "zstd", "x"])
async def test_nothing_is_unpacked_twice_or_in_ways_nobody_asked_for(ask: Any, coding: str) -> None:
    with pytest.raises(ConnectionFailed):
        await ask(gzip.compress(gzip.compress(b"{}")), f"Content-Encoding: {coding}")


async def test_half_a_compressed_answer_is_none(ask: Any) -> None:
    with pytest.raises(ConnectionFailed):
        await ask(gzip.compress(b'{"a": 1}')[:-9], "Content-Encoding: gzip")


async def test_a_cookie_is_not_sent_back(ask: Any) -> None:
    await ask(b"{}", "Set-Cookie: run=1; Path=/")
    await ask(b"{}")
    assert len(ask.requests) == 2
    assert "cookie:" not in ask.requests[1].lower()


@pytest.mark.parametrize(
    "body",
    [
        b'{"retry_after_seconds": 1' + b"0" * 400 + b"}",
        b'{"used": -1' + b"0" * 30 + b"}",
        b"[" * 70 + b"]" * 70,
        b'{"a":' * 300 + b"1" + b"}" * 300,
    ],
    ids=["a number beyond floats", "a number beyond integers", "deep lists", "deep objects"],
)
async def test_json_that_other_programs_cannot_follow_is_text(ask: Any, body: bytes) -> None:
    reply = await ask(body)
    assert (reply.body, reply.retry_after) == (body.decode(), None)


async def test_what_a_service_may_honestly_send_is_still_read(ask: Any) -> None:
    deep: Any = 2**63
    for _ in range(60):
        deep = [deep]
    assert (await ask(json.dumps(deep).encode())).body == deep


@pytest.mark.parametrize("escaped", [KEY[:1], KEY], ids=["one letter", "all of it"])
async def test_a_key_written_in_escapes_is_hidden_too(ask: Any, escaped: str) -> None:
    spelled = "".join(f"\\u{ord(letter):04x}" for letter in escaped) + KEY[len(escaped) :]
    for body in (f'{{"message": "{spelled}", "{spelled}": 1}}', f'"{spelled}"'):
        assert KEY not in repr((await ask(body.encode())).body)


def test_a_delay_larger_than_any_float_is_none() -> None:
    assert parse_retry_after(10**400, 0.0) is None

"""One call to the service: deadlines, connections, the key, and answers that are none."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx
import pytest

from mergestorm_mcp.api.client import _WRITE_ADVICE, MAX_REPLY_BYTES, Api, Connections
from mergestorm_mcp.api.paths import resource
from mergestorm_mcp.clock import SystemClock
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout

pytestmark = pytest.mark.anyio
KEY = "msk_live_canary_0123456789abcdef"


@pytest.fixture
async def connections() -> AsyncIterator[Connections]:
    async with Connections() as made:
        yield made


@pytest.fixture
def api_of(connections: Connections) -> Callable[[str], Api]:
    return lambda base: Api(connections, base, KEY, SystemClock())


async def test_key_and_json_are_sent_and_json_comes_back(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(201, b'{"a": [1, null]}'))

    async with raw_service(handler) as service:
        reply = await api_of(service.base).post("/api/v1/x", {"b": "ä"})
    assert (reply.status, reply.body, reply.retry_after) == (201, {"a": [1, None]}, None)
    head = service.requests[0].lower()
    assert head.startswith("post /api/v1/x http/1.1")
    assert f"authorization: bearer {KEY}" in head
    assert "content-type: application/json" in head
    assert json.loads(service.bodies[0]) == {"b": "ä"}


async def test_a_keyless_call_sends_no_authorization(
    raw_service: Any, connections: Connections, answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, b"{}"))

    async with raw_service(handler) as service:
        await Api(connections, service.base, None, SystemClock()).get("/")
    assert "authorization" not in service.requests[0].lower()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>gate</html>",
        b"",
        b"[NaN]",
        b"[1e999]",
        b"[" * 200_000,
        b"9" * 5000,
        b"\xff\xfe",
        b'{"a": Infinity}',
    ],
)
async def test_what_is_not_json_stays_text(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes], body: bytes
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, body))

    async with raw_service(handler) as service:
        reply = await api_of(service.base).get("/")
    assert reply.body == body.decode("utf-8", "replace")
    assert reply.member("a") is None


async def test_lone_surrogates_never_get_further(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, rb'{"a": "\ud800x", "\uD801": "\ud83d\ude00"}'))

    async with raw_service(handler) as service:
        reply = await api_of(service.base).get("/")
    assert reply.body == {"a": "?x", "?": "😀"}


async def test_401_is_auth_invalid_for_any_method(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(401, b'{"message": "x"}'))

    async with raw_service(handler) as service:
        for method in ("GET", "POST", "PATCH"):
            with pytest.raises(CommandError) as refused:
                await api_of(service.base).request(method, "/", body=None if method == "GET" else {})
            assert (refused.value.code, refused.value.exit_code) == ("auth_invalid", 1)


async def test_a_service_that_never_answers_is_a_timeout(
    raw_service: Any, api_of: Callable[[str], Api]
) -> None:
    async def handler(_stream: Any, _number: int) -> None:
        await anyio.sleep_forever()

    async with raw_service(handler) as service:
        with pytest.raises(RequestTimeout) as late:
            await api_of(service.base).get("/", seconds=0.2)
        with anyio.fail_after(5):
            await service.gone.wait()
    assert late.value.code == "api_timeout"
    assert late.value.message.startswith("Request timed out after 0.2s")


async def test_a_service_that_dribbles_is_a_timeout_too(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        for byte in answer(200, b" " * 100_000):
            await stream.send(bytes([byte]))
            await anyio.sleep(0.01)

    async with raw_service(handler) as service:
        with pytest.raises(RequestTimeout):
            await api_of(service.base).get("/", seconds=0.3)


async def test_a_cancelled_call_closes_its_connection(raw_service: Any, api_of: Callable[[str], Api]) -> None:
    async def handler(_stream: Any, _number: int) -> None:
        await anyio.sleep_forever()

    async with raw_service(handler) as service:
        async with anyio.create_task_group() as group:
            group.start_soon(api_of(service.base).get, "/")
            await service.asked.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(1):
            await service.gone.wait()


async def test_an_endless_reply_is_given_up(raw_service: Any, api_of: Callable[[str], Api]) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"%x\r\n" % 2**20 + b"x" * 2**20 + b"\r\n"
        while True:
            await stream.send(piece)

    async with raw_service(handler) as service:
        with pytest.raises(CommandError) as refused:
            await api_of(service.base).get("/")
    assert refused.value.code is None
    assert str(MAX_REPLY_BYTES // 2**20) in refused.value.message


async def test_a_redirect_is_an_answer_and_nobody_else_sees_the_key(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def elsewhere(stream: Any, _number: int) -> None:
        await stream.send(answer(200, b"{}"))

    async with raw_service(elsewhere) as other:

        async def handler(stream: Any, _number: int) -> None:
            await stream.send(answer(307, b"", f"Location: {other.base}/taken"))

        async with raw_service(handler) as service:
            reply = await api_of(service.base).get("/")
    assert reply.status == 307
    assert other.requests == []


async def test_connections_are_kept(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, b"{}"))

    async with raw_service(handler) as service:
        for _ in range(3):
            await api_of(service.base).get("/")
    assert service.connections == 1


async def test_a_read_on_a_connection_that_was_just_closed_is_made_once_more(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes], hangup: type[Exception]
) -> None:
    async def handler(stream: Any, number: int) -> None:
        if number == 2:  # the kept connection ends when it is used again
            raise hangup
        await stream.send(answer(200, b"{}"))

    async with raw_service(handler) as service:
        api = api_of(service.base)
        assert (await api.get("/")).ok
        assert (await api.get("/")).ok
    assert len(service.requests) == 3


async def test_a_write_on_such_a_connection_is_not(
    raw_service: Any, api_of: Callable[[str], Api], answer: Callable[..., bytes], hangup: type[Exception]
) -> None:
    async def handler(stream: Any, number: int) -> None:
        if number == 2:
            raise hangup
        await stream.send(answer(200, b"{}"))

    async with raw_service(handler) as service:
        api = api_of(service.base)
        assert (await api.get("/")).ok
        with pytest.raises(ConnectionFailed) as lost:
            await api.post("/", {})
    assert len(service.requests) == 2
    assert lost.value.code is None


async def test_a_read_on_a_fresh_connection_gets_no_second_chance(
    raw_service: Any, api_of: Callable[[str], Api], hangup: type[Exception]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        raise hangup

    async with raw_service(handler) as service:
        with pytest.raises(ConnectionFailed):
            await api_of(service.base).get("/")
    assert len(service.requests) == 1


async def test_half_a_reply_is_a_failed_connection(
    raw_service: Any, api_of: Callable[[str], Api], hangup: type[Exception]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a"')
        raise hangup

    async with raw_service(handler) as service:
        with pytest.raises(ConnectionFailed):
            await api_of(service.base).get("/")


async def test_garbage_is_a_failed_connection(
    raw_service: Any, api_of: Callable[[str], Api], hangup: type[Exception]
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(b"\x00\x01 no such protocol\r\n\r\n")
        raise hangup

    async with raw_service(handler) as service:
        with pytest.raises(ConnectionFailed):
            await api_of(service.base).get("/")


async def test_nobody_listening_is_a_failed_connection(api_of: Callable[[str], Api]) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    with pytest.raises(ConnectionFailed):
        await api_of(f"http://127.0.0.1:{port}").get("/")


async def test_a_write_that_found_nobody_does_not_ask_for_the_state_to_be_read(
    raw_service: Any, api_of: Callable[[str], Api], hangup: type[Exception]
) -> None:
    async def handler(_stream: Any, _number: int) -> None:
        raise hangup

    async with raw_service(handler) as service:
        with pytest.raises(ConnectionFailed) as lost:
            await api_of(service.base).post("/", {})
    with pytest.raises(ConnectionFailed) as unsent:  # nobody listens there any more
        await api_of(service.base).post("/", {})
    assert lost.value.message.endswith(_WRITE_ADVICE)
    assert _WRITE_ADVICE not in unsent.value.message


async def test_loopback_is_reached_past_any_proxy(
    raw_service: Any,
    api_of: Callable[[str], Api],
    answer: Callable[..., bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, b"{}"))

    async with raw_service(handler) as service:
        assert (await api_of(service.base).get("/")).ok


@pytest.mark.parametrize(
    "variables",
    [
        {"HTTPS_PROXY": "gopher://proxy.example:1"},
        {"HTTPS_PROXY": "http://[::1"},
        {"HTTPS_PROXY": "http://proxy.example", "NO_PROXY": "[::1"},
        {"SSL_CERT_FILE": "no-such-file.pem"},
    ],
)
async def test_broken_proxy_settings_are_a_clear_error(
    api_of: Callable[[str], Api], monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CommandError) as refused:
        await api_of("https://storm.example").get("/")
    assert refused.value.code is None
    assert "HTTPS_PROXY" in refused.value.message


async def test_the_key_never_shows_in_replies_reprs_or_logs(
    raw_service: Any,
    api_of: Callable[[str], Api],
    answer: Callable[..., bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def handler(stream: Any, number: int) -> None:
        await stream.send(answer(500, service.requests[number - 1].encode("latin-1")))

    async with raw_service(handler) as service:
        api = api_of(service.base)
        reply = await api.get("/")
    assert KEY not in str(reply)
    assert KEY not in repr(api)
    assert KEY not in caplog.text
    assert "Bearer [key hidden]" in reply.body


def test_ids_cannot_name_another_resource() -> None:
    assert resource("reviews", "a/b?c#d %2F") == "/api/v1/reviews/a%2Fb%3Fc%23d%20%252F"
    assert resource("reviews", "..") == "/api/v1/reviews/%2E%2E"
    assert resource("stacks", 7, "enqueue") == "/api/v1/stacks/7/enqueue"
    assert httpx.URL("http://127.0.0.1" + resource("reviews", "..")).raw_path == b"/api/v1/reviews/%2E%2E"

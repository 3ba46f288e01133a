"""Providers that ask a service, against real servers: batches, retries, and servers that misbehave."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ragit_mcp.config import Config
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import open_provider, resolve_profile
from ragit_mcp.embedding.remote.batches import BatchPolicy, batch_lengths
from ragit_mcp.embedding.remote.provider import ServiceProvider
from ragit_mcp.embedding.remote.retries import RetryPolicy
from ragit_mcp.errors import EmbeddingError

KEY = "sk-test-" + "k" * 24
OpenService = Callable[..., ServiceProvider]


@pytest.fixture
def asked(configured: Callable[..., Config], service: Any) -> OpenService:
    """A provider of the fake service that does not wait between tries."""

    def build(
        provider: str = "openai", *, timeout_ms: int = 10_000, environ: dict[str, str] | None = None
    ) -> Any:
        settings = {
            "embedding.provider": provider,
            "embedding.model": "m",
            "embedding.dimensions": 4,
            "embedding.base_url": service.url,
            "embedding.timeout_ms": timeout_ms,
        }
        variables = {"OPENAI_API_KEY": KEY} | (environ or {})
        profile: Profile = resolve_profile(configured(user=settings), environ=variables)
        opened = open_provider(profile, environ=variables)
        assert isinstance(opened, ServiceProvider)
        return opened.with_retries(jitter=lambda: 0.0)

    return build


def _raised(provider: ServiceProvider, texts: list[str] | None = None) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        provider.embed(texts or ["a private text"], "document")
    shown = str(caught.value.payload()) + str(caught.value) + repr(caught.value.__cause__)
    for hidden in (KEY, "private", "127.0.0.1", "must not be shown"):
        assert hidden not in shown
    return caught.value


def test_texts_are_divided_as_recorded(batch_case: dict[str, Any]) -> None:
    given = batch_case["input"]
    policy = BatchPolicy(given["max_items"], given["max_bytes"])
    assert batch_lengths(given["bytes_per_text"], policy) == batch_case["expect"]["batch_lengths"]


def _faulty(kind: str, service: Any) -> Any:
    def reply(handler: Any, body: dict[str, Any]) -> None:
        rows: list[Any] = [service.vector(text) for text in body["input"]]
        if kind == "dimension":
            rows[0] = [*rows[0], 1.0]
        elif kind == "count":
            rows.pop()
        elif kind == "nan":
            rows[0][0] = float("nan")
        else:  # timeout
            service.released.wait()
            return
        handler.answer(handler.rows(rows))

    return reply


def test_a_request_is_repeated_as_recorded(
    retry_case: dict[str, Any], asked: OpenService, service: Any
) -> None:
    given, expect = retry_case["input"], retry_case["expect"]
    service.replies = [
        reply if isinstance(reply, int) else _faulty(reply, service) for reply in given["replies"]
    ]
    provider = asked(given["provider"], timeout_ms=100 if "timeout" in given["replies"] else 10_000)
    if expect["outcome"] == "answer":
        assert provider.embed(["x"], "document").shape == (1, 4)
    else:
        assert _raised(provider).code == expect["outcome"]
    assert len(service.requests) == expect["calls"]


@pytest.mark.parametrize(("name", "path"), [("openai", "/v1/embeddings"), ("ollama", "/api/embed")])
def test_vectors_come_back_in_the_order_of_the_texts(
    name: str, path: str, asked: OpenService, service: Any
) -> None:
    vectors = asked(name).embed(["aa", "b", "ccc"], "document")
    assert vectors.tolist() == [service.vector(text) for text in ("aa", "b", "ccc")]
    assert service.paths == [path]
    assert service.requests == [{"model": "m", "input": ["aa", "b", "ccc"]}]


def test_openais_items_are_matched_by_index(asked: OpenService, service: Any) -> None:
    def shuffled(handler: Any, body: dict[str, Any]) -> None:
        answer = handler.rows([service.vector(text) for text in body["input"]])
        handler.answer({"data": answer["data"][::-1]})

    service.replies = [shuffled]
    vectors = asked().embed(["aa", "b", "ccc"], "document")
    assert vectors.tolist() == [service.vector(text) for text in ("aa", "b", "ccc")]


@pytest.mark.parametrize("places", [[0, 0], [0, 2], [1, 2], [True, 0], ["0", 1], [0.0, 1]])
def test_openais_items_must_name_each_place_once(places: list[Any], asked: OpenService, service: Any) -> None:
    def wrong(handler: Any, body: dict[str, Any]) -> None:
        handler.answer({"data": [{"index": place, "embedding": [1, 2, 3, 4]} for place in places]})

    service.replies = [wrong]
    assert _raised(asked(), ["a", "b"]).code == "RESPONSE_INVALID"


def test_many_texts_go_in_several_requests(asked: OpenService, service: Any) -> None:
    texts = [f"text {number}" for number in range(97)]
    assert asked().embed(texts, "document").shape == (97, 4)
    assert [len(request["input"]) for request in service.requests] == [96, 1]
    assert service.texts == texts


def test_no_text_means_no_request(asked: OpenService, service: Any) -> None:
    assert asked().embed([], "document").shape == (0, 4)
    assert service.requests == []


def test_a_batch_that_fails_fails_the_whole(asked: OpenService, service: Any) -> None:
    service.replies = [200, 400]
    assert _raised(asked(), ["a private text"] * 97).code == "PROVIDER_UNREACHABLE"


@pytest.mark.parametrize("name", ["openai", "ollama"])
def test_secrets_do_not_leave(name: str, asked: OpenService, service: Any) -> None:
    secret = "ghp_" + "q7Rk2Lm9Xc4Vb8Nd1Ws6Yt3Hg5Jf0PzAeUiO"
    asked(name).embed([f"the token is {secret} here"], "document")
    assert secret not in json.dumps(service.requests)


def test_the_key_goes_into_one_header_only(asked: OpenService, service: Any) -> None:
    asked().embed(["x"], "document")
    (headers,) = service.headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert [name for name, value in headers.items() if KEY in value] == ["authorization"]
    assert KEY not in json.dumps(service.requests) + "".join(service.paths)


def test_ollama_is_sent_no_key(asked: OpenService, service: Any) -> None:
    asked("ollama").embed(["x"], "document")
    assert "authorization" not in service.headers[0]


def test_a_compatible_server_on_this_machine_needs_no_key(asked: OpenService, service: Any) -> None:
    assert asked(environ={"OPENAI_API_KEY": ""}).embed(["x"], "document").shape == (1, 4)
    assert "authorization" not in service.headers[0]


@pytest.mark.parametrize("key", ["", " ", "a b", "a\r\nx-evil: 1", "ключ", "k" * 5000])
def test_without_a_usable_key_nobody_is_asked(key: str, configured: Callable[..., Config]) -> None:
    environ = {"OPENAI_API_KEY": key}
    profile = resolve_profile(configured(user={"embedding.provider": "openai"}), environ=environ)
    with pytest.raises(EmbeddingError) as caught:
        open_provider(profile, environ=environ).embed(["x"], "document")
    assert caught.value.code == "CREDENTIAL_MISSING"
    assert not key.strip() or key not in str(caught.value.payload())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, asked: OpenService, service: Any) -> None:
    service.replies = [
        lambda handler, _: handler.answer({}, status=status, headers={"location": "/elsewhere"})
    ]
    assert _raised(asked()).code == "PROVIDER_UNREACHABLE"
    assert service.paths == ["/v1/embeddings"]


def _raw(data: bytes) -> Any:
    return lambda handler, _: handler.answer(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"[1, 2",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b"{}",
        b'{"data": {}}',
        b'{"data": [1]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": null}]}',
        b'{"data": [{"index": 0, "embedding": "1234"}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, "4"]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, true]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, Infinity]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, 1e999]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, 1e300]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, 1' + b"0" * 400 + b"]}]}",
        b'{"data": [{"index": 0, "embedding": [1, 2, 3, 1' + b"0" * 6000 + b"]}]}",
        b"[" * 60_000,
        b'{"data": ' + b" " * 70_000 + b"[]}",
    ],
    ids=lambda data: data[:60].decode("latin-1"),
)
def test_an_answer_that_is_no_set_of_vectors_is_refused_at_once(
    data: bytes, asked: OpenService, service: Any
) -> None:
    service.replies = [_raw(data)]
    assert _raised(asked()).code == "RESPONSE_INVALID"
    assert len(service.requests) == 1


def test_a_vector_of_another_length_is_told_apart(asked: OpenService, service: Any) -> None:
    service.replies = [_raw(b'{"data": [{"index": 0, "embedding": [1, 2]}]}')]
    error = _raised(asked())
    assert error.code == "DIMENSION_MISMATCH"
    assert (error.details["expected"], error.details["received"]) == (4, 2)


def test_an_answer_without_end_is_broken_off(asked: OpenService, service: Any) -> None:
    def endless(handler: Any, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        while not service.released.is_set():  # ends when the client hangs up
            handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")

    service.replies = [endless]
    error = _raised(asked())
    assert (error.code, error.details["reason"]) == ("RESPONSE_INVALID", "size")


def test_a_compressed_answer_is_refused_before_it_is_unpacked(asked: OpenService, service: Any) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    service.replies = [lambda handler, _: handler.answer(bomb, headers={"content-encoding": "gzip"})]
    error = _raised(asked())
    assert (error.code, error.details["reason"]) == ("RESPONSE_INVALID", "encoding")
    assert service.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("part", ["headers", "body"])
def test_an_answer_that_drips_for_ever_times_out(part: str, asked: OpenService, service: Any) -> None:
    def drips(handler: Any, body: dict[str, Any]) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        if part == "body":
            handler.wfile.write(b"content-length: 60000\r\n\r\n")
        else:
            handler.wfile.write(b"x-slow: ")
        while not service.released.wait(0.02):  # well below the timeout: each byte arrives in time
            handler.wfile.write(b"1")

    service.replies = [drips] * 5
    assert _raised(asked(timeout_ms=200)).code == "TIMEOUT"
    assert len(service.requests) == 5


def test_a_connection_that_breaks_off_is_tried_again(asked: OpenService, service: Any) -> None:
    def breaks_off(handler: Any, body: dict[str, Any]) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")
        handler.connection.shutdown(socket.SHUT_RDWR)

    service.replies = [breaks_off, breaks_off]
    assert asked().embed(["x"], "document").shape == (1, 4)
    assert len(service.requests) == 3


def test_garbage_instead_of_http_is_unreachable(asked: OpenService, service: Any) -> None:
    def garbage(handler: Any, body: dict[str, Any]) -> None:
        handler.wfile.write(b"\x00\x01 a private text\r\n\r\n")
        handler.close_connection = True

    service.replies = [garbage] * 5
    assert _raised(asked()).code == "PROVIDER_UNREACHABLE"


def test_nobody_at_the_address_is_unreachable(configured: Callable[..., Config]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings = {
            "embedding.provider": "ollama",
            "embedding.base_url": f"http://127.0.0.1:{unused.getsockname()[1]}",
        }
        opened = open_provider(resolve_profile(configured(user=settings), environ={}), environ={})
        assert isinstance(opened, ServiceProvider)
        error = _raised(opened.with_retries(jitter=lambda: 0.0))
    assert (error.code, error.details["reason"]) == ("PROVIDER_UNREACHABLE", "network")


def test_this_machine_is_asked_directly_whatever_the_proxy_variables_say(
    asked: OpenService, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert asked().embed(["x"], "document").shape == (1, 4)


def test_a_service_that_asks_for_a_pause_gets_it(asked: OpenService, service: Any) -> None:
    service.replies = [lambda handler, _: handler.answer({}, status=429, headers={"retry-after": "0"})]
    assert asked().embed(["x"], "document").shape == (1, 4)
    service.replies = [lambda handler, _: handler.answer({}, status=429, headers={"retry-after": "86400"})]
    assert _raised(asked()).code == "PROVIDER_UNREACHABLE"
    assert len(service.requests) == 3


def test_pauses_follow_the_plan_the_jitter_and_the_service() -> None:
    policy = RetryPolicy((250, 500), jitter=lambda: 1.15, now=lambda: 784111777.0)
    assert policy.pause(0, None) == pytest.approx(0.2875)
    assert policy.pause(1, "junk") == pytest.approx(0.575)
    assert policy.pause(2, None) is None
    assert policy.pause(0, "7") == 7.0
    assert policy.pause(0, "Sun, 06 Nov 1994 08:49:47 GMT") == 10.0
    assert policy.pause(0, "Sun, 06 Nov 1994 08:49:27 GMT") == pytest.approx(0.2875)
    assert policy.pause(0, "61") is None
    assert all(0.85 * 0.25 <= (RetryPolicy((250,)).pause(0, None) or 0) <= 1.15 * 0.25 for _ in range(50))


def test_a_provider_may_be_used_from_several_threads(asked: OpenService, service: Any) -> None:
    provider, failures = asked(), []

    def work(text: str) -> None:
        if provider.embed([text], "document").tolist() != [service.vector(text)]:
            failures.append(text)

    threads = [threading.Thread(target=work, args=("x" * number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

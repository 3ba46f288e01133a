"""From texts to vectors: recorded outcomes of cache and policy, one computation a text, nothing written by readers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest

from ragit_mcp.config import PROVIDERS, Config
from ragit_mcp.embedding import Embedder, open_embedder
from ragit_mcp.embedding.cache.reading import CacheReader
from ragit_mcp.embedding.cache.writing import CacheWriter
from ragit_mcp.embedding.lazy import Lazy
from ragit_mcp.embedding.opening import namespace_of
from ragit_mcp.embedding.providers import provider_module, resolve_profile
from ragit_mcp.embedding.writing import open_writing_embedder
from ragit_mcp.errors import ConfigError, EmbeddingError

Configured = Callable[..., Config]
State = Callable[[], dict[str, tuple[int, int, bytes]]]
KEY = {"OPENAI_API_KEY": "sk-test-" + "k" * 24}


@pytest.fixture
def service_config(configured: Configured, service: Any) -> Callable[..., Config]:
    """A configuration whose provider is the fake service."""

    def build(provider: str = "openai", **more: Any) -> Config:
        settings = {"embedding.provider": provider, "embedding.model": "m", "embedding.dimensions": 4}
        return configured(user=settings | {"embedding.base_url": service.url} | more)

    return build


def _fill(config: Config, root: Path, environ: dict[str, str], texts: list[str]) -> None:
    profile = resolve_profile(config, environ=environ, root=root)
    assert profile.contract is not None
    namespace = namespace_of(config, root, profile, profile.contract)
    if namespace is not None and texts:
        reader = CacheReader(namespace)
        vectors = np.full((len(texts), 4), 0.5, dtype=np.float32)  # of length one
        assert CacheWriter(namespace, reader).add(texts, vectors)
        reader.close()


def test_cache_and_provider_are_used_as_recorded(
    cache_case: dict[str, Any], configured: Configured, repository: Path, service: Any, state_of: State
) -> None:
    given, expect = cache_case["input"], cache_case["expect"]
    environ = {name: value for name, value in (KEY | given.get("env", {})).items() if value is not None}
    settings: dict[str, Any] = {
        "embedding.provider": given["provider"],
        "security.remote_embedding_policy": given["policy"],
    }
    if given["provider"] in {"openai", "ollama"}:
        settings |= {"embedding.model": "m", "embedding.dimensions": 4}
        unreachable = given["provider"] == "ollama" and given["egress"] == "remote"
        # Without a key only a service that is not this machine is refused.
        nobody = "https://service.example" if given.get("env") else service.url
        settings["embedding.base_url"] = "http://192.168.1.20:11434" if unreachable else nobody
    config = configured(user=settings)
    _fill(config, repository, environ, given["cached"])
    assert resolve_profile(config, environ=environ).egress == given["egress"]
    before = state_of()
    opens = open_embedder if given["via"] == "mcp" else open_writing_embedder
    embedder = opens(config, repository, environ=environ)
    outcome = expect.get("code", expect.get("outcome"))
    if outcome == "answer":
        vectors = embedder.embed(given["texts"], purpose="query")
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    else:
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed(given["texts"], purpose="query")
        assert caught.value.code == outcome
        if "missingCount" in expect:
            assert caught.value.details == {
                "provider": given["provider"],
                "model": "m",
                "missingCount": expect["missingCount"],
            }
    assert len(service.requests) == expect["provider_calls"]
    if expect.get("writes", 0) == 0:
        assert state_of() == before
    elif expect["writes"] == "cache":
        changed = set(state_of()) - set(before)
        assert changed
        assert all(Path(path).as_posix().startswith(".ragit/cache") for path in changed)


def test_a_text_is_asked_for_once(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    config = service_config()
    embedder = open_writing_embedder(config, repository, environ=KEY)
    vectors = embedder.embed(["aa", "b", "aa", "a\r\nb", "a\nb"])
    assert service.texts == ["aa", "b", "a\r\nb"] or service.texts == ["aa", "b", "a\nb"]
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[3] == vectors[4]).all()
    embedder.embed(["b", "aa"])
    open_embedder(config, repository, environ=KEY).embed(["aa"])
    assert len(service.requests) == 1


def test_threads_that_want_the_same_text_share_one_request(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def waits(handler: Any, body: dict[str, Any]) -> None:
        arrived.set()
        assert go_on.wait(30)
        handler.answer(handler.rows([service.vector(text) for text in body["input"]]))

    service.replies = [waits]
    embedder = open_writing_embedder(
        service_config(**{"embedding.cache_enabled": False}), repository, environ=KEY
    )
    results: list[Any] = []
    first = threading.Thread(target=lambda: results.append(embedder.embed(["same"])))
    first.start()
    assert arrived.wait(30)
    second = threading.Thread(target=lambda: results.append(embedder.embed(["same", "other"])[:1]))
    second.start()
    # The second asks for its own text only; when that has come, it can only be waiting for the first.
    while len(service.requests) < 2:
        assert second.is_alive()
    go_on.set()
    first.join(30)
    second.join(30)
    assert sorted(service.texts) == ["other", "same"]
    assert (results[0] == results[1]).all()


def test_a_failure_reaches_everybody_who_waits_and_the_next_call_tries_again(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    service.replies = [400]
    embedder = open_writing_embedder(service_config(), repository, environ=KEY)
    with pytest.raises(EmbeddingError):
        embedder.embed(["x"])
    assert embedder.embed(["x"]).shape == (1, 4)


def test_what_was_paid_for_before_a_failure_is_kept(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    texts = [f"text {number}" for number in range(600)]
    service.replies = [200] * 6 + [400]
    embedder = open_writing_embedder(service_config(), repository, environ=KEY)
    with pytest.raises(EmbeddingError):
        embedder.embed(texts)
    sent = len(service.texts)
    embedder.embed(texts)
    assert len(service.texts) - sent == 600 - 512


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_cloned_repository_cannot_send_anything_anywhere(
    provider: str, configured: Configured, repository: Path, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is the attacker's; every way in which a repository could name it is tried."""
    named = {
        "embedding.provider": provider,
        "embedding.base_url": service.url,
        "embedding.model": "m",
        "embedding.dimensions": 4,
        "security.remote_embedding_policy": "allow-sanitized",
        "trust.hosts": [service.url],
    }
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, service.url)
    config = configured(named)
    for opens in (open_embedder, open_writing_embedder):
        with pytest.raises(EmbeddingError) as caught:
            opens(config, repository, environ=KEY).embed(["a text"], purpose="query")
        assert caught.value.code in {"EGRESS_NOT_ALLOWED", "MCP_REMOTE_EMBEDDING_CACHE_MISS"}
    assert service.requests == []


def test_what_the_repository_may_not_ask_for_it_may_still_have_cached(
    configured: Configured, repository: Path, service: Any
) -> None:
    config = configured({
        "embedding.provider": "openai",
        "embedding.base_url": service.url,
        "embedding.model": "m",
        "embedding.dimensions": 4,
    })
    _fill(config, repository, KEY, ["known"])
    assert open_writing_embedder(config, repository, environ=KEY).embed(["known"]).shape == (1, 4)
    with pytest.raises(EmbeddingError) as caught:
        open_writing_embedder(config, repository, environ=KEY).embed(["known", "new"])
    assert caught.value.code == "EGRESS_NOT_ALLOWED"


def test_local_only_refuses_a_remote_provider_even_what_is_cached(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    config = service_config(**{"security.remote_embedding_policy": "local-only"})
    _fill(config, repository, KEY, ["known"])
    embedder = open_writing_embedder(config, repository, environ=KEY)
    assert not embedder.may_embed("query")
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["known"])
    assert caught.value.code == "EGRESS_NOT_ALLOWED"
    assert service.requests == []


@pytest.mark.parametrize("payload", ["artifact", "evidence"])
def test_artifacts_and_evidence_are_never_sent(
    payload: Any, service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    embedder = open_writing_embedder(service_config(), repository, environ=KEY)
    assert not embedder.may_embed(payload)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["x"], payload=payload)
    assert caught.value.code == "EGRESS_NOT_ALLOWED"
    assert service.requests == []


def test_a_cache_that_is_not_trusted_is_neither_read_nor_written(
    service_config: Callable[..., Config], repository: Path, service: Any, state_of: State
) -> None:
    config = service_config()
    _fill(config, repository, KEY, ["known"])
    before = state_of()
    open_writing_embedder(config, repository, environ=KEY, use_cache=False).embed(["known"])
    assert (len(service.requests), state_of()) == (1, before)


def test_a_cache_that_is_switched_off_is_left_alone(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    config = service_config(**{"embedding.cache_enabled": False})
    open_writing_embedder(config, repository, environ=KEY).embed(["x"])
    assert not (repository / ".ragit" / "cache").exists()


@pytest.mark.parametrize("provider", ["wordllama", "local-placeholder"])
def test_providers_in_this_process_write_nothing_and_need_nobody(
    provider: str, configured: Configured, repository: Path, state_of: State
) -> None:
    config = configured({"embedding.provider": provider, "security.remote_embedding_policy": "local-only"})
    before = state_of()
    embedder = open_writing_embedder(config, repository, environ={})
    vectors = embedder.embed(["a passage", "", "half a surrogate \ud83d"], payload="evidence")
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1])
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    assert state_of() == before


def test_half_a_surrogate_does_not_stop_a_request(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    assert open_writing_embedder(service_config(), repository, environ=KEY).embed(["\ud83d x"]).shape == (
        1,
        4,
    )
    assert service.texts == ["? x"]


def test_the_model_can_be_loaded_in_the_background(configured: Configured, repository: Path) -> None:
    embedder = open_embedder(configured(), repository, environ={})
    embedder.warm_in_background().join(60)
    assert embedder.embed(["ready"], purpose="query").any()


def test_a_failure_in_the_background_shows_when_a_text_is_embedded(
    configured: Configured, repository: Path
) -> None:
    settings = {"embedding.provider": "transformer", "embedding.model_dir": str(repository / "none")}
    embedder = open_embedder(configured(user=settings), repository, environ={})
    embedder.warm_in_background().join(60)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["x"])
    assert caught.value.code == "MODEL_UNAVAILABLE"


def test_loading_in_the_background_asks_nobody(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    open_writing_embedder(service_config("ollama"), repository, environ={}).warm_in_background().join(60)
    assert service.requests == []


def test_a_model_that_ragit_does_not_know_needs_its_length(configured: Configured, repository: Path) -> None:
    config = configured(user={"embedding.provider": "ollama", "embedding.model": "unknown"})
    with pytest.raises(ConfigError) as caught:
        open_embedder(config, repository, environ={})
    assert (caught.value.code, caught.value.details["key"]) == ("CONFIG_INVALID", "embedding.dimensions")


@pytest.mark.parametrize(
    ("model", "settings", "version", "dimensions"),
    [
        ("nomic-embed-text", {}, "ollama-nomic-embed-text-768", 768),
        (
            "mxbai-embed-large",
            {"embedding.dimensions": 64, "embedding.version": "v1"},
            "ollama-mxbai-embed-large-1024",
            1024,
        ),
        ("other", {"embedding.dimensions": 5}, "ollama-other-5", 5),
        ("other", {"embedding.dimensions": 5, "embedding.version": "mine"}, "mine", 5),
    ],
)
def test_the_contract_of_a_service_follows_from_model_and_settings(
    model: str,
    settings: dict[str, Any],
    version: str,
    dimensions: int,
    configured: Configured,
    repository: Path,
) -> None:
    config = configured({"embedding.provider": "ollama", "embedding.model": model} | settings)
    embedder: Embedder = open_embedder(config, repository, environ={})
    assert (embedder.contract.version, embedder.dimensions) == (version, dimensions)
    assert embedder.identity == f"ollama/{model}/{version}/{dimensions}"


def test_a_server_asks_from_a_worker_thread_of_its_event_loop(
    service_config: Callable[..., Config], repository: Path, service: Any
) -> None:
    embedder = open_embedder(service_config("ollama"), repository, environ={})

    async def serve() -> Any:
        return await anyio.to_thread.run_sync(embedder.embed, ["x"])

    assert anyio.run(serve).shape == (1, 4)


# --- the house


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_its_module(name: str) -> None:
    module = provider_module(name)
    assert callable(module.resolve)
    assert callable(module.open_provider)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(EmbeddingError) as caught:
        provider_module("../evil")
    assert caught.value.code == "PROVIDER_UNSUPPORTED"


def test_opening_an_embedder_for_reading_loads_nothing_heavy_and_nothing_that_writes() -> None:
    program = (
        "import sys\n"
        "from ragit_mcp.config import PROVIDERS\n"
        "from ragit_mcp.embedding import open_embedder\n"
        "from ragit_mcp.embedding import description, tokens\n"
        "from ragit_mcp.embedding.providers import provider_module\n"
        "for name in PROVIDERS: provider_module(name)\n"
        "heavy = {'numpy', 'apsw', 'tokenizers', 'safetensors', 'httpx', 'anyio', 'onnxruntime', 'wordllama', 'mcp', 'fastmcp'}\n"
        "writes = {'ragit_mcp.embedding.writing', 'ragit_mcp.embedding.cache.writing', 'ragit_mcp.config.editing'}\n"
        "sys.exit(', '.join(sorted((heavy | writes) & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_value_is_made_once_however_many_ask() -> None:
    made: list[int] = []
    gate = threading.Event()

    def make() -> int:
        assert gate.wait(30)
        made.append(1)
        return 7

    lazy = Lazy(make)
    assert not lazy.ready
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(lazy.get())) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(30)
    assert (results, made, lazy.ready) == ([7] * 8, [1], True)

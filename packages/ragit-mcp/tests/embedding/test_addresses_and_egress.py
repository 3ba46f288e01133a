"""Which addresses are addresses, which are local, and what may leave: recorded vectors, and attacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragit_mcp.config import Config
from ragit_mcp.embedding.addresses import is_never_contacted, normalise_base_url
from ragit_mcp.embedding.egress import EgressRules, may_leave
from ragit_mcp.embedding.providers import resolve_profile
from ragit_mcp.errors import EmbeddingError, RagitError

Configured = Callable[..., Config]


def _settings(provider: str, base_url: str | None) -> dict[str, Any]:
    settings = {"embedding.provider": provider}
    return settings | ({"embedding.base_url": base_url} if base_url and base_url.strip() else {})


def test_the_egress_of_a_provider_is_the_recorded_one(
    egress_case: dict[str, Any], configured: Configured
) -> None:
    given = egress_case["input"]
    config = configured(_settings(given["provider"], given["base_url"]))
    assert resolve_profile(config, environ={}).egress == egress_case["expect"]


def test_the_policy_decides_as_recorded(policy_case: dict[str, Any]) -> None:
    given = policy_case["input"]
    assert may_leave(given["policy"], given["egress"], given["payload"]) is policy_case["expect"]["may_leave"]


def test_an_address_is_normalised_or_refused_as_recorded(
    url_case: dict[str, Any], configured: Configured
) -> None:
    given, expect = url_case["input"], url_case["expect"]
    config = configured(_settings(given["provider"], given["base_url"]))
    if "base_url" in expect:
        assert resolve_profile(config, environ=given.get("env", {})).base_url == expect["base_url"]
        return
    with pytest.raises(RagitError) as caught:
        resolve_profile(config, environ=given.get("env", {}))
    assert caught.value.code == "CONFIG_INVALID"
    shown = str(caught.value.payload())
    for address in (given["base_url"], *given.get("env", {}).values()):
        assert not address or address.strip() not in shown


@pytest.mark.parametrize(
    "address",
    [
        "http://2130706433",
        "http://0x7f000001",
        "http://127.1",
        "http://0177.0.0.1",
        "http://0x7f.0.0.1",
        "http://1.2.3.4.5",
        "http://[::1%25eth0]",
        "http://[fe80::1%eth0]",
        "http://[::1",
        "http://exämple.test",
        "http://a..b",
        "http://-a.test",
        "http://h.test/a/../b",
        "http://h.test/%2e%2e/b",
        "http://h.test:0",
        "http://h.test:x",
        "http://h.test/a\tb",
        "http://h.test/\x00",
        "http:///path",
        "http:h.test",
        "ftp://h.test",
        "http://" + "a" * 3000,
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(address: str) -> None:
    with pytest.raises(RagitError) as caught:
        normalise_base_url(address)
    assert caught.value.code == "CONFIG_INVALID"
    assert address not in str(caught.value.payload())


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("HTTP://LocalHost:80/", "http://localhost"),
        ("https://H.Test:443/v1//", "https://h.test/v1"),
        ("https://h.test:8443", "https://h.test:8443"),
        ("http://[0:0:0:0:0:0:0:1]:11434", "http://[::1]:11434"),
        ("http://10.0.0.7/x-y_z", "http://10.0.0.7/x-y_z"),
    ],
)
def test_an_address_has_one_spelling(address: str, normal: str) -> None:
    assert normalise_base_url(address) == normal


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest",
        "http://[fe80::1]",
        "http://[::ffff:169.254.169.254]",
        "http://[::ffff:a9fe:a9fe]",
        "http://[fd00:ec2::254]",
        "http://100.100.100.200",
        "http://metadata.google.internal",
        "http://224.0.0.1",
    ],
)
def test_metadata_and_link_local_addresses_are_contacted_under_no_circumstances(
    address: str, configured: Configured
) -> None:
    url = normalise_base_url(address)
    assert is_never_contacted(url)
    host = url.removeprefix("http://").partition("/")[0]
    user = {"trust.hosts": [f"http://{host}"], "embedding.base_url": url, "embedding.provider": "ollama"}
    config = configured(user=user)
    with pytest.raises(EmbeddingError) as caught:
        EgressRules(resolve_profile(config, environ={}), config).require_consent()
    assert (caught.value.code, caught.value.details["reason"]) == ("EGRESS_NOT_ALLOWED", "never")


EVIL = "https://evil.example"
# Settings of the repository, of the user, environment; whether the provider may be asked.
CONSENT: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, str], bool]] = [
    ("a repository cannot choose a remote provider", {"embedding.provider": "openai"}, {}, {}, False),
    (
        "a key in the environment is no consent",
        {"embedding.provider": "openai"},
        {},
        {"OPENAI_API_KEY": "sk-x"},
        False,
    ),
    (
        "an address in the environment is no consent to a repository's choice of provider",
        {"embedding.provider": "openai"},
        {},
        {"OPENAI_BASE_URL": "https://mine.example"},
        False,
    ),
    (
        "a repository cannot name a host",
        {"embedding.provider": "ollama", "embedding.base_url": EVIL},
        {},
        {},
        False,
    ),
    (
        "a repository cannot redirect the user's provider",
        {"embedding.base_url": EVIL},
        {"embedding.provider": "openai"},
        {},
        False,
    ),
    (
        "a repository cannot redirect the provider of the environment",
        {"embedding.base_url": EVIL},
        {},
        {"RAGIT_EMBEDDING_PROVIDER": "openai"},
        False,
    ),
    (
        "a repository cannot aim at another port of this machine",
        {"embedding.provider": "ollama", "embedding.base_url": "http://127.0.0.1:6379"},
        {},
        {},
        False,
    ),
    (
        "a repository cannot aim at another path of Ollama's port",
        {"embedding.provider": "ollama", "embedding.base_url": "http://127.0.0.1:11434/proxy"},
        {},
        {},
        False,
    ),
    (
        "the user's address of one provider is not another's",
        {"embedding.provider": "openai"},
        {"embedding.provider": "ollama", "embedding.base_url": "https://mine.example"},
        {},
        False,
    ),
    ("Ollama's own address needs no consent", {"embedding.provider": "ollama"}, {}, {}, True),
    (
        "Ollama on this machine where the user says it is",
        {"embedding.provider": "ollama"},
        {},
        {"OLLAMA_BASE_URL": "http://localhost:9999"},
        True,
    ),
    ("the user chose the provider", {}, {"embedding.provider": "openai"}, {}, True),
    ("the environment chose the provider", {}, {}, {"RAGIT_EMBEDDING_PROVIDER": "openai"}, True),
    (
        "the user chose provider and address",
        {},
        {"embedding.provider": "openai", "embedding.base_url": "https://mine.example"},
        {},
        True,
    ),
    (
        "the user chose the provider and named its usual variable",
        {},
        {"embedding.provider": "openai"},
        {"OPENAI_BASE_URL": "https://mine.example/v1"},
        True,
    ),
    (
        "the user allowed the host",
        {"embedding.provider": "openai"},
        {"trust.hosts": ["api.openai.com"]},
        {},
        True,
    ),
    (
        "the environment allowed the host",
        {"embedding.provider": "ollama", "embedding.base_url": "https://gpu.example:8443"},
        {},
        {"RAGIT_TRUST_HOSTS": "gpu.example:8443"},
        True,
    ),
    (
        "another port is another host",
        {"embedding.provider": "ollama", "embedding.base_url": "https://gpu.example:8444"},
        {},
        {"RAGIT_TRUST_HOSTS": "gpu.example:8443"},
        False,
    ),
    (
        "an allowance for https is none for http",
        {"embedding.provider": "ollama", "embedding.base_url": "http://gpu.example"},
        {"trust.hosts": ["gpu.example"]},
        {},
        False,
    ),
    ("the default provider contacts nobody", {}, {}, {}, True),
]


@pytest.mark.parametrize(
    ("name", "cloned", "user", "environ", "allowed"), CONSENT, ids=[row[0] for row in CONSENT]
)
def test_only_the_user_can_allow_a_host(
    name: str,
    cloned: dict[str, Any],
    user: dict[str, Any],
    environ: dict[str, str],
    allowed: bool,
    configured: Configured,
) -> None:
    config = configured(cloned, user=user, environ=environ)
    rules = EgressRules(resolve_profile(config, environ=environ), config)
    assert rules.consented is allowed
    if not allowed:
        with pytest.raises(EmbeddingError) as caught:
            rules.require_consent()
        assert (caught.value.code, caught.value.details["reason"]) == ("EGRESS_NOT_ALLOWED", "consent")


def test_a_refusal_names_the_host_and_nothing_else_of_the_address(configured: Configured) -> None:
    config = configured({"embedding.provider": "ollama", "embedding.base_url": f"{EVIL}/private/path"})
    with pytest.raises(EmbeddingError) as caught:
        EgressRules(resolve_profile(config, environ={}), config).require_consent()
    assert caught.value.details["host"] == "evil.example"
    assert "private" not in str(caught.value.payload())


def test_local_only_refuses_a_remote_provider_for_every_text(configured: Configured) -> None:
    config = configured(
        {"security.remote_embedding_policy": "local-only"}, user={"embedding.provider": "openai"}
    )
    rules = EgressRules(resolve_profile(config, environ={}), config)
    for payload in ("durable-doc", "query", "artifact", "evidence"):
        with pytest.raises(EmbeddingError) as caught:
            rules.require_policy(payload)
        assert (caught.value.code, caught.value.details["reason"]) == ("EGRESS_NOT_ALLOWED", "policy")

"""`ollama`: a model that an Ollama server runs, on this machine unless configured otherwise (contract A11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragit_mcp.embedding.addresses import egress_of_url
from ragit_mcp.embedding.profile import Profile, configured_base_url
from ragit_mcp.embedding.providers import Request
from ragit_mcp.embedding.remote.batches import BatchPolicy
from ragit_mcp.embedding.remote.models import vectors_of_model
from ragit_mcp.embedding.remote.provider import Method, ServiceProvider
from ragit_mcp.embedding.remote.retries import RetryPolicy
from ragit_mcp.embedding.vectors import invalid_response

__all__ = ["METHOD", "open_provider", "resolve"]

_NAME: Final = "ollama"
_DEFAULT_URL: Final = "http://127.0.0.1:11434"
_OWN_ADDRESSES: Final = frozenset({_DEFAULT_URL, "http://localhost:11434", "http://[::1]:11434"})
_VARIABLE: Final = "OLLAMA_BASE_URL"
_KNOWN: Final[Mapping[str, int]] = {"nomic-embed-text": 768, "mxbai-embed-large": 1024}


def _rows(answer: Any) -> Sequence[object]:
    rows = answer.get("embeddings") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise invalid_response(_NAME, "shape")
    return rows


METHOD: Final = Method(
    path="/api/embed",
    batches=BatchPolicy(max_items=32, max_bytes=256 * 1024),
    retries=RetryPolicy((150, 300, 600, 1200, 2400)),
    body=lambda profile, texts: {"model": profile.model, "input": list(texts)},
    rows=_rows,
    headers=lambda profile, environ: {},
)


def resolve(request: Request) -> Profile:
    """Model and address; local where the address is this machine."""
    settings = request.config.embedding
    url = configured_base_url(request.config, request.environ, _VARIABLE, _DEFAULT_URL)
    vectors = vectors_of_model(request.config, _KNOWN)
    return Profile(
        settings.provider,
        settings.model,
        vectors.version,
        vectors.dimensions,
        egress=egress_of_url(url),
        in_process=False,
        cached=True,
        timeout_seconds=settings.timeout_ms / 1000,
        base_url=url,
        well_known=url in _OWN_ADDRESSES,
    )


def open_provider(profile: Profile, environ: Mapping[str, str]) -> ServiceProvider:
    """The provider; nobody is asked yet."""
    return ServiceProvider(profile, METHOD, environ)

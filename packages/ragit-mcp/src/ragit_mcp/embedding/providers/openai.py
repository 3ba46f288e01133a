"""`openai`: OpenAI's embeddings, or any service that speaks the same protocol (contract A11).

Always remote for the policy, whatever the host: behind a compatible address on this machine may be anybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragit_mcp.embedding.addresses import is_loopback
from ragit_mcp.embedding.profile import Profile, configured_base_url
from ragit_mcp.embedding.providers import Request
from ragit_mcp.embedding.remote.batches import BatchPolicy
from ragit_mcp.embedding.remote.models import vectors_of_model
from ragit_mcp.embedding.remote.provider import Method, ServiceProvider
from ragit_mcp.embedding.remote.retries import RetryPolicy
from ragit_mcp.embedding.vectors import invalid_response
from ragit_mcp.errors import EmbeddingError

__all__ = ["KEY_VARIABLE", "METHOD", "has_credential", "open_provider", "resolve"]

_NAME: Final = "openai"
_DEFAULT_URL: Final = "https://api.openai.com"
_VARIABLE: Final = "OPENAI_BASE_URL"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
_KNOWN: Final[Mapping[str, int]] = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
# What may stand in a header; a line break in a key would otherwise end one and begin another.
_KEY: Final = re.compile(r"[!-~]{1,4096}", re.ASCII)


def _headers(profile: Profile, environ: Mapping[str, str]) -> Mapping[str, str]:
    key = environ.get(KEY_VARIABLE, "").strip()
    if not key and is_loopback(profile.base_url or ""):
        return {}  # servers on one's own machine mostly have no keys
    if not _KEY.fullmatch(key):
        raise EmbeddingError(
            "CREDENTIAL_MISSING",
            f"The provider openai needs its key in the environment variable {KEY_VARIABLE}.",
            details={"provider": profile.provider, "variable": KEY_VARIABLE},
        )
    return {"authorization": f"Bearer {key}"}


def _rows(answer: Any) -> Sequence[object]:
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise invalid_response(_NAME, "shape")
    rows = {item["index"]: item.get("embedding") for item in items if type(item.get("index")) is int}
    # Each place exactly once: a service may answer in any order, and must not answer twice.
    if len(rows) != len(items) or set(rows) != set(range(len(items))):
        raise invalid_response(_NAME, "index")
    return [rows[place] for place in range(len(items))]


METHOD: Final = Method(
    path="/v1/embeddings",
    batches=BatchPolicy(max_items=96, max_bytes=1024 * 1024),
    retries=RetryPolicy((250, 500, 1000, 2000)),
    body=lambda profile, texts: {"model": profile.model, "input": list(texts)},
    rows=_rows,
    headers=_headers,
)


def resolve(request: Request) -> Profile:
    """Model and address."""
    settings = request.config.embedding
    # Other programs write this address with the version at its end; here the method's path has it.
    url = configured_base_url(request.config, request.environ, _VARIABLE, _DEFAULT_URL).removesuffix("/v1")
    vectors = vectors_of_model(request.config, _KNOWN)
    return Profile(
        settings.provider,
        settings.model,
        vectors.version,
        vectors.dimensions,
        egress="remote",
        in_process=False,
        cached=True,
        timeout_seconds=settings.timeout_ms / 1000,
        base_url=url,
        well_known=url == _DEFAULT_URL,
    )


def has_credential(environ: Mapping[str, str]) -> bool:
    """Whether a usable key is in the environment; for `doctor`."""
    return bool(_KEY.fullmatch(environ.get(KEY_VARIABLE, "").strip()))


def open_provider(profile: Profile, environ: Mapping[str, str]) -> ServiceProvider:
    """The provider; nobody is asked yet."""
    return ServiceProvider(profile, METHOD, environ)

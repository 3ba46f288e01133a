"""What `status` and `doctor` say about embedding, without loading a model or asking a provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ragit_mcp.config import Config
from ragit_mcp.embedding.cache.place import cache_directory, cache_off_reason
from ragit_mcp.embedding.cache.reading import count_entries
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.embedding.opening import namespace_of
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import provider_module

__all__ = ["describe_cache", "describe_profile", "has_credential"]


def describe_profile(profile: Profile) -> dict[str, Any]:
    """The member `embedding.configured` of status; null for what only the model's files tell."""
    return {
        "provider": profile.provider,
        "model": profile.model,
        "dimensions": profile.dimensions,
        "version": profile.version,
        "baseUrl": profile.base_url,
        "egress": profile.egress,
    }


def describe_cache(
    config: Config,
    root: str | os.PathLike[str],
    profile: Profile,
    contract: EmbeddingContract | None = None,
) -> dict[str, Any]:
    """The member `embedding.cache` of status.

    Args:
        config: the configuration.
        root: the repository's root.
        profile: the resolved profile.
        contract: the terms of the vectors, where they are known although the profile alone does not tell them: those
            that the store states.
    """
    terms = profile.contract or contract
    off = cache_off_reason(config, profile)
    namespace = namespace_of(config, root, profile, terms) if terms is not None else None
    method: Any = getattr(provider_module(profile.provider), "METHOD", None)
    place = os.path.join(root, *(cache_directory(config) or ".ragit").split("/"))
    return {
        "enabled": off is None,
        "reason": off,
        "dir": config.embedding.cache_dir if off != "outside" else None,
        "namespaceId": None if terms is None else terms.namespace_id,
        "entryCount": 0 if namespace is None else count_entries(namespace),
        "batchPolicy": None
        if method is None
        else {"maxItems": method.batches.max_items, "maxBytes": method.batches.max_bytes},
        "retryPolicy": None if method is None else {"delaysMs": list(method.retries.delays_ms)},
        "writable": off is None and os.access(_nearest(place), os.W_OK),
        "namespaceReadable": namespace is not None
        and os.access(os.path.join(root, *namespace.directory.split("/")), os.R_OK),
    }


def _nearest(place: str) -> str:
    """The directory itself, or the one in which the first missing part of its path would be made."""
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return place


def has_credential(profile: Profile, environ: Mapping[str, str]) -> bool:
    """Whether the environment holds what the provider wants for identification; True if it wants nothing."""
    check: Any = getattr(provider_module(profile.provider), "has_credential", None)
    return check is None or bool(check(environ))

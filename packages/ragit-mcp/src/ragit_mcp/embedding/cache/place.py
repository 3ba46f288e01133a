"""Where the cache of a repository is, or why there is none."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final, Literal

from ragit_mcp.config import Config
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.embedding.profile import Profile

__all__ = ["LAYOUT", "CacheOff", "cache_directory", "cache_off_reason", "namespace_directory"]

LAYOUT: Final = "v1"
CacheOff = Literal["disabled", "outside", "not_needed"]
_PART: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", re.ASCII)


def cache_directory(config: Config) -> str | None:
    """The directory relative to the repository's root, `/`-separated; None if it does not lie below `.ragit`.

    The contract switches the cache off for a directory outside the repository. Ours lies below `.ragit` always: a
    repository's configuration must not make ragit write among sources, or into `.git`.
    """
    parts = [
        part for part in config.embedding.cache_dir.replace("\\", "/").split("/") if part not in {"", "."}
    ]
    if (
        config.embedding.cache_dir.startswith("/")
        or len(parts) < 2
        or parts[0] != ".ragit"
        or len(parts) > 16
    ):
        return None
    return posixpath.join(*parts) if all(map(_PART.fullmatch, parts[1:])) else None


def cache_off_reason(config: Config, profile: Profile) -> CacheOff | None:
    """Why no vectors are kept: switched off, a place that is refused, or a provider faster than any cache."""
    if not config.embedding.cache_enabled:
        return "disabled"
    if not profile.cached:
        return "not_needed"
    return "outside" if cache_directory(config) is None else None


@dataclass(frozen=True, slots=True)
class Namespace:
    """The place of one contract's vectors.

    Attributes:
        root: the repository's root.
        directory: below it, `/`-separated.
        contract: the terms of the vectors.
    """

    root: str
    directory: str
    contract: EmbeddingContract


def namespace_directory(config: Config, contract: EmbeddingContract) -> str | None:
    """The directory of one contract's vectors, relative to the root; None if the cache's place is refused."""
    base = cache_directory(config)
    return None if base is None else f"{base}/{LAYOUT}/{contract.namespace_id}"

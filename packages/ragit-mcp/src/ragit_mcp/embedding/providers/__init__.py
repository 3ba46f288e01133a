"""The providers of vectors. One module each, named like the provider with `_` for `-`.

A new provider is a module here and its line in `ragit_mcp.config.schema.PROVIDERS`. The module has

    resolve(request) -> Profile             what the configuration asks for; cheap, touches nothing
    open_provider(profile, environ) -> Provider
                                            ready to embed; loads what it needs when it is first needed

and imports numpy, tokenizers or httpx inside functions only. A test holds every module to this.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from ragit_mcp.config import PROVIDERS, Config
from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.vectors import FloatArray
from ragit_mcp.errors import EmbeddingError

__all__ = ["Provider", "ProviderModule", "Request", "open_provider", "provider_module", "resolve_profile"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a profile is resolved from.

    Attributes:
        config: the configuration.
        environ: environment variables.
        root: the repository's root, which relative directories of its configuration are meant below.
    """

    config: Config
    environ: Mapping[str, str]
    root: str | os.PathLike[str] | None = None


class Provider(Protocol):
    """Turns texts into vectors. Safe to use from several threads."""

    @property
    def contract(self) -> EmbeddingContract:
        """The terms of the vectors; may read the model's files."""

    def warm(self) -> None:
        """Load what the first text would wait for."""

    def prompt(self, purpose: Purpose) -> str:
        """The words that `embed` puts before each text; part of what the cache knows a text by."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatArray:
        """One row a text, of any length, zeros for a text in which nothing is known."""


class ProviderModule(Protocol):
    """A module of this package."""

    def resolve(self, request: Request) -> Profile:
        """What the configuration asks for."""

    def open_provider(self, profile: Profile, environ: Mapping[str, str]) -> Provider:
        """The provider of a profile that this module resolved."""


def provider_module(name: str) -> ProviderModule:
    """The module of a provider.

    Raises:
        EmbeddingError: `PROVIDER_UNSUPPORTED`.
    """
    if name not in PROVIDERS:
        raise EmbeddingError(
            "PROVIDER_UNSUPPORTED", f"embedding.provider must be one of {', '.join(PROVIDERS)}."
        )
    return cast("ProviderModule", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def resolve_profile(
    config: Config,
    *,
    environ: Mapping[str, str] | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Profile:
    """What the configuration asks for; reads no file and contacts nobody.

    Raises:
        ConfigError: `CONFIG_INVALID`: an address that is none, a setting that this provider needs.
        EmbeddingError: `MODEL_NOT_ALLOWED`.
    """
    variables = os.environ if environ is None else environ
    return provider_module(config.embedding.provider).resolve(Request(config, variables, root))


def open_provider(profile: Profile, *, environ: Mapping[str, str] | None = None) -> Provider:
    """The provider of a profile; nothing is loaded and nobody contacted yet."""
    variables = os.environ if environ is None else environ
    return provider_module(profile.provider).open_provider(profile, variables)

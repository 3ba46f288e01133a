"""`local-placeholder`: hashes of words, for compatibility with the reference. Development only: it has no meaning.

Every word adds its SHA-1, read as 20 numbers between -1 and 1 and repeated over the dimensions (contract A11).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import Provider, Request
from ragit_mcp.embedding.vectors import FloatArray

_DIMENSIONS: Final = 64
_VERSION: Final = "v1"
_DIGEST_BYTES: Final = 20


def resolve(request: Request) -> Profile:
    """The one model there is; dimensions and version can be set."""
    settings = request.config.embedding
    return Profile(
        settings.provider, settings.model, settings.version or _VERSION, settings.dimensions or _DIMENSIONS
    )


def open_provider(profile: Profile, environ: Mapping[str, str]) -> Provider:
    """The provider."""
    del environ  # nothing is configured there
    return PlaceholderProvider(profile)


class PlaceholderProvider:
    """Vectors from hashes of words."""

    def __init__(self, profile: Profile) -> None:
        self.contract = EmbeddingContract(
            profile.provider, profile.model, profile.version or _VERSION, profile.dimensions or _DIMENSIONS
        )

    def warm(self) -> None:
        """Nothing is loaded."""

    def prompt(self, purpose: Purpose) -> str:
        """None."""
        del purpose
        return ""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatArray:
        """Sums of the words' hashes."""
        import numpy as np

        del purpose
        dimensions = self.contract.dimensions
        sums = np.zeros((len(texts), _DIGEST_BYTES), dtype=np.float64)
        for row, text in zip(sums, texts, strict=True):
            for word in _words(text):
                digest = hashlib.sha1(word.encode("utf-8"), usedforsecurity=False).digest()
                row += np.frombuffer(digest, dtype=np.uint8) / 255 * 2 - 1
        return np.tile(sums, -(-dimensions // _DIGEST_BYTES))[:, :dimensions].astype(np.float32)


def _words(text: str) -> list[str]:
    return "".join(
        character if unicodedata.category(character)[0] in "LN" or character.isspace() else " "
        for character in text.lower()
    ).split()

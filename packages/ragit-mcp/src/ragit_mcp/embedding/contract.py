"""What makes two vectors comparable, and the names that follow from it (contract A5, A11, A12).

A store, a cache namespace and a query belong together when provider, model, version and dimensions are the same. The
version of a model that lives in files holds a hash of them, so that a replaced file never mixes with older vectors.
Standard library only.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["NAMESPACE_SCHEMA", "EmbeddingContract", "Purpose", "text_hash"]

#: What a text is embedded for. Some models want queries and documents told apart; most ignore it.
Purpose = Literal["document", "query"]

NAMESPACE_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class EmbeddingContract:
    """The terms under which vectors were made.

    Attributes:
        provider: name of the provider, a value of `embedding.provider`.
        model: name of the model.
        version: version of the vectors.
        dimensions: length of a vector.
        base_url: address of the service, for providers that have one. It tells cache namespaces apart; a store made
            through another address of the same model is still the same kind of store.
    """

    provider: str
    model: str
    version: str
    dimensions: int
    base_url: str | None = None

    @property
    def identity(self) -> str:
        """One line that is equal exactly where vectors may be compared; it holds no address."""
        return f"{self.provider}/{self.model}/{self.version}/{self.dimensions}"

    @property
    def namespace_id(self) -> str:
        """Name of the cache namespace, 16 hexadecimal digits (A12)."""
        parts = (NAMESPACE_SCHEMA, self.provider, self.model, self.version, self.dimensions)
        text = ":".join(map(str, parts)) + f":{self.base_url or 'none'}"
        return hashlib.sha1(text.encode("utf-8"), usedforsecurity=False).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The member `embeddingContract` of a store (A5), with the model beside it."""
        return {
            "provider": self.provider,
            "model": self.model,
            "dimensions": self.dimensions,
            "version": self.version,
        }


def text_hash(text: str) -> str:
    """Key of a text in the cache: SHA-1 in hexadecimal, of the text with CRLF read as LF (A12)."""
    data = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()

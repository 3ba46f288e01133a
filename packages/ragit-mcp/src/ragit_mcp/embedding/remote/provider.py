"""A provider that asks a service; what differs between services is a `Method`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.remote.batches import BatchPolicy, in_batches
from ragit_mcp.embedding.remote.requests import Service
from ragit_mcp.embedding.remote.retries import RetryPolicy
from ragit_mcp.embedding.vectors import FloatArray, checked_vectors
from ragit_mcp.safety import masked_text

__all__ = ["Method", "ServiceProvider"]

# A number of an answer takes about twenty characters; the rest is for names and white space.
_BYTES_A_NUMBER: Final = 40
_BYTES_BESIDE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Method:
    """How one kind of service is asked.

    Attributes:
        path: of the method, appended to the base URL.
        batches: how much one request holds.
        retries: when to try again.
        body: the JSON body for some texts.
        rows: the vectors of an answer, in the order of the texts; raises `RESPONSE_INVALID`.
        headers: headers from the environment, such as a key; raises `CREDENTIAL_MISSING`.
    """

    path: str
    batches: BatchPolicy
    retries: RetryPolicy
    body: Callable[[Profile, Sequence[str]], object]
    rows: Callable[[Any], Sequence[object]]
    headers: Callable[[Profile, Mapping[str, str]], Mapping[str, str]]


class ServiceProvider:
    """Vectors from a service.

    Text is masked here, next to the wire: nothing that this class sends holds a secret that ragit knows.

    Args:
        profile: a resolved profile, with address, version and dimensions.
        method: how the service is asked.
        environ: environment variables.
    """

    def __init__(self, profile: Profile, method: Method, environ: Mapping[str, str]) -> None:
        contract = profile.contract
        if contract is None or profile.base_url is None:
            raise ValueError("the profile of a service names its address, version and dimensions")
        self.contract: EmbeddingContract = contract
        self._profile = profile
        self._method = method
        self._environ = environ
        self._url = profile.base_url + method.path

    def warm(self) -> None:
        """Nothing is loaded, and nobody is asked without a text."""

    def prompt(self, purpose: Purpose) -> str:
        """None."""
        del purpose
        return ""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatArray:
        """One row a text; a batch that fails fails the whole.

        Raises:
            EmbeddingError: see `Service.ask`, `CREDENTIAL_MISSING`, `DIMENSION_MISMATCH`.
        """
        import numpy as np

        del purpose
        dimensions = self.contract.dimensions
        batches = in_batches([masked_text(text).text for text in texts], self._method.batches)
        service = Service(
            self._profile.provider,
            self._url,
            self._method.headers(self._profile, self._environ),
            self._profile.timeout_seconds,
            self._method.retries,
        )

        def vectors(place: int, answer: Any) -> FloatArray:
            return checked_vectors(
                self._method.rows(answer),
                count=len(batches[place]),
                dimensions=dimensions,
                provider=self._profile.provider,
            )

        requests = [
            (
                self._method.body(self._profile, batch),
                len(batch) * dimensions * _BYTES_A_NUMBER + _BYTES_BESIDE,
            )
            for batch in batches
        ]
        empty = np.zeros((0, dimensions), dtype=np.float32)
        return np.concatenate([empty, *(service.ask(requests, vectors) if requests else ())])

    def with_retries(self, **changes: Any) -> ServiceProvider:
        """The same provider with other pauses, jitter or clock; for tests."""
        retries = dataclasses.replace(self._method.retries, **changes)
        return ServiceProvider(
            self._profile, dataclasses.replace(self._method, retries=retries), self._environ
        )

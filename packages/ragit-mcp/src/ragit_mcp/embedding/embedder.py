"""Texts to vectors, with everything that belongs in between: policy, cache, consent, one computation a text.

The order is the contract's (A11, A12): the policy refuses before anything is looked up; look-ups come before anybody is
asked; where a remote provider may not be asked on a miss, one error tells how many texts are missing and nothing was
sent or written; consent is needed only when somebody is really asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, Protocol

from ragit_mcp.embedding.cache.reading import CacheReader, cache_key
from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.egress import EgressRules, Payload
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import Provider
from ragit_mcp.embedding.vectors import FloatArray, unit_vectors
from ragit_mcp.errors import EmbeddingError

__all__ = ["CacheSink", "Embedder"]

# Texts between two additions to the cache: what was paid for is kept when a later request fails.
_TEXTS_AT_A_TIME: Final = 512


class CacheSink(Protocol):
    """Where new vectors are kept."""

    def add(self, texts: Sequence[str], vectors: FloatArray) -> bool:
        """Keep vectors; False if that failed."""


class Embedder:
    """One provider under one configuration. Safe to use from several threads; not on an event loop's thread.

    Args:
        profile: what the configuration asks for.
        provider: the provider of that profile.
        rules: policy and consent.
        cache: opens the cache; gives None where there is none. Called once the contract is needed anyway.
        sink: opens what keeps new vectors, for the reader that was opened; None to keep none.
        ask_remote: whether a remote provider may be asked for what the cache lacks.
    """

    def __init__(
        self,
        profile: Profile,
        provider: Provider,
        rules: EgressRules,
        *,
        cache: Callable[[EmbeddingContract], CacheReader | None],
        sink: Callable[[EmbeddingContract, CacheReader], CacheSink] | None,
        ask_remote: bool,
    ) -> None:
        self.profile = profile
        self._provider = provider
        self._rules = rules
        self._open_cache = cache
        self._open_sink = sink
        self._ask_remote = ask_remote
        self._lock = threading.Lock()
        self._cache: tuple[CacheReader | None, CacheSink | None] | None = None
        self._flights: dict[bytes, Future[FloatArray]] = {}

    @property
    def contract(self) -> EmbeddingContract:
        """The terms of the vectors; of a local model this reads its files, once.

        Raises:
            EmbeddingError: `MODEL_UNAVAILABLE`.
        """
        return self._provider.contract

    @property
    def identity(self) -> str:
        """`EmbeddingContract.identity`."""
        return self.contract.identity

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.contract.dimensions

    def may_embed(self, payload: Payload) -> bool:
        """Whether the policy lets a kind of text be embedded; if not, such candidates rank by keywords."""
        return self._rules.may_embed(payload)

    def warm_in_background(self) -> threading.Thread:
        """Load the model without waiting. Nobody is asked, and a failure shows when a text is embedded."""
        thread = threading.Thread(target=self._warm_quietly, name="ragit-model", daemon=True)
        thread.start()
        return thread

    def _warm_quietly(self) -> None:
        try:
            self._provider.warm()
        except Exception:  # noqa: BLE001 - the first text meets the same failure, on a thread that can report it
            return

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose = "document", payload: Payload | None = None
    ) -> FloatArray:
        """One unit vector a text, in order; zeros for a text in which the model knows nothing.

        Texts are expected to be masked. What leaves this process is masked again.

        Args:
            texts: the texts.
            purpose: what for; some models tell queries and documents apart.
            payload: what the texts are for the policy; follows from `purpose` if not given.

        Raises:
            EmbeddingError: `EGRESS_NOT_ALLOWED`, `MCP_REMOTE_EMBEDDING_CACHE_MISS`, `CREDENTIAL_MISSING`,
                `PROVIDER_UNREACHABLE`, `TIMEOUT`, `RESPONSE_INVALID`, `DIMENSION_MISMATCH`, `MODEL_UNAVAILABLE`.
        """
        import numpy as np

        self._rules.require_policy(payload or ("query" if purpose == "query" else "durable-doc"))
        sound = [_encodable(text) for text in texts]
        if not sound:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        if not self.profile.cached:
            return unit_vectors(self._provider.embed(sound, purpose))
        prompt = self._provider.prompt(purpose)
        keys = [cache_key(prompt + text) for text in sound]
        known = self._known(dict(zip(keys, sound, strict=True)), purpose, prompt)
        return np.stack([known[key] for key in keys])

    def _known(self, wanted: dict[bytes, str], purpose: Purpose, prompt: str) -> dict[bytes, FloatArray]:
        reader, sink = self._opened_cache()
        known: dict[bytes, FloatArray] = {}
        if reader is not None:
            found = reader.find([prompt + text for text in wanted.values()])
            known = {key: vector for key, vector in zip(wanted, found, strict=True) if vector is not None}
        missing = {key: text for key, text in wanted.items() if key not in known}
        if missing:
            if self.profile.egress == "remote" and not self._ask_remote:
                raise self._cache_miss(len(missing))
            self._rules.require_consent()
            known.update(self._computed(missing, purpose, prompt, sink))
        return known

    def _opened_cache(self) -> tuple[CacheReader | None, CacheSink | None]:
        with self._lock:
            if self._cache is None:
                contract = self.contract
                reader = self._open_cache(contract)
                keeps = reader is not None and self._open_sink is not None
                self._cache = (
                    reader,
                    self._open_sink(contract, reader) if keeps and reader and self._open_sink else None,
                )
            return self._cache

    def _cache_miss(self, count: int) -> EmbeddingError:
        return EmbeddingError(
            "MCP_REMOTE_EMBEDDING_CACHE_MISS",
            "The embedding provider is remote and its vectors for this request are not in the cache; nothing was sent.",
            details={"provider": self.profile.provider, "model": self.profile.model, "missingCount": count},
        )

    def _computed(
        self, missing: dict[bytes, str], purpose: Purpose, prompt: str, sink: CacheSink | None
    ) -> dict[bytes, FloatArray]:
        """Vectors of texts, each computed by one thread even if several ask for it at the same time."""
        mine: dict[bytes, Future[FloatArray]] = {}
        with self._lock:
            others = {key: self._flights[key] for key in missing if key in self._flights}
            for key in missing:
                if key not in others:
                    mine[key] = self._flights[key] = Future()
        try:
            keys = list(mine)
            for start in range(0, len(keys), _TEXTS_AT_A_TIME):
                part = keys[start : start + _TEXTS_AT_A_TIME]
                vectors = unit_vectors(self._provider.embed([missing[key] for key in part], purpose))
                if sink is not None:
                    sink.add([prompt + missing[key] for key in part], vectors)
                for key, vector in zip(part, vectors, strict=True):
                    mine[key].set_result(vector)
        except BaseException as error:
            for future in mine.values():
                if not future.done():
                    future.set_exception(
                        error if isinstance(error, Exception) else _gave_up(self.profile.provider)
                    )
            raise
        finally:
            with self._lock:
                for key in mine:
                    del self._flights[key]
        # Own work is done before anybody is waited for, so two threads never wait for each other.
        return {key: future.result() for key, future in (mine | others).items()}


def _gave_up(provider: str) -> EmbeddingError:
    return EmbeddingError(
        "PROVIDER_UNREACHABLE",
        "The embedding of the same text was broken off elsewhere.",
        details={"provider": provider, "reason": "cancelled"},
    )


def _encodable(text: str) -> str:
    """The text without lone surrogates, which no provider can be sent."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text

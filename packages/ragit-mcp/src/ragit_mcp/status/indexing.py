"""The store and the embedding behind it: the members `store` and `embedding` of status."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragit_mcp.config import Config
from ragit_mcp.embedding import EmbeddingContract, Profile, resolve_profile
from ragit_mcp.embedding.description import describe_cache, describe_profile, has_credential
from ragit_mcp.errors import RagitError
from ragit_mcp.store import open_store, read_pointer
from ragit_mcp.store.layout import SCHEMA_VERSION

__all__ = ["EmbeddingState", "StoreState", "describe_embedding", "inspect_embedding", "inspect_store"]


@dataclass(frozen=True, slots=True)
class StoreState:
    """The store as it is found.

    Attributes:
        loaded: it opens.
        reason: why it does not: `details.reason` of SNAPSHOT_STORE_UNAVAILABLE, or the code of another error.
        contract: what its vectors are, as far as the pointer says.
        documents: document versions in it.
        chunks: chunks in it.
        size: bytes of its file.
    """

    loaded: bool
    reason: str | None
    contract: EmbeddingContract | None
    documents: int
    chunks: int
    size: int

    def to_json(self, *, search_ready: bool, migration_required: bool) -> dict[str, Any]:
        """The member `store` of status."""
        return {
            "status": "loaded" if self.loaded else "missing" if self.reason == "missing" else "unavailable",
            "reason": self.reason,
            "collections": ["documents", "chunks"] if self.loaded else [],
            "schemaVersion": SCHEMA_VERSION if self.loaded else None,
            "searchReady": search_ready,
            "migrationRequired": migration_required,
            "stats": {"documents": self.documents, "chunks": self.chunks, "bytes": self.size}
            if self.loaded
            else None,
        }


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """What the configuration asks for, beside what the store holds.

    Attributes:
        profile: of the configuration; None if it cannot be resolved.
        error: why it cannot.
        credential: the environment holds what the provider wants.
        mismatch: the store holds vectors of another provider or model; None where that is not known.
    """

    profile: Profile | None
    error: RagitError | None
    credential: bool
    mismatch: bool | None


def inspect_store(root: str | os.PathLike[str]) -> StoreState:
    """Look at the store; never fails."""
    contract: EmbeddingContract | None = None
    try:
        pointer = read_pointer(root)
        contract = pointer.contract
        with open_store(root) as store:
            pointer = store.pointer
            return StoreState(True, None, pointer.contract, pointer.documents, pointer.chunks, pointer.size)
    except RagitError as error:
        return StoreState(False, str(error.details.get("reason") or error.code), contract, 0, 0, 0)


def inspect_embedding(
    config: Config, root: str | os.PathLike[str], store: StoreState, environ: Mapping[str, str]
) -> EmbeddingState:
    """Compare the configuration with the store; loads no model and asks nobody."""
    try:
        profile = resolve_profile(config, environ=environ, root=root)
    except RagitError as error:
        return EmbeddingState(None, error, False, None)
    return EmbeddingState(profile, None, has_credential(profile, environ), _mismatch(profile, store.contract))


def describe_embedding(
    config: Config, root: str | os.PathLike[str], store: StoreState, state: EmbeddingState
) -> dict[str, Any]:
    """The member `embedding` of status."""
    contract = store.contract
    profile = state.profile
    terms = None
    if contract is not None and profile is not None:
        terms = dataclasses.replace(contract, base_url=profile.base_url)
    held = None
    if contract is not None:
        held = {**contract.to_json(), "schemaVersion": SCHEMA_VERSION}
    return {
        "configured": None if profile is None else describe_profile(profile),
        "store": held,
        "cache": None if profile is None else describe_cache(config, root, profile, terms),
        "ready": profile is not None and state.credential and not state.mismatch,
        "needsMigration": bool(state.mismatch),
        "error": None if state.error is None else state.error.code,
    }


def _mismatch(profile: Profile, contract: EmbeddingContract | None) -> bool | None:
    if contract is None:
        return None
    if (profile.provider, profile.model) != (contract.provider, contract.model):
        return True
    # What only a model's files tell is compared when the model is loaded.
    wanted = [(profile.dimensions, contract.dimensions), (profile.version, contract.version)]
    return any(asked is not None and asked != held for asked, held in wanted)

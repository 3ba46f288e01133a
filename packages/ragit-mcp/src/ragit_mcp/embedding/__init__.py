"""Embedding: texts become vectors that can be compared, without anything leaving the machine that may not.

    opening      `open_embedder`: for reading; writes nothing, asks no remote provider
    writing      `open_writing_embedder`: for ingest and the command line; imported by writers only
    embedder     `Embedder.embed`: policy, cache, consent, one computation a text
    egress       what may leave, and who agreed to it
    addresses    base URLs, strictly
    contract     provider, model, version, dimensions: which vectors may be compared
    profile      what the configuration asks for, before anything is loaded
    providers    one module a provider
    local        model files and arithmetic         remote       batches, retries, requests
    cache        vectors on disk                    tokens       counting tokens for a budget
    description  what `status` and `doctor` say     lazy         loading in the background

Nothing of weight (numpy, tokenizers, httpx) is imported before a text is embedded.
"""

from __future__ import annotations

from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.egress import Payload
from ragit_mcp.embedding.embedder import Embedder
from ragit_mcp.embedding.opening import open_embedder
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import resolve_profile

__all__ = [
    "Embedder",
    "EmbeddingContract",
    "Payload",
    "Profile",
    "Purpose",
    "open_embedder",
    "resolve_profile",
]

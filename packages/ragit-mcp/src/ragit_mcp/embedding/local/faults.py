"""The error for a model that cannot be used."""

from __future__ import annotations

from ragit_mcp.errors import EmbeddingError

__all__ = ["model_fault"]


def model_fault(provider: str, part: str, reason: str, *, recovery: str | None = None) -> EmbeddingError:
    """A model's files are missing, damaged or of a kind that is not supported.

    Args:
        provider: the provider that wanted the model.
        part: what is at fault: `weights`, `tokenizer`, `config`, `directory`, ...; never a path.
        reason: stable word for the case.
        recovery: the step that helps, where it is known better than `ragit doctor`.
    """
    return EmbeddingError(
        "MODEL_UNAVAILABLE",
        f"The model of the embedding provider {provider} cannot be used: its {part} is missing, damaged or of a kind "
        "that is not supported.",
        details={"provider": provider, "part": part, "reason": reason},
        recovery=recovery,
    )

"""Length and version of the vectors of a service's model (contract A11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragit_mcp.config import Config
from ragit_mcp.errors import ConfigError

__all__ = ["Vectors", "vectors_of_model"]


@dataclass(frozen=True, slots=True)
class Vectors:
    """What a model's vectors are like."""

    dimensions: int
    version: str


def vectors_of_model(config: Config, known: Mapping[str, int]) -> Vectors:
    """Dimensions and version: of a known model its own, whatever is left in the settings; else the settings'.

    Args:
        config: the configuration.
        known: dimensions of the provider's known models.

    Raises:
        ConfigError: `CONFIG_INVALID`: the model is not known and `embedding.dimensions` does not say.
    """
    settings = config.embedding
    dimensions = known.get(settings.model, settings.dimensions)
    if dimensions is None:
        raise ConfigError(
            "CONFIG_INVALID",
            "embedding.dimensions must be set for a model that ragit does not know.",
            details={"key": "embedding.dimensions", "reason": "missing"},
            recovery="ragit config set embedding.dimensions <length of the model's vectors>",
        )
    version = f"{settings.provider}-{settings.model}-{dimensions}"
    if settings.model not in known and settings.version:
        version = settings.version
    return Vectors(dimensions, version)

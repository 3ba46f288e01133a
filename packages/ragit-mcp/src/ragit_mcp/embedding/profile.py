"""What the configuration says about embedding, before anything is loaded: `resolve_profile`.

Cheap and silent: no file is read, no module of weight is imported, nobody is asked. So `status` can show it always.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ragit_mcp.config import Config
from ragit_mcp.embedding.addresses import EgressClass, normalise_base_url
from ragit_mcp.embedding.contract import EmbeddingContract

__all__ = ["Profile", "configured_base_url"]


@dataclass(frozen=True, slots=True)
class Profile:
    """The provider that the configuration asks for.

    Attributes:
        provider: a value of `embedding.provider`.
        model: name of the model.
        version: version of the vectors; None where it follows from files that are not read yet.
        dimensions: length of a vector; None likewise.
        egress: whether text may leave the machine when this provider embeds.
        in_process: the text does not leave this process at all.
        cached: embedding costs enough to keep the vectors on disk.
        timeout_seconds: longest wait for one answer of a service.
        base_url: normalised address of the service.
        well_known: the address is the provider's own, not one that somebody chose.
        model_dir: absolute directory of a local model.
    """

    provider: str
    model: str
    version: str | None
    dimensions: int | None
    egress: EgressClass = "local"
    in_process: bool = True
    cached: bool = False
    timeout_seconds: float = 30.0
    base_url: str | None = None
    well_known: bool = False
    model_dir: str | None = None

    @property
    def contract(self) -> EmbeddingContract | None:
        """The terms of the vectors, as far as the configuration alone tells them."""
        if self.version is None or self.dimensions is None:
            return None
        return EmbeddingContract(self.provider, self.model, self.version, self.dimensions, self.base_url)


def configured_base_url(config: Config, environ: Mapping[str, str], variable: str, default: str) -> str:
    """The normalised address of a service: the setting, else the provider's environment variable, else its own (A11).

    Raises:
        ConfigError: `CONFIG_INVALID`, without the address.
    """
    if config.embedding.base_url and config.embedding.base_url.strip():
        return normalise_base_url(config.embedding.base_url)
    if environ.get(variable, "").strip():
        return normalise_base_url(environ[variable], key=variable)
    return default


def model_directory(config: Config, root: str | os.PathLike[str] | None) -> str | None:
    """The absolute directory that `embedding.model_dir` names; a relative one is meant below the repository's root."""
    named = config.embedding.model_dir
    if named is None:
        return None
    return os.path.abspath(os.path.join(root or os.curdir, os.path.expanduser(named)))

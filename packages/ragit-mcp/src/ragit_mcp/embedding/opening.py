"""Opening an embedder for reading: it looks vectors up, computes on this machine, and writes nothing.

What writes opens one with `ragit_mcp.embedding.writing`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ragit_mcp.config import Config
from ragit_mcp.embedding.cache.place import Namespace, cache_off_reason, namespace_directory
from ragit_mcp.embedding.cache.reading import CacheReader
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.embedding.egress import EgressRules
from ragit_mcp.embedding.embedder import CacheSink, Embedder
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import open_provider, resolve_profile

__all__ = ["assemble", "namespace_of", "open_embedder"]


def open_embedder(
    config: Config,
    root: str | os.PathLike[str],
    *,
    environ: Mapping[str, str] | None = None,
    use_cache: bool = True,
) -> Embedder:
    """The embedder of a reader: a remote provider is never asked, the cache never written.

    Args:
        config: the configuration.
        root: the repository's root.
        environ: environment variables; the process's own if None.
        use_cache: False where the cache must not be trusted, because the commit brings it.

    Raises:
        ConfigError: `CONFIG_INVALID`.
        EmbeddingError: `MODEL_NOT_ALLOWED`.
    """
    return assemble(config, root, environ, use_cache=use_cache, sink=None, ask_remote=False)


def assemble(
    config: Config,
    root: str | os.PathLike[str],
    environ: Mapping[str, str] | None,
    *,
    use_cache: bool,
    sink: Callable[[Namespace, CacheReader], CacheSink] | None,
    ask_remote: bool,
) -> Embedder:
    """Put an embedder together; arguments as `open_embedder` and `Embedder`."""
    variables = os.environ if environ is None else environ
    profile = resolve_profile(config, environ=variables, root=root)

    def cache(contract: EmbeddingContract) -> CacheReader | None:
        namespace = namespace_of(config, root, profile, contract) if use_cache else None
        return None if namespace is None else CacheReader(namespace)

    return Embedder(
        profile,
        open_provider(profile, environ=variables),
        EgressRules(profile, config),
        cache=cache,
        sink=None if sink is None else lambda _, reader: sink(reader.namespace, reader),
        ask_remote=ask_remote,
    )


def namespace_of(
    config: Config, root: str | os.PathLike[str], profile: Profile, contract: EmbeddingContract
) -> Namespace | None:
    """The cache's place for a contract; None where nothing is kept."""
    directory = namespace_directory(config, contract)
    if directory is None or cache_off_reason(config, profile) is not None:
        return None
    return Namespace(os.fspath(root), directory, contract)

"""Opening an embedder for what writes: ingest, and queries of the command line.

It asks remote providers, where policy and consent allow, and keeps their vectors. Nothing that serves reading only imports
this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ragit_mcp.config import Config
from ragit_mcp.embedding.cache.writing import CacheWriter
from ragit_mcp.embedding.embedder import Embedder
from ragit_mcp.embedding.opening import assemble

__all__ = ["open_writing_embedder"]


def open_writing_embedder(
    config: Config,
    root: str | os.PathLike[str],
    *,
    environ: Mapping[str, str] | None = None,
    use_cache: bool = True,
) -> Embedder:
    """The embedder of a writer; arguments and errors as `open_embedder`."""
    return assemble(config, root, environ, use_cache=use_cache, sink=CacheWriter, ask_remote=True)

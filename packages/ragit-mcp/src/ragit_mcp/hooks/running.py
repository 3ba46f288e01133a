"""What an installed hook does: index HEAD on top of the nearest commit that is indexed (contract B).

It takes the place of `ragit ingest --since <HEAD^ or ORIG_HEAD>` and knows one thing more: that commit may not be
indexed, because it was made while the hooks were not installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from mcpkit.git import GitError, Repository
from ragit_mcp.config import load_config
from ragit_mcp.ingest import IngestRequest, IngestResult
from ragit_mcp.snapshots import indexed_commits, work_tree_root
from ragit_mcp.snapshots.selection import nearest_indexed_ancestor

__all__ = ["plan_hook", "run_hook"]

_LOCK_WAIT_SECONDS: Final = 5.0
_OTHER_BASES: Final[Mapping[str, tuple[str, ...]]] = {"post-commit": (), "post-merge": ("ORIG_HEAD",)}
_SETTING: Final[Mapping[str, str]] = {"post-commit": "hooks.post_commit", "post-merge": "hooks.post_merge"}


def run_hook(
    repository: Repository,
    name: str,
    ingest: Callable[[IngestRequest], IngestResult],
    *,
    environ: Mapping[str, str],
) -> IngestResult | None:
    """Bring the index up to HEAD.

    Args:
        repository: the repository.
        name: one of `HOOK_NAMES`.
        ingest: indexes.
        environ: environment variables.

    Returns:
        What was done; None if there was nothing to do.

    Raises:
        RagitError: of the configuration, the repository or the ingest.
    """
    root = work_tree_root(repository)
    config = load_config(root, environ=environ)
    if not os.path.isdir(os.path.join(root, ".ragit")) or not config.values[_SETTING[name]]:
        return None
    request = plan_hook(repository, root, name)
    return None if request is None else ingest(request)


def plan_hook(repository: Repository, root: str, name: str) -> IngestRequest | None:
    """What has to be indexed; None if HEAD is indexed already, or if there is no commit."""
    head = repository.head().oid
    indexed = indexed_commits(root)
    if head is None or head in indexed:
        return None
    command = f"ragit hooks run {name}"
    bases = [*repository.commit(head).parents, *_named(repository, _OTHER_BASES[name])]
    base = next((oid for oid in bases if oid in indexed), None)
    if base is None or not repository.is_ancestor(base, head):
        base = nearest_indexed_ancestor(repository, root, head)
    if base is None:
        return IngestRequest(mode="all", command=command, lock_wait_seconds=_LOCK_WAIT_SECONDS)
    return IngestRequest(mode="since", since=base, command=command, lock_wait_seconds=_LOCK_WAIT_SECONDS)


def _named(repository: Repository, names: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for name in names:
        try:
            found.append(repository.resolve(name))
        except GitError:
            continue
    return found

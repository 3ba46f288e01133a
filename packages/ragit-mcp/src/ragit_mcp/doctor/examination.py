"""Runs the checks in order, each on what the ones before found out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from mcpkit.git import GitError, Repository
from ragit_mcp.config import Config, load_config
from ragit_mcp.doctor import checks
from ragit_mcp.doctor.findings import Check, Examination, bad, good
from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import open_repository, work_tree_root

__all__ = ["examine"]


def examine(
    place: str | os.PathLike[str],
    *,
    environ: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Examination:
    """Look for what is wrong with a repository's index and with what ragit runs on.

    Args:
        place: a path in the work tree.
        environ: environment variables; the process's own if None.
        now: the time that "recent" is counted from; the present if None.
    """
    variables = os.environ if environ is None else environ
    found: list[Check] = []
    repository = _repository(place, found)
    if repository is None:
        found += checks.runtime()
        return Examination(tuple(found))
    root = work_tree_root(repository)
    found.append(checks.structure(root))
    found.append(checks.untracked(repository, root))
    found.append(checks.write_lock(root))
    found.append(checks.transactions(root))
    config = _config(root, variables, found)
    found += checks.runtime()
    if config is not None:
        found += checks.embedding(config, root, variables)
        found += checks.security(config, root, variables, now or datetime.now(UTC))
    found += checks.store(repository, root)
    found += checks.legacy(root)
    found.append(checks.hooks(repository, variables))
    return Examination(tuple(found))


def _repository(place: str | os.PathLike[str], found: list[Check]) -> Repository | None:
    try:
        repository = open_repository(place)
        work_tree_root(repository)
        head = repository.head()
    except RagitError as error:
        found.append(bad("git.repository", error.message, error.recovery))
        return None
    except GitError as error:
        found.append(bad("git.repository", error.reason, "git status"))
        return None
    if head.unborn:
        found.append(good("git.repository", "a repository without a commit yet"))
    else:
        kind = repository.layout.kind.replace("_", " ")
        shallow = ", shallow" if repository.shallow else ""
        found.append(good("git.repository", f"{kind}, {repository.object_format}{shallow}"))
    return repository


def _config(root: str, environ: Mapping[str, str], found: list[Check]) -> Config | None:
    try:
        config = load_config(root, environ=environ)
    except RagitError as error:
        found.append(bad("ragit.config", error.message, error.recovery))
        return None
    found.append(checks.configuration(config))
    return config

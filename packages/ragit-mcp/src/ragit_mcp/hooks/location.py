"""Where git looks for hooks (githooks(5), git-config(1) on core.hooksPath).

Configuration is read as data, file by file, from the one that counts most: the worktree's, the repository's, the
user's, the system's. Nothing that any of them names is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from mcpkit.git import Repository
from mcpkit.git.process import find_git
from ragit_mcp.snapshots import work_tree_root

__all__ = ["HooksDirectory", "Source", "find_hooks_directory"]

Source = Literal["default", "worktree", "repository", "user", "system"]
_KEY: Final = "core.hooksPath"


@dataclass(frozen=True, slots=True)
class HooksDirectory:
    """The directory of hooks.

    Attributes:
        path: absolute.
        source: which configuration names it; `default` if none does.
        shared: other repositories run the hooks in it, too.
        in_work_tree: it lies in the work tree, where git may track it.
    """

    path: str
    source: Source
    shared: bool
    in_work_tree: bool


def find_hooks_directory(repository: Repository, environ: Mapping[str, str]) -> HooksDirectory:
    """The directory from which git runs the hooks of a work tree; it need not exist.

    Args:
        repository: the repository.
        environ: environment variables: where the user's configuration lies.

    Raises:
        SnapshotError: `REPOSITORY_UNUSABLE` for a repository without a work tree.
        GitError: git does not work.
    """
    root = work_tree_root(repository)
    for source, value in _named(repository, environ):
        path = os.path.normpath(os.path.join(root, _expanded(value, environ)))
        return HooksDirectory(
            path, source, shared=source in {"user", "system"}, in_work_tree=_is_below(path, root, repository)
        )
    path = os.path.join(repository.layout.common_dir, "hooks")
    return HooksDirectory(path, "default", shared=False, in_work_tree=False)


def _named(repository: Repository, environ: Mapping[str, str]) -> Iterator[tuple[Source, str]]:
    layout = repository.layout
    worktree = os.path.join(layout.git_dir, "config.worktree")
    if (repository.config_value("extensions.worktreeConfig") or "").lower() in {"true", "yes", "on", "1"}:
        yield from _value_in(repository, "worktree", worktree)
    local = repository.config_value(_KEY)
    if local:
        yield "repository", local
    for path in _user_files(environ):
        yield from _value_in(repository, "user", path)
    for path in _system_files(environ):
        yield from _value_in(repository, "system", path)


def _value_in(repository: Repository, source: Source, path: str) -> Iterator[tuple[Source, str]]:
    if not os.path.isfile(path):
        return
    answer = repository.run("config", "--file", path, "--includes", "--null", "--get", _KEY)
    value = answer.output.removesuffix(b"\0").decode("utf-8", "surrogateescape")
    if answer.code == 0 and value:
        yield source, value


def _user_files(environ: Mapping[str, str]) -> list[str]:
    named = environ.get("GIT_CONFIG_GLOBAL")
    if named is not None:
        return [named] if os.path.isabs(named) else []
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    xdg = environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else "")
    files = [
        os.path.join(home, ".gitconfig") if home else "",
        os.path.join(xdg, "git", "config") if xdg else "",
    ]
    return [path for path in files if os.path.isabs(path)]


def _system_files(environ: Mapping[str, str]) -> list[str]:
    if (environ.get("GIT_CONFIG_NOSYSTEM") or "").lower() in {"1", "true", "yes", "on"}:
        return []
    named = environ.get("GIT_CONFIG_SYSTEM")
    if named is not None:
        return [named] if os.path.isabs(named) else []
    prefix = os.path.dirname(os.path.dirname(find_git()))
    return [
        os.path.join(os.path.abspath(os.sep), "etc", "gitconfig"),
        os.path.join(prefix, "etc", "gitconfig"),
    ]


def _expanded(value: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    if home and (value == "~" or value.startswith("~/")):
        return home + value[1:]
    return value


def _is_below(path: str, root: str, repository: Repository) -> bool:
    real = os.path.realpath(path)
    layout = repository.layout
    in_git = _contains(layout.git_dir, real) or _contains(layout.common_dir, real)
    return _contains(root, real) and not in_git


def _contains(base: str, path: str) -> bool:
    try:
        return os.path.commonpath([path, base]) == base
    except ValueError:  # another drive
        return False

"""Which branch of a checkout is the one that others build on.

Needs mcpkit's git room, so it is imported when a call needs it.
"""

from __future__ import annotations

from typing import Final

from mcpkit.git import GitError, Repository

__all__ = ["branch_commit", "trunk_of"]

_REMOTE: Final = "refs/remotes/origin/"
_USUAL: Final = ("main", "master")


def trunk_of(repository: Repository) -> str | None:
    """Name of the trunk: the remote's default branch, else `main` or `master`, whichever there is (contract 4.2).

    Raises:
        GitError: git cannot be asked.
    """
    named = repository.symbolic_ref(f"{_REMOTE}HEAD")
    if named is not None and named.startswith(_REMOTE) and named != f"{_REMOTE}HEAD":
        return named.removeprefix(_REMOTE)
    return next((name for name in _USUAL if branch_commit(repository, name) is not None), None)


def branch_commit(repository: Repository, name: str, *, remote_first: bool = False) -> str | None:
    """The commit of a branch, the local one or origin's as last fetched; None if there is neither.

    Args:
        repository: where to look.
        name: short name.
        remote_first: prefer origin's.

    Raises:
        GitError: `bad_argument` for what cannot be a branch's name; git cannot be asked.
    """
    places = [f"refs/heads/{name}", f"{_REMOTE}{name}"]
    for ref in reversed(places) if remote_first else places:
        if repository.read_ref(ref) is not None:
            try:
                return repository.resolve(ref)
            except GitError as error:
                if error.kind != "unknown_revision":  # a branch that names no commit is no branch
                    raise
    return None

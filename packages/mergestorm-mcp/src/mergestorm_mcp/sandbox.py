"""Which files an agent may have read: those below one root, which the host chooses and no argument can move.

The root is MERGESTORM_SANDBOX_ROOT, or the server's working directory. Where the host chose nothing and the server
happens to stand in a home directory or above one, nothing is read at all (contract section 4 and issue 5, section 2).
A repository's own data (git directory, common directory, alternates) has to lie below the root as well, or below one of
the directories in MERGESTORM_SANDBOX_GIT_DIRS, which is how a host allows linked worktrees.
"""

from __future__ import annotations

import os

from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import EXIT_USAGE, CommandError, usage

__all__ = ["directory_inside", "git_directories", "lies_below", "sandbox_root"]


def sandbox_root(environment: Environment) -> str:
    """The real path of the root.

    Raises:
        CommandError: `sandbox_root_required` (exit 2) where nothing was configured and the working directory is the
            file system's root, the home directory or above it; `usage` for a configured root that is no directory.
    """
    configured = environment.text("MERGESTORM_SANDBOX_ROOT")
    root = os.path.realpath(os.path.join(environment.working_directory, os.path.expanduser(configured)))
    if not os.path.isdir(root):
        raise usage("The sandbox root is not a directory; the host has to correct MERGESTORM_SANDBOX_ROOT.")
    home = os.path.realpath(environment.home) if environment.home else ""
    if not configured and (os.path.dirname(root) == root or (home and lies_below(home, root))):
        raise CommandError(
            "The server stands in a home directory or above one, so it reads no local files. The host has to set "
            "MERGESTORM_SANDBOX_ROOT to the checkout.",
            exit_code=EXIT_USAGE,
            code="sandbox_root_required",
        )
    return root


def git_directories(environment: Environment) -> list[str]:
    """Where repositories may keep their data: the root and what the host added."""
    added = environment.text("MERGESTORM_SANDBOX_GIT_DIRS")
    return [
        sandbox_root(environment),
        *(os.path.realpath(part) for part in added.split(os.pathsep) if part.strip()),
    ]


def directory_inside(environment: Environment, cwd: str | None) -> str:
    """The real path of a directory an agent named; the working directory if it named none.

    Raises:
        CommandError: `usage` (exit 2) if it is not an existing directory below the root; as `sandbox_root`.
    """
    root = sandbox_root(environment)
    if cwd is not None and ("\0" in cwd or not cwd.strip()):
        raise usage("cwd must be the path of a directory inside the sandbox root.")
    place = os.path.realpath(os.path.join(environment.working_directory, cwd or ""))
    if not lies_below(place, root) or not os.path.isdir(place):
        raise usage("cwd must be a directory inside the configured sandbox root (MERGESTORM_SANDBOX_ROOT).")
    return place


def lies_below(path: str, root: str) -> bool:
    """Whether a real path is the root or below it."""
    try:
        return os.path.commonpath([os.path.normcase(path), os.path.normcase(root)]) == os.path.normcase(root)
    except ValueError:  # another drive
        return False

"""The checkout a person stands in, as the sandbox of what reads it.

A server is told its root by its host. At a command line the person chose the directory, so the root is the top of the
checkout around it unless MERGESTORM_SANDBOX_ROOT says otherwise; without a checkout it is the directory itself, a home
directory too, so that the command says what is missing: a checkout. The data of a linked worktree lies elsewhere: it is
allowed where it names this worktree in turn, which is what git itself records and a foreign `.git` file cannot forge.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from mergestorm_mcp.config import Environment

__all__ = ["standing"]

_MAX_POINTER: Final = 4096
_MAX_DEPTH: Final = 256


def standing(environment: Environment) -> Environment:
    """The environment with the checkout around its working directory as the sandbox root."""
    if environment.text("MERGESTORM_SANDBOX_ROOT"):
        return environment
    here = os.path.realpath(environment.working_directory)
    top = _top(here) or here
    variables = {**environment.variables, "MERGESTORM_SANDBOX_ROOT": top}
    common = _worktree_data(top)
    if common is not None:
        added = [environment.text("MERGESTORM_SANDBOX_GIT_DIRS"), common]
        variables["MERGESTORM_SANDBOX_GIT_DIRS"] = os.pathsep.join(part for part in added if part)
    return replace(environment, variables=variables)


def _top(directory: str) -> str | None:
    for _ in range(_MAX_DEPTH):
        if os.path.lexists(os.path.join(directory, ".git")):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    return None


def _worktree_data(top: str) -> str | None:
    """The common directory of a linked worktree, if it knows this worktree."""
    pointer = _first_line(os.path.join(top, ".git"))
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    back, common = _first_line(os.path.join(own, "gitdir")), _first_line(os.path.join(own, "commondir"))
    if back is None or common is None:
        return None
    here = os.path.normcase(os.path.realpath(os.path.join(top, ".git")))
    if os.path.normcase(os.path.realpath(os.path.join(own, back))) != here:
        return None
    return os.path.realpath(os.path.join(own, common))


def _first_line(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="strict") as stream:
            return stream.readline(_MAX_POINTER).strip() or None
    except (OSError, UnicodeError):
        return None

"""One repository within one transaction: what every rule about stacks looks at."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from mergestorm_mcp.service.github.bare import Bare, MergeResult
from mergestorm_mcp.service.github.hub import GitHubRepository, Hub
from mergestorm_mcp.service.pace import iso

if TYPE_CHECKING:
    from mergestorm_mcp.service.world import World

__all__ = ["PARK_PREFIX", "UNIT_PREFIX", "Site", "is_reserved"]

UNIT_PREFIX = "mg-stack-"
PARK_PREFIX = "mg-park-"


def is_reserved(branch: str) -> bool:
    """Whether a branch is one of the service's own."""
    return branch.startswith((UNIT_PREFIX, PARK_PREFIX))


@dataclass(frozen=True, slots=True)
class Site:
    """A repository, its git side, and the transaction that reads or changes its rows.

    Attributes:
        world: the service.
        connection: of the caller's transaction.
        repository: the repository's row.
        git: its bare repository.
    """

    world: World
    connection: sqlite3.Connection
    repository: GitHubRepository
    git: Bare

    @classmethod
    def of(cls, world: World, connection: sqlite3.Connection, repo_id: int) -> Site:
        """The repository with that id.

        Raises:
            LookupError: there is none.
            GitError: its git side cannot be read.
        """
        repository = world.hub.repository(connection, repo_id)
        return cls(world, connection, repository, world.hub.git(repository))

    @property
    def hub(self) -> Hub:
        """The GitHub side."""
        return self.world.hub

    @property
    def repo_id(self) -> int:
        """Id of the repository."""
        return self.repository.id

    def now(self) -> str:
        """The time as rows keep it."""
        return iso(self.world.pace.now())

    def moment(self) -> datetime:
        """The time."""
        return self.world.pace.now()

    def merge(self, base: str, head: str) -> MergeResult:
        """What merging a head into a base would give; worked out once for every pair."""
        return _merge(self.git, base, head)

    def contains(self, descendant: str, ancestor: str) -> bool:
        """Whether a commit has another in its history; worked out once for every pair."""
        return _contains(self.git, descendant, ancestor)

    def diff_base(self, base: str, head: str) -> str:
        """The left side of a pull request's difference; the base itself for unrelated histories."""
        return _merge_base(self.git, base, head) or base

    def line_counts(self, base: str, head: str) -> tuple[int, int]:
        """Lines that a pull request adds and deletes."""
        return _line_counts(self.git, self.diff_base(base, head), head)


# Commits never change, so neither do these answers.
@lru_cache(maxsize=2048)
def _merge(git: Bare, base: str, head: str) -> MergeResult:
    return git.merge(base, head)


@lru_cache(maxsize=2048)
def _contains(git: Bare, descendant: str, ancestor: str) -> bool:
    return git.is_ancestor(ancestor, descendant)


@lru_cache(maxsize=2048)
def _merge_base(git: Bare, base: str, head: str) -> str | None:
    return git.merge_base(base, head)


@lru_cache(maxsize=2048)
def _line_counts(git: Bare, base: str, head: str) -> tuple[int, int]:
    return git.line_counts(base, head)

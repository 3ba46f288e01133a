"""What a command knows: the invocation, the directory, and, when it asks, repository and configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.parsing import Invocation

if TYPE_CHECKING:
    from mcpkit.git import Repository
    from ragit_mcp.cli.screen import Screen
    from ragit_mcp.config import Config

__all__ = ["Answer", "Context"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say.

    Attributes:
        data: the member `data` of the envelope.
        draw: draws the same for people; gets the data as it is after masking. None for nothing to see.
        warnings: what there is to warn of.
        ok: the member `ok`; False where checks failed.
        exit_code: exit code of the process.
    """

    data: Any
    draw: Callable[[Screen, Any], None] | None
    warnings: tuple[str, ...] = ()
    ok: bool = True
    exit_code: int = 0


@dataclass
class Context:
    """What a command is given.

    Attributes:
        invocation: the command line.
        place: absolute directory to work on.
        environ: environment variables.
        quiet: nothing but the reply is wanted: no progress.
    """

    invocation: Invocation
    place: str
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    quiet: bool = False

    @cached_property
    def repository(self) -> Repository:
        """The repository that holds the directory.

        Raises:
            SnapshotError: `REPOSITORY_UNUSABLE`.
        """
        from ragit_mcp.snapshots import open_repository

        return open_repository(self.place)

    @cached_property
    def root(self) -> str:
        """Top directory of the work tree; git is not started to find it.

        Raises:
            SnapshotError: `REPOSITORY_UNUSABLE`.
        """
        from mcpkit.git import GitError, discover
        from ragit_mcp.snapshots.repository import coded_git_errors

        with coded_git_errors():
            found = discover(self.place).work_tree
            if found is None:
                raise GitError("bare_repository")
            return found

    @cached_property
    def config(self) -> Config:
        """The configuration of the repository.

        Raises:
            ConfigError: it cannot be read.
        """
        from ragit_mcp.config import load_config

        return load_config(self.root, environ=self.environ)

    @property
    def progress_to_terminal(self) -> bool:
        """Whether progress can be shown in place."""
        return sys.stderr is not None and sys.stderr.isatty()

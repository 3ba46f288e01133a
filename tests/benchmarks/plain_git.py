"""git as benchmarks use it: without the settings of whoever measures, and with a name of nobody's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.benchmarks.peers import environment

__all__ = ["git"]


def git(folder: Path, *arguments: str, data: bytes | None = None) -> None:
    """Run git.

    Args:
        folder: where.
        arguments: what it is to do.
        data: what it reads.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    identity = (
        *("-c", "user.name=bench"),
        *("-c", "user.email=bench@example.invalid"),
        *("-c", "core.autocrlf=false"),
    )
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, input=data, env={**environment(), **nobody}, check=True,
        capture_output=True,
    )  # fmt: skip

"""The command line `mergeway-cli`: validates a repository and shows what is in it.

arguments       what can be said, and the help texts
application     runs a command and turns its outcome into output and an exit code
commands        one function a command
answers         what commands return: data for programs, a drawing for people
documents       YAML and JSON

Drawing and writing are `mcpkit.terminal`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script.

    Args:
        arguments: `sys.argv[1:]` unless given.

    Returns:
        0 when all is well, 1 when validation found something or the command failed, 2 when the command line is wrong,
        130 after an interrupt.
    """
    try:
        from .application import run  # inside, so that an interrupt while it is imported ends quietly as well

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return 130

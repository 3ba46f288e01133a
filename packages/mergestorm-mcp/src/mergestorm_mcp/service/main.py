"""The console script `mergestorm-local`: one command, its output and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mcpkit.cli import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE, complain

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code.

    Args:
        arguments: `sys.argv[1:]` unless given.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    from mergestorm_mcp.service.cli import LineError, parse

    try:
        values = parse(words or ["--help"])
    except SystemExit as answered:  # help or the version was printed
        return int(answered.code or 0)
    except LineError as error:
        return _complain(f"{error.message}; see {error.hint}", EXIT_USAGE)
    from mergestorm_mcp.service import commands  # everything the service needs

    try:
        return {"serve": commands.serve, "scenarios": commands.scenarios, "ui": commands.ui}[values.command](
            values
        )
    except commands.UsageProblem as problem:
        return _complain(str(problem), EXIT_USAGE)
    except commands.StartProblem as problem:
        return _complain(str(problem), EXIT_FAILURE)
    except KeyboardInterrupt:  # before it served
        return EXIT_INTERRUPTED


def _complain(message: str, code: int) -> int:
    complain("mergestorm-local", message)
    return code


if __name__ == "__main__":
    raise SystemExit(main())

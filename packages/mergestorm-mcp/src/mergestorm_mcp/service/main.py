"""The console script `mergestorm-local`: one command, its output and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXIT_FAILURE = 1
_EXIT_USAGE = 2
_EXIT_INTERRUPTED = 130


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
        return _complain(f"{error.message}; see {error.hint}", _EXIT_USAGE)
    from mergestorm_mcp.service import commands  # everything the service needs

    try:
        return {"serve": commands.serve, "scenarios": commands.scenarios, "ui": commands.ui}[values.command](
            values
        )
    except commands.UsageProblem as problem:
        return _complain(str(problem), _EXIT_USAGE)
    except commands.StartProblem as problem:
        return _complain(str(problem), _EXIT_FAILURE)
    except KeyboardInterrupt:  # before it served
        return _EXIT_INTERRUPTED


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"mergestorm-local: {' '.join(message.split())}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs a command and turns what comes of it into output and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from mcpkit.cli import complain
from mcpkit.terminal.output import OutputFailure, abandon_output, write_output
from mcpkit.terminal.visible import one_line

from .answers import EXIT_FAILURE, EXIT_OK, EXIT_USAGE, Answer, CommandFailure, UsageError
from .arguments import PROGRAM, Answered, Options, parse

_FORMATS: Final = ("yaml", "json", "table")
_TRACEBACK: Final = "MERGEWAY_CLI_TRACEBACK"


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        The exit code.
    """
    try:
        return _run(arguments)
    except UsageError as error:
        _complain(error.message)
        return EXIT_USAGE
    except CommandFailure as error:
        _complain(error.message)
        return EXIT_FAILURE
    except OutputFailure as failure:
        _complain(f"cannot write the output ({failure}); free the space or choose another place")
        return EXIT_FAILURE
    except KeyboardInterrupt:
        abandon_output()  # what was not written must not hold up the end
        raise
    except Exception as error:  # a mistake in this program: one line, no contents of the repository
        if os.environ.get(_TRACEBACK):
            raise
        _complain(f"unexpected {type(error).__name__}; please report it, with what {_TRACEBACK}=1 adds")
        return EXIT_FAILURE


def _run(arguments: Sequence[str]) -> int:
    try:
        options = parse(arguments)
    except Answered as answered:
        write_output(answered.text)
        return EXIT_OK
    if options.format is not None and options.format not in _FORMATS:
        # Exit code 1, not 2: scripts written for the recorded reference expect it.
        raise CommandFailure(f"--format is none of {', '.join(_FORMATS)}")
    from mergeway_mcp.repository import EngineError  # after the command line has been found right

    from .commands import COMMAND_FUNCTIONS

    try:
        answer = COMMAND_FUNCTIONS[options.command](options)
    except EngineError as error:
        raise CommandFailure(error.message) from None
    if options.output is not None and options.output != "-":
        _write_file(options.output, _rendered(answer, _file_format(options)))
    else:
        terminal = sys.stdout is not None and sys.stdout.isatty()
        write_output(
            _rendered(answer, options.format or ("table" if terminal else "yaml"), terminal=terminal)
        )
    for note in answer.notes:
        _complain(f"note: {note}")
    return answer.exit_code


def _file_format(options: Options) -> str:
    if options.format in {"json", "yaml"}:
        return str(options.format)
    return "json" if (options.output or "").lower().endswith(".json") else "yaml"


def _rendered(answer: Answer, format_: str, *, terminal: bool = False) -> str:
    from .documents import to_json_text, to_yaml_text

    if format_ == "json":
        return to_json_text(answer.data if answer.json_data is None else answer.json_data)
    if format_ == "yaml" or answer.draw is None:
        return to_yaml_text(answer.data)
    # Not at the top: the drawing library costs more to import than most commands take.
    from mcpkit.terminal.screen import Screen

    screen = Screen(terminal=terminal)
    answer.draw(screen)
    return screen.text


def _write_file(path: str, text: str) -> None:
    from mcpkit.files import FileAccessError, atomic_write

    try:
        atomic_write(path, text.encode("utf-8", "backslashreplace"), _mode_for(path))
    except FileAccessError as error:
        raise CommandFailure(
            f"cannot write {path}: {error.reason}; name a file in a folder you may write to"
        ) from None


def _mode_for(path: str) -> int:
    """The permissions that writing the file the plain way would leave."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _complain(message: str) -> None:
    complain(PROGRAM, one_line(message))

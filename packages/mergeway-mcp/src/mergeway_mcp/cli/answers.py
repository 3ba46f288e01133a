"""What a command has to say: once as data for programs, once as a drawing for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mcpkit.terminal.screen import Screen

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2


class UsageError(Exception):
    """The command line is wrong: exit code 2.

    Attributes:
        message: What is wrong and what is expected.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CommandFailure(Exception):
    """The command cannot do what it was asked for: exit code 1.

    Attributes:
        message: What failed and what to do next.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Answer(NamedTuple):
    """The outcome of a command.

    Attributes:
        data: Ready for YAML and, unless `json_data` differs, for JSON.
        draw: Draws the same for people; None when they get YAML too.
        exit_code: 0, or 1 when validation found something.
        json_data: What JSON gets instead of `data`, or None.
        notes: Remarks for stderr, one line each.
    """

    data: Any
    draw: Callable[[Screen], None] | None = None
    exit_code: int = EXIT_OK
    json_data: Any = None
    notes: tuple[str, ...] = ()

"""What a command hands back: a document for programs, a view for people, an exit code for shells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mergestorm_mcp.answers import thrown
from mergestorm_mcp.errors import EXIT_GENERIC, EXIT_RATE_LIMITED, EXIT_USAGE, CommandError
from mergestorm_mcp.mg.terminal import Terminal
from mergestorm_mcp.runtime import Runtime

__all__ = ["Call", "Outcome", "error_document", "exit_code_of"]


@dataclass(frozen=True, slots=True)
class Call:
    """One command that was asked for.

    Attributes:
        values: what was given, by name; a flag that was not given is missing unless it has a default.
        runtime: the outside world.
        terminal: where to talk.
    """

    values: Mapping[str, Any]
    runtime: Runtime
    terminal: Terminal

    def only(self, *names: str) -> dict[str, Any]:
        """The values of these names that were given."""
        return {name: self.values[name] for name in names if name in self.values}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        document: what `--json` prints.
        show: prints the same for people.
        exit_code: what the process ends with.
        as_json: print the document even without `--json`.
    """

    document: Mapping[str, Any]
    show: Callable[[Terminal], None]
    exit_code: int = 0
    as_json: bool = False


def error_document(error: CommandError) -> dict[str, Any]:
    """The document of a command that failed: members that are not set are left out."""
    return dict(thrown(error).data)


def exit_code_of(error: Mapping[str, Any], default: int = EXIT_GENERIC) -> int:
    """The exit code of a tool's error."""
    code = error.get("code")
    if code == "rate_limited":
        return EXIT_RATE_LIMITED
    if code == "invalid_input" and "exit_code" not in error and "status" not in error:
        return EXIT_USAGE  # refused by the input schema, before anything was sent
    return int(error.get("exit_code", default))

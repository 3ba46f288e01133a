"""The console script `mg`: one command, its output and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

TYPE_CHECKING = False  # help and mistakes need next to nothing
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from mergestorm_mcp.mg.outcome import Call, Outcome
    from mergestorm_mcp.mg.terminal import Terminal
    from mergestorm_mcp.runtime import Runtime

__all__ = ["main", "run"]

_MODULES = {
    "login": "login",
    "logout": "login",
    "review": "reviews",
    "pr": "reviews",
    "queue": "queue",
    "status": "reviews",
    "stack wait": "stacks",
    "stack watch": "stacks",
}
_IN_A_CHECKOUT = {"review", "issue create", "stack publish", "stack publish-status"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code.

    Args:
        arguments: `sys.argv[1:]` unless given.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    from mcpkit.terminal.output import speak_utf8

    speak_utf8()
    from mergestorm_mcp.mg.parser import LineError, parse

    try:
        values = parse(words or ["--help"])
        if "command" not in values:
            values = parse(["--help"])
    except SystemExit as answered:  # help or the version was printed
        return int(answered.code or 0)
    except LineError as error:
        return _refuse_line(error, as_json="--json" in words)
    return _started(values)


def _refuse_line(error: Any, *, as_json: bool) -> int:
    from mergestorm_mcp.errors import CommandError
    from mergestorm_mcp.mg.outcome import error_document
    from mergestorm_mcp.mg.terminal import Terminal

    terminal = Terminal()
    message = f"{error.message}; see {error.hint}"
    terminal.note(f"mg: {message}")
    if as_json:
        terminal.document(error_document(CommandError(message, exit_code=error.exit_code, code="usage")))
    return int(error.exit_code)


def _started(values: dict[str, Any]) -> int:
    import signal

    import anyio

    from mcpkit.terminal.output import abandon_output
    from mergestorm_mcp.errors import EXIT_ABORTED, EXIT_GENERIC
    from mergestorm_mcp.mg.terminal import Terminal
    from mergestorm_mcp.runtime import Runtime

    async def inside() -> int:
        runtime = Runtime()
        terminal = Terminal(colour=not runtime.environment.text("NO_COLOR"))
        try:
            return await run(values, runtime, terminal)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours is reported without keys
            from mergestorm_mcp.fault_reports import masked_report

            sys.stderr.write(masked_report(error, runtime.environment))
            return EXIT_GENERIC
        finally:
            await runtime.aclose()

    # A supervisor ends a watch with SIGTERM; it is to end as Ctrl+C does, with its document and connections closed.
    # A shell that puts a command into the background may have it ignore Ctrl+C, and SIGTERM would be ignored with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return anyio.run(inside)
    except KeyboardInterrupt:
        return EXIT_ABORTED
    except BrokenPipeError:
        # Whoever read the output is gone; keep Python from complaining when it flushes at exit.
        abandon_output()
        return EXIT_GENERIC


async def run(values: dict[str, Any], runtime: Runtime, terminal: Terminal) -> int:
    """Run one command and print its outcome.

    Args:
        values: from `mergestorm_mcp.mg.parser.parse`.
        runtime: the outside world.
        terminal: where to print.

    Returns:
        The exit code.
    """
    from mergestorm_mcp.errors import CommandError
    from mergestorm_mcp.mg.outcome import Call, error_document
    from mergestorm_mcp.mg.words import refusal

    try:
        if values["command"] in _IN_A_CHECKOUT:
            from mergestorm_mcp.mg.place import standing

            runtime.environment = standing(runtime.environment)
        outcome = await _command(values["command"])(Call(values, runtime, terminal))
    except CommandError as error:
        terminal.note(f"mg: {refusal(error.message, error.code, error.reason)}")
        if values["json"]:
            terminal.document(error_document(error))
        return error.exit_code
    if values["json"] or outcome.as_json:
        terminal.document(outcome.document)
    else:
        outcome.show(terminal)
    return outcome.exit_code


def _command(name: str) -> Callable[[Call], Awaitable[Outcome]]:
    from importlib import import_module

    module = import_module(f"mergestorm_mcp.mg.{_MODULES.get(name, 'twins')}")
    command: Callable[[Call], Awaitable[Outcome]] = module.COMMANDS[name]
    return command


if __name__ == "__main__":
    raise SystemExit(main())

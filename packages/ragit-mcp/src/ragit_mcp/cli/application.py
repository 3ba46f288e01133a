"""Runs a command and turns what comes of it into output and an exit code (contract B)."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from mcpkit.terminal.output import OutputFailure, abandon_output, write_error, write_output
from ragit_mcp import __version__
from ragit_mcp.cli.catalogue import PROGRAM, Command
from ragit_mcp.cli.envelope import OutputFormat, choose_format, envelope, render_envelope
from ragit_mcp.cli.help_text import command_help, general_help, group_help
from ragit_mcp.cli.parsing import Invocation, Sketch, parse, sketch, usage_error
from ragit_mcp.errors import RagitError

__all__ = ["run"]

EXIT_FAILURE: Final = 1
_TRACEBACK: Final = "RAGIT_TRACEBACK"
_LISTED: Final = 10
_SHOWN_CHARACTERS: Final = 300


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        The exit code.
    """
    seen = sketch(arguments)
    try:
        return _run(seen)
    except RagitError as error:
        return _fail(seen, error)
    except OutputFailure as failure:
        write_error(
            f"[{PROGRAM}] error: the output cannot be written ({failure}); make room or choose another place"
        )
        return EXIT_FAILURE
    except KeyboardInterrupt:
        abandon_output()  # what was not written must not hold up the end
        raise
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        write_error(
            f"[{PROGRAM}] error: unexpected {type(error).__name__}; please report it, with what {_TRACEBACK}=1 adds"
        )
        return EXIT_FAILURE


def _run(seen: Sketch) -> int:
    if seen.version:
        write_output(f"{PROGRAM} {__version__}\n")
        return 0
    if seen.help or (not seen.words and not seen.given):
        write_output(_help(seen))
        return 0
    invocation = parse(seen)
    from ragit_mcp.cli.context import Context

    context = Context(invocation, _place(invocation))
    chosen = _format(seen, invocation.command, context)
    context.quiet = chosen == "json"
    module = importlib.import_module(f"ragit_mcp.cli.commands.{invocation.command.module}")
    answer = module.run(context)
    reply = envelope(
        invocation.command.name,
        _reply_cwd(context.place),
        data=answer.data,
        ok=answer.ok,
        warnings=answer.warnings,
    )
    write_output(_rendered(_masked(reply), answer, chosen))
    return int(answer.exit_code)


def _help(seen: Sketch) -> str:
    if seen.command is not None and not seen.command.hidden:
        return command_help(seen.command)
    return (group_help(seen.words[0]) if seen.words else None) or general_help()


def _place(invocation: Invocation) -> str:
    place = os.path.abspath(invocation.cwd or os.curdir)
    if not os.path.isdir(place):
        raise usage_error("--cwd names no directory.", reason="bad_value", command=invocation.command)
    return place


def _reply_cwd(place: str) -> str:
    """The top of the work tree, where there is one."""
    from mcpkit.git import GitError, discover

    try:
        return discover(place).work_tree or place
    except GitError:
        return place


def _format(seen: Sketch, command: Command, context: Any) -> OutputFormat:
    configured: str | None = None
    by_user = False
    # Read only where it may decide: most commands in a pipe need no configuration to know their format.
    if seen.format is None and (_is_terminal() or command.format == "both"):
        try:
            configured = context.config.output.format
            by_user = context.config.chosen_by_user("output.format")
        except RagitError:
            pass  # whoever needs the configuration will say what is wrong with it
    return choose_format(
        command, seen.format, terminal=_is_terminal(), configured=configured, configured_by_user=by_user
    )


def _masked(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply without secrets; the path of the repository is the user's own and stays what it is."""
    from ragit_mcp.safety import masked_reply

    masked: dict[str, Any] = masked_reply(reply).value
    masked["cwd"] = reply["cwd"]
    return masked


def _rendered(reply: dict[str, Any], answer: Any, chosen: OutputFormat) -> str:
    if chosen == "json":
        return render_envelope(reply)
    if answer.draw is None:
        return render_envelope(reply) if chosen == "both" else ""
    from ragit_mcp.cli.screen import (
        Screen,  # the drawing library costs more to import than most commands take
    )

    screen = Screen(terminal=_is_terminal())
    answer.draw(screen, reply["data"])
    for warning in reply["warnings"]:
        screen.whole_line(("warning: ", "warning"), warning)  # some end in a command to be copied
    return screen.text + (render_envelope(reply) if chosen == "both" else "")


def _fail(seen: Sketch, error: RagitError) -> int:
    """An operational failure: text on stderr, the envelope on stdout, each where the format asks for it."""
    chosen = choose_format(seen.command, seen.format, terminal=_is_terminal())
    name = seen.command.name if seen.command is not None else PROGRAM
    place = next((value for flag, value in reversed(seen.given) if flag == "cwd" and value), os.curdir)
    reply = _masked(
        envelope(name, _reply_cwd(os.path.abspath(place)), data=None, ok=False, error=error.payload())
    )
    try:
        if chosen != "text":
            write_output(render_envelope(reply))
    except OutputFailure:
        chosen = "text"  # then at least say it
    if chosen != "json":
        write_error(_failure_text(name, reply["error"]))
    return error.exit_code


def _failure_text(name: str, error: dict[str, Any]) -> str:
    from mcpkit.terminal.visible import one_line

    head = name if name == PROGRAM else f"{PROGRAM} {name}"
    lines = [f"{head}: {one_line(error['message'])}", f"  code: {error['code']}"]
    for key, value in error["details"].items():
        if value is None or value in ([], {}):
            continue
        items = value if isinstance(value, list) else [value]
        shown = ", ".join(str(item) for item in items[:_LISTED])
        more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
        lines.append(f"  {key}: {one_line(shown)[:_SHOWN_CHARACTERS]}{more}")
    lines.append(f"  next: {one_line(error['recovery']['command'])}")
    return "\n".join(lines)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()

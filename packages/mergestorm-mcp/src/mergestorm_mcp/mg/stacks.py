"""`mg stack wait` and `mg stack watch`: what an agent's host runs in the background."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import anyio

from mergestorm_mcp.errors import EXIT_ATTENTION, EXIT_GENERIC, EXIT_RATE_LIMITED, EXIT_TIMEOUT
from mergestorm_mcp.mg.outcome import Call, Outcome, error_document
from mergestorm_mcp.mg.terminal import Terminal
from mergestorm_mcp.mg.words import in_commands
from mergestorm_mcp.stacks.envelope import WatchEnvelope
from mergestorm_mcp.stacks.lines import blockers_summary, repair_line
from mergestorm_mcp.stacks.reader import ApiStackReader
from mergestorm_mcp.stacks.watch import StackWatchError, StackWatchTimeout, WatchTerms, watch_slice
from mergestorm_mcp.stacks.watch_loop import LoopOptions, watch_loop

__all__ = ["COMMANDS"]

_DEFAULT_WAIT: Final = 45.0


async def wait(call: Call) -> Outcome:
    """One slice of a watch: exit 0 for attention and for the end of the stack, 5 when the time is up."""
    stack_id, runtime = call.values["stack_id"], call.runtime
    reader = ApiStackReader(runtime.api())
    with call.terminal.waiting(f"Waiting for stack {stack_id}") as progress:
        terms = WatchTerms(
            runtime.clock, call.values.get("timeout", _DEFAULT_WAIT), runtime.jitter, progress=progress
        )
        try:
            envelope = await watch_slice(reader, stack_id, terms)
        except StackWatchTimeout as timeout:
            unread = timeout.envelope.status == "failed"  # not one good read: that is no "nothing happened"
            return _shown(timeout.envelope, EXIT_GENERIC if unread else EXIT_TIMEOUT)
        except StackWatchError as error:
            if not error.envelope.done:
                return _unread(error)
            envelope = error.envelope
    return _shown(envelope, 0)


async def watch(call: Call) -> Outcome:
    """The watch loop. Its lines are the result; with `--json` they go to stderr and the document is the result."""
    values, runtime, terminal = call.values, call.runtime, call.terminal
    options = LoopOptions(
        until=values.get("until", "attention"),
        ignore=tuple(values.get("ignore", ())),
        max_minutes=values.get("max_minutes"),
        head=values.get("head"),
    )

    def say(text: str) -> None:
        terminal.signal(text, aside=values["json"])

    try:
        reader = ApiStackReader(runtime.api())
        with terminal.waiting(f"Watching stack {values['stack_id']}"):
            ended = await watch_loop(
                reader, values["stack_id"], options, clock=runtime.clock, say=say, jitter=runtime.jitter
            )
    except anyio.get_cancelled_exc_class():  # Ctrl+C; whoever reads JSON still gets a document
        if values["json"]:
            with contextlib.suppress(OSError):
                terminal.document({"stackId": values["stack_id"], "outcome": "aborted"})
        raise

    def advise(terminal: Terminal) -> None:
        if (
            ended.exit_code == EXIT_ATTENTION and terminal.interactive
        ):  # a host matches lines and needs no advice
            terminal.note(f"What is wrong and what mends it: mg stack status {values['stack_id']}")

    return Outcome(ended.document, advise, ended.exit_code)


COMMANDS: Final = {"stack wait": wait, "stack watch": watch}


def _shown(envelope: WatchEnvelope, exit_code: int) -> Outcome:
    document = envelope.wire()
    return Outcome(document, lambda terminal: _show(terminal, document), exit_code)


def _unread(error: StackWatchError) -> Outcome:
    document = error.envelope.wire(error.retry_after)
    document["error"] = error_document(error.error)["error"]
    if error.retry_after is not None:
        document["retry_after_seconds"] = error.retry_after
    limited = error.error.code == "rate_limited"

    def show(terminal: Terminal) -> None:
        _show(terminal, document)
        terminal.note(f"mg: {error.error.message}")

    return Outcome(document, show, EXIT_RATE_LIMITED if limited else EXIT_GENERIC)


def _show(terminal: Terminal, document: dict[str, Any]) -> None:
    line = f"stack {document['stackId']} · {document['status']}{blockers_summary(document)}"
    if document["assessment"] == "unavailable":
        line += " · assessment unavailable"
    terminal.line(line)
    repair = repair_line(document["repair"])
    if repair is not None:
        terminal.line(in_commands(repair))
    if document["watch"].get("done"):
        terminal.line(document["watch"]["message"])

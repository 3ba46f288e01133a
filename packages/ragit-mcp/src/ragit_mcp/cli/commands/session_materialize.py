"""`ragit session materialize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.artifacts.capture import materialize_session
from ragit_mcp.cli.commands.artifact_review import draw_captured
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.cli.wording import counted
from ragit_mcp.safety import AdmissionMode
from ragit_mcp.snapshots.repository import coded_git_errors

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Capture what a session taught."""
    line = context.invocation
    named = line.text("input")
    if named is None:
        raise usage_error("The session is read from --input.", reason="missing_input", command=line.command)
    with coded_git_errors():
        head = context.repository.head().oid
    outcome = materialize_session(
        context.root,
        read_input(context.root, context.place, named),
        mode=AdmissionMode(context.config.security.admission_mode),
        head_sha=head,
        dry_run=line.has("dry-run"),
    )
    return Answer(outcome.data, _draw, outcome.warnings)


def _draw(screen: Screen, data: Any) -> None:
    screen.line("session ", (data["sessionId"], "name"), f": {counted(len(data['artifacts']), 'artifact')}")
    draw_captured(screen, data["artifacts"], data["created"], dry_run=data["dryRun"])

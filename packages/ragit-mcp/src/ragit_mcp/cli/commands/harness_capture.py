"""`ragit harness capture`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.artifacts.capture import capture_harness
from ragit_mcp.cli.commands.artifact_review import draw_captured
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.safety import AdmissionMode
from ragit_mcp.snapshots.repository import coded_git_errors

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Capture one piece of the harness."""
    line = context.invocation
    named = line.text("input")
    if named is None:
        raise usage_error("The artifact is read from --input.", reason="missing_input", command=line.command)
    with coded_git_errors():
        head = context.repository.head().oid
    outcome = capture_harness(
        context.root,
        read_input(context.root, context.place, named),
        mode=AdmissionMode(context.config.security.admission_mode),
        head_sha=head,
        dry_run=line.has("dry-run"),
    )
    return Answer(outcome.data, _draw, outcome.warnings)


def _draw(screen: Screen, data: Any) -> None:
    draw_captured(screen, [data["artifact"]], data["created"], dry_run=data["dryRun"])

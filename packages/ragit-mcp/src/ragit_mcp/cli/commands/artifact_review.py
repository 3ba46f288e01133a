"""`ragit artifact review`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragit_mcp.artifacts.capture import review_artifact
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["draw_captured", "run"]


def run(context: Context) -> Answer:
    """Change the status of an artifact."""
    line = context.invocation
    named = line.text("input")
    if named is not None:
        document = read_input(context.root, context.place, named)
    else:
        if not line.arguments or not line.has("status"):
            raise usage_error(
                "An artifact and --status are needed, or --input.",
                reason="missing_argument",
                command=line.command,
            )
        document = {"artifactId": line.arguments[0], "status": line.text("status")}
        if line.has("note"):
            document["note"] = line.text("note")
    outcome = review_artifact(context.root, document, dry_run=line.has("dry-run"))
    return Answer(outcome.data, _draw, outcome.warnings)


def _draw(screen: Screen, data: Any) -> None:
    if data["changed"]:
        word = "would be" if data["dryRun"] else "is now"
        screen.line((data["artifactId"], "name"), f" was {data['previousStatus']}, {word} {data['status']}")
    else:
        screen.line((data["artifactId"], "name"), f" stays {data['status']}")


def draw_captured(screen: Screen, artifacts: Sequence[Any], created: Sequence[str], *, dry_run: bool) -> None:
    """Artifacts that were captured, or would be."""
    fresh = "would be captured" if dry_run else "captured"
    screen.table(
        ["artifact", "kind", "", "title"],
        [
            [
                (entry["artifactId"], "name"),
                entry["kind"],
                (fresh, "good") if entry["artifactId"] in created else ("known", "faint"),
                entry["title"],
            ]
            for entry in artifacts
        ],
    )

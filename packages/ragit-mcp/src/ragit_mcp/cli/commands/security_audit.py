"""`ragit security audit`: looks for secrets in everything that ragit keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.wording import counted
from ragit_mcp.ledger.audit import audit
from ragit_mcp.ledger.writing import record_audit

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Look, and keep the outcome unless it is a dry run."""
    line = context.invocation
    outcome = audit(context.root, line.text("target") or "all")
    data: dict[str, Any] = {**outcome.to_json(), "dryRun": line.has("dry-run"), "recordedAt": None}
    if not line.has("dry-run"):
        data["recordedAt"] = record_audit(context.root, unsafe=outcome.unsafe)
    warnings = (
        ("Secrets were found; index again, and remove the named files if they stay.",)
        if outcome.unsafe
        else ()
    )
    return Answer(data, _draw, warnings)


def _draw(screen: Screen, data: Any) -> None:
    screen.line(
        f"{counted(data['scannedFiles'], 'file')} and {counted(data['scannedChunks'], 'chunk')} were looked at"
    )
    screen.table(
        ["place", "secrets", "kinds"],
        [
            [(found["path"], "bad"), str(found["count"]), ", ".join(found["kinds"])]
            for found in data["findings"]
        ],
    ) if data["findings"] else screen.line(("no secret was found", "good"))

"""`ragit doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.doctor import examine

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Cell, Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Every check; exit 1 if one failed."""
    examination = examine(context.place, environ=context.environ)
    failed = examination.has_failure
    return Answer(examination.to_json(), _draw, ok=not failed, exit_code=int(failed))


def _draw(screen: Screen, data: Any) -> None:
    rows: list[list[Cell]] = []
    for check in data["checks"]:
        mark: Cell = ("ok", "good") if check["ok"] else ("FAIL", "bad")
        rows.append([mark, (check["name"], "name"), check["detail"]])
        if "recovery" in check:
            rows.append(["", "", (f"next: {check['recovery']}", "warning")])
    screen.table(["", "check", "found"], rows)
    failed = sum(not check["ok"] for check in data["checks"])
    screen.line(
        (f"{failed} of {len(data['checks'])} checks failed", "bad") if failed else ("all is well", "good")
    )

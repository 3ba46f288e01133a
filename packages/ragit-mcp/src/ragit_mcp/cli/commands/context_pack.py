"""`ragit context pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.artifacts.input import InputObject
from ragit_mcp.cli.commands.query import chosen_view, draw_hits, draw_snapshot, opener_of
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.cli.wording import counted
from ragit_mcp.packing import DEFAULT_BUDGET, context_pack
from ragit_mcp.retrieval import SCOPES_ASKED, VIEWS
from ragit_mcp.retrieval.request import MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]

_MAX_BUDGET = 10_000_000
_UNITS = ("words", "tokens")


def run(context: Context) -> Answer:
    """Collect passages for a goal."""
    line = context.invocation
    named = line.text("input")
    if named is not None:
        given = InputObject(read_input(context.root, context.place, named), line.command.input_members)
        goal = given.text("goal", limit=MAX_TEXT_CHARACTERS)
        budget = given.integer("budget", least=1, greatest=_MAX_BUDGET)
        asked: dict[str, Any] = {
            "unit": given.choice("budgetUnit", _UNITS) if given.has("budgetUnit") else None,
            "at": given.optional_text("at", limit=200),
            "scope": given.choice("scope", SCOPES_ASKED, default="durable"),
            "view": given.choice("view", VIEWS, default="default"),
        }
    else:
        goal = " ".join(line.arguments)
        budget = line.number("budget")
        asked = {
            "unit": line.text("budget-unit"),
            "at": line.text("at"),
            "scope": line.text("scope") or "durable",
            "view": chosen_view(line.text("view")),
        }
    if not goal.strip():
        raise usage_error("A goal is needed.", reason="missing_argument", command=line.command)
    data = context_pack(
        context.place,
        goal,
        budget=DEFAULT_BUDGET if budget is None else budget,
        config=context.config,
        environ=context.environ,
        opener=opener_of(context),
        **asked,
    )
    return Answer(data, _draw, tuple(data["warnings"]))


def _draw(screen: Screen, data: Any) -> None:
    draw_snapshot(screen, data["snapshot"])
    selection = data["selection"]
    screen.line(
        (counted(data["selectedHits"], "passage"), "name"),
        f" from {counted(selection['selectedSources'], 'source')}, {data['usedTokens']} of {data['budget']} {data['budgetUnit']}",
        (f" ({selection['candidateHits']} looked at)", "faint"),
    )
    draw_hits(screen, data["hits"], data["goal"])

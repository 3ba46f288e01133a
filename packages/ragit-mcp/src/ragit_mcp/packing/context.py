"""`context_pack`: passages for a goal, as many as a budget admits (contract A14).

The budget counts what is delivered: in view `full` the passages, else their excerpts; in words, or in tokens of the
tokenizer that the reply names. The best 30 passages come first; as long as something is left of the budget the next
ones follow, twice as many each time, until the budget or the snapshot is exhausted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpkit.git import CancelCheck
from ragit_mcp.config import Config
from ragit_mcp.packing.selecting import STRATEGY, SelectionState, check_budget
from ragit_mcp.retrieval import (
    SCOPES_ASKED,
    VIEWS,
    EmbedderOpener,
    Hit,
    Search,
    SearchCancelled,
    Searcher,
    View,
    delivered_text,
)
from ragit_mcp.retrieval.request import check_choice, check_text
from ragit_mcp.safety import Redaction, masked_reply

__all__ = ["DEFAULT_BUDGET", "MAX_CANDIDATES", "Unit", "context_pack"]

Unit = Literal["words", "tokens"]

DEFAULT_BUDGET: Final = 1200
#: Passages looked at first.
_FIRST_CANDIDATES: Final = 30
#: Passages looked at at most; with so many behind them, those that follow have nothing to do with the goal.
MAX_CANDIDATES: Final = 7_680
_UNITS: Final = ("words", "tokens")
_WORDS: Final = "whitespace"


@dataclass(frozen=True, slots=True)
class _Item:
    """A hit and what it costs."""

    hit: Hit
    cost: int

    @property
    def citation_id(self) -> str:
        return self.hit.citation.id

    @property
    def family(self) -> str:
        return self.hit.family


def context_pack(
    place: str | os.PathLike[str] | Searcher,
    goal: str,
    *,
    budget: int = DEFAULT_BUDGET,
    unit: Unit | None = None,
    at: str | None = None,
    scope: str = "durable",
    view: View = "default",
    config: Config | None = None,
    cancel: CancelCheck | None = None,
    environ: Mapping[str, str] | None = None,
    opener: EmbedderOpener | None = None,
) -> dict[str, Any]:
    """Collect passages for a goal.

    Args:
        place: a path in the work tree; or a searcher, which keeps store and model open between calls.
        goal: any text.
        budget: how much may be delivered together, counted in `unit`.
        unit: `words` or `tokens`; `retrieval.budget_unit` if None.
        at: the commit, as `select_snapshot` takes it; HEAD's if None.
        scope: one of `SCOPES_ASKED`.
        view: how much of each passage is delivered.
        config: the configuration; read from the repository if None.
        cancel: asked now and then whether to stop.
        environ: environment variables; of a searcher its own.
        opener: opens the embedder; of a searcher its own.

    Returns:
        The member `data` of the envelope, masked. Its `warnings` are the envelope's.

    Raises:
        CommandError: `INPUT_INVALID`.
        RagitError: snapshot, configuration, store or embedding.
        SearchCancelled: `cancel` said so.
    """
    if not isinstance(place, Searcher):
        with Searcher(place, environ=environ, opener=opener) as searcher:
            return context_pack(
                searcher,
                goal,
                budget=budget,
                unit=unit,
                at=at,
                scope=scope,
                view=view,
                config=config,
                cancel=cancel,
            )
    text = check_text("goal", goal)
    check_budget(budget)
    check_choice("scope", scope, SCOPES_ASKED)
    check_choice("view", view, VIEWS)
    if unit is not None:
        check_choice("budgetUnit", unit, _UNITS)
    with place.search(text, at=at, scope=scope, config=config, cancel=cancel) as search:
        counted: Unit = unit or search.config.retrieval.budget_unit
        state = _fill(search, budget, view, counted, cancel)
        warnings = [*search.warnings]
        if not state.candidates:
            warnings += ["No passage of this snapshot has anything to do with the goal.", *search.advice()]
        elif not state.selected:
            warnings.append("context pack budget admitted no complete hit")
        reply = masked_reply({
            "goal": search.question,
            "snapshotSha": search.selection.commit,
            "snapshot": search.selection.info.to_json(),
            "scope": scope,
            "budget": budget,
            "budgetUnit": counted,
            "tokenizer": _tokenizer_name(counted),
            "usedTokens": state.used,
            "selectedHits": len(state.selected),
            "selection": {
                "strategy": STRATEGY,
                "candidateHits": state.candidates,
                "uniqueCitations": state.unique,
                "selectedSources": state.sources,
                "duplicateCitationsSkipped": state.duplicates,
                "budgetRejectedHits": state.rejected,
            },
            "warnings": warnings,
            "hits": [item.hit.to_json(view) for item in state.selected],
        })
    data: dict[str, Any] = reply.value
    hits = data.pop("hits")
    data["redactionSummary"] = (
        Redaction(search.hidden, ("goal",) if search.hidden else ()) + reply.redaction
    ).to_json()
    data["hits"] = hits
    return data


def _fill(
    search: Search, budget: int, view: View, unit: Unit, cancel: CancelCheck | None
) -> SelectionState[_Item]:
    state: SelectionState[_Item] = SelectionState(budget)
    count = _counter(unit)
    seen, wanted = 0, _FIRST_CANDIDATES
    while True:
        if cancel is not None and cancel():
            raise SearchCancelled
        ranked = search.best(wanted)[seen:]
        costs = count([delivered_text(hit.text, view) for hit in ranked])
        state.add([_Item(hit, cost) for hit, cost in zip(ranked, costs, strict=True)])
        seen += len(ranked)
        if seen < wanted or state.left <= 0 or wanted >= MAX_CANDIDATES:
            return state
        wanted = min(wanted * 2, MAX_CANDIDATES)


def _counter(unit: Unit) -> Callable[[Sequence[str]], list[int]]:
    if unit == "words":
        return lambda texts: [len(text.split()) for text in texts]
    from ragit_mcp.embedding.tokens import count_tokens  # loads the tokenizer's library

    return count_tokens


def _tokenizer_name(unit: Unit) -> str:
    if unit == "words":
        return _WORDS
    from ragit_mcp.embedding.tokens import TOKENIZER_NAME

    return TOKENIZER_NAME

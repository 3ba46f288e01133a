"""Which passages go into a budget: `citation-diverse-v2` (contract A14).

A citation counts once. In the order of rank the first passage of each source that fits is taken, then whatever else
fits: a pack rather shows several sources than one source several times. A passage is taken whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from ragit_mcp.errors import CommandError

__all__ = ["MAX_BUDGET", "STRATEGY", "Packable", "SelectionState", "check_budget", "select"]

STRATEGY: Final = "citation-diverse-v2"
#: Greatest budget that is taken for one; beyond it somebody's arithmetic went wrong.
MAX_BUDGET: Final = 2**53 - 1


class Packable(Protocol):
    """What can be packed."""

    @property
    def citation_id(self) -> str:
        """Id of its citation."""

    @property
    def family(self) -> str:
        """Its source."""

    @property
    def cost(self) -> int:
        """What it takes of the budget."""


Item = TypeVar("Item", bound=Packable)


@dataclass(slots=True)
class SelectionState(Generic[Item]):
    """What has been taken, and what was seen on the way.

    Attributes:
        budget: what may be taken together.
        selected: what was taken, in order.
        used: cost of it.
        candidates: passages seen.
        unique: distinct citations among them.
        rejected: those of them that did not fit.
    """

    budget: int
    selected: list[Item] = field(default_factory=list)
    used: int = 0
    candidates: int = 0
    unique: int = 0
    _citations: set[str] = field(default_factory=set)
    _families: set[str] = field(default_factory=set)

    @property
    def left(self) -> int:
        """What is left of the budget."""
        return self.budget - self.used

    @property
    def sources(self) -> int:
        """Distinct sources of what was taken."""
        return len(self._families)

    @property
    def duplicates(self) -> int:
        """Passages whose citation had been seen."""
        return self.candidates - self.unique

    @property
    def rejected(self) -> int:
        """Citations that are not in the pack."""
        return self.unique - len(self.selected)

    def add(self, ranked: Sequence[Item]) -> None:
        """Take what fits of further passages, which rank below all before them."""
        fresh: list[Item] = []
        for item in ranked:
            self.candidates += 1
            if item.citation_id not in self._citations:
                self._citations.add(item.citation_id)
                fresh.append(item)
        self.unique += len(fresh)
        later: list[Item] = []
        for item in fresh:
            if item.family in self._families or item.cost > self.left:
                later.append(item)
            else:
                self._take(item)
        for item in later:
            if item.cost <= self.left:
                self._take(item)

    def _take(self, item: Item) -> None:
        self.selected.append(item)
        self.used += item.cost
        self._families.add(item.family)


def select(ranked: Sequence[Item], budget: int) -> SelectionState[Item]:
    """Select from passages in the order of rank.

    Raises:
        CommandError: `INPUT_INVALID`, see `check_budget`.
    """
    state: SelectionState[Item] = SelectionState(check_budget(budget))
    state.add(ranked)
    return state


def check_budget(budget: int) -> int:
    """The budget, if it is one.

    Raises:
        CommandError: `INPUT_INVALID`, reason `not_integer` or `out_of_range`.
    """
    if isinstance(budget, bool) or not isinstance(budget, int):
        reason = "not_integer"
    elif not 1 <= budget <= MAX_BUDGET:
        reason = "out_of_range"
    else:
        return budget
    raise CommandError(
        "INPUT_INVALID",
        "Correct budget: it is a whole number from 1.",
        details={"field": "budget", "reason": reason},
    )

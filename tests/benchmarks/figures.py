"""What a benchmark has found, as Markdown: a ratio against a named peer of the same run, with its target beside it.

A ratio is formed round by round, because both sides of a round met the same load on the machine; what is shown is the
median of those ratios, and the smallest and the largest.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Fact", "Figure", "Report", "as_markdown"]

_SIGNIFICANT = 3


class Figure(NamedTuple):
    """One thing measured beside a peer, alternately.

    Attributes:
        name: What was done.
        peer: What it is compared with.
        ours: One value a round.
        theirs: One value a round, of the same rounds.
        unit: Of both, for instance `ms`.
        at_most: The largest ratio that meets the target, None where there is no target.
        at_least: The smallest ratio that meets the target, for what should be large.
    """

    name: str
    peer: str
    ours: Sequence[float]
    theirs: Sequence[float]
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratios(self) -> list[float]:
        """Ours by theirs, round by round."""
        return [left / right for left, right in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def target(self) -> str:
        """The target in words, a dash where there is none."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "-" if self.at_least is None else f"≥ {self.at_least:g}"

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None where there is none."""
        if self.at_most is not None:
            return self.ratio <= self.at_most
        return None if self.at_least is None else self.ratio >= self.at_least

    def as_json(self) -> dict[str, Any]:
        """Medians, ratios and target."""
        return {
            "name": self.name,
            "peer": self.peer,
            "unit": self.unit,
            "ours": statistics.median(self.ours),
            "theirs": statistics.median(self.theirs),
            "ratio": self.ratio,
            "ratio_min": min(self.ratios),
            "ratio_max": max(self.ratios),
            "rounds": len(self.ours),
            "target": self.target,
            "met": self.met,
        }


class Fact(NamedTuple):
    """Something worth knowing that has no peer in this run."""

    name: str
    value: str


class Report(NamedTuple):
    """Everything one run has found."""

    figures: Sequence[Figure]
    facts: Sequence[Fact]

    @property
    def missed(self) -> list[Figure]:
        """The figures that miss their target."""
        return [figure for figure in self.figures if figure.met is False]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "facts": {fact.name: fact.value for fact in self.facts},
        }

    def as_markdown(self) -> str:
        """Two tables: the figures, and the facts beside them."""
        return as_markdown(self.as_json())


def as_markdown(report: Mapping[str, Any]) -> str:
    """The tables of a report in its JSON form, which is how results are kept."""
    parts: list[str] = []
    if report["figures"]:
        parts.append(
            _table(
                ("What", "Against", "Ours", "Theirs", "Ratio (min to max)", "Rounds", "Target", "Met"),
                map(_row, report["figures"]),
            )
        )
    if report["facts"]:
        parts.append(_table(("For information", ""), report["facts"].items()))
    return "\n".join(parts)


def _row(figure: Mapping[str, Any]) -> tuple[str, ...]:
    middle = f"**{_number(figure['ratio'])}**"
    spread = f" ({_number(figure['ratio_min'])} to {_number(figure['ratio_max'])})"
    return (
        figure["name"],
        figure["peer"],
        f"{_number(figure['ours'])} {figure['unit']}",
        f"{_number(figure['theirs'])} {figure['unit']}",
        middle if figure["rounds"] == 1 else middle + spread,
        str(figure["rounds"]),
        figure["target"],
        "-" if figure["met"] is None else ("yes" if figure["met"] else "**no**"),
    )


def _number(value: float) -> str:
    if value >= 10**_SIGNIFICANT:
        return f"{value:,.0f}"
    return f"{value:.{_SIGNIFICANT}g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

"""The quality of rankers as Markdown, from the JSON form in which results are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.retrieval.metrics import Interval

__all__ = ["FIGURES", "model_tables", "quality_tables"]

FIGURES: Final = ("recall@5", "MRR@10", "nDCG@10")


def quality_tables(results: Mapping[str, Any]) -> str:
    """The tables of every model."""
    return "\n".join(model_tables(name, model) for name, model in results["models"].items())


def model_tables(name: str, model: Mapping[str, Any]) -> str:
    """The figures of each ranker, the best in each column in bold, and ours minus each other with its interval.

    Args:
        name: of the model.
        model: `half`, `questions`, `rankers` (figures by name), `ours_minus` (difference, low and high of each figure).
    """
    rankers: Mapping[str, list[float]] = model["rankers"]
    best = [max(values[column] for values in rankers.values()) for column in range(len(FIGURES))]
    head = f"| ranker | {' | '.join(FIGURES)} |"
    lines = [
        f"### {name}, {model['questions']} questions, half `{model['half']}`",
        "",
        head,
        "|---|---|---|---|",
    ]
    for ranker, values in rankers.items():
        cells = [
            f"**{value:.3f}**" if value == top else f"{value:.3f}"
            for value, top in zip(values, best, strict=True)
        ]
        lines.append(f"| {ranker} | {' | '.join(cells)} |")
    lines += ["", f"| ours minus | {' | '.join(FIGURES)} |", "|---|---|---|---|"]
    for ranker, intervals in model["ours_minus"].items():
        cells = [
            f"{interval.difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}] {_verdict(interval)}"
            for interval in map(Interval._make, intervals)
        ]
        lines.append(f"| {ranker} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _verdict(interval: Interval) -> str:
    return "better" if interval.ours_is_better else "worse" if interval.ours_is_worse else "even"

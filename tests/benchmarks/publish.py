"""Puts kept results into the documentation: tables between their markers, and plots.

    uv run python -m tests.benchmarks.publish

Results are what `python -m tests.benchmarks --write` and `python -m tests.benchmarks.retrieval.evaluate --write` have
kept in `results/`. A test holds that pages and results agree, so a figure is never changed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.figures import as_markdown
from tests.benchmarks.plots import quality_plot, ratio_plot
from tests.benchmarks.retrieval.tables import quality_tables

__all__ = ["RESULTS", "outdated", "publish"]

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = Path(__file__).resolve().parent / "results"
_DOCS: Final = ROOT / "docs"
_TITLES: Final = {
    "mergeway": "mergeway-mcp beside its peers",
    "ragit": "ragit beside its peers",
    "mergestorm": "mergestorm-mcp beside its peers",
}


def _rendered() -> Iterator[tuple[Path, str]]:
    """Every file that is made of results, and what it has to hold."""
    pages: dict[Path, str] = {}

    def put(page: Path, name: str, text: str) -> None:
        before = pages.get(page) or page.read_text(encoding="utf-8")
        pages[page] = _between_markers(before, name, text)

    for name, title in _TITLES.items():
        report = _read(name)
        put(_DOCS / "benchmarks.md", name, as_markdown(report))
        yield _DOCS / "benchmarks" / f"{name}.svg", ratio_plot(title, report["figures"])
    quality = _read("retrieval")
    put(_DOCS / "ragit" / "ranking.md", "retrieval", quality_tables(quality))
    plot = quality_plot("How good the first hits are", quality["models"], figure=1, name="MRR@10")
    yield _DOCS / "benchmarks" / "retrieval.svg", plot
    yield from pages.items()


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _between_markers(page: str, name: str, text: str) -> str:
    start, end = f"<!-- results: {name} -->\n", f"<!-- end of results: {name} -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
    made, count = pattern.subn(lambda _: f"{start}\n{text.strip()}\n\n{end}", page)
    if count != 1:
        raise ValueError(f"one place for the results {name} is needed")
    return made


def outdated() -> list[Path]:
    """The files that do not say what the results say."""
    return [
        path for path, text in _rendered() if not path.exists() or path.read_bytes().decode("utf-8") != text
    ]


def publish() -> None:
    """Write them."""
    for path, text in list(_rendered()):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    publish()

"""Tables and plots of the documentation are what the kept results say."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from tests.benchmarks.figures import Fact, Figure, Report, as_markdown
from tests.benchmarks.plots import quality_plot, ratio_plot
from tests.benchmarks.publish import RESULTS, outdated
from tests.benchmarks.retrieval.tables import quality_tables

SVG = "{http://www.w3.org/2000/svg}"


def report() -> Report:
    return Report(
        [
            Figure("fast & good", "a peer", [1.0, 2.0, 3.0], [10.0, 10.0, 10.0], "ms", at_most=0.5),
            Figure("slow", "a peer", [30.0], [10.0], "ms", at_least=5),
            Figure("free", "a peer", [30.0], [10.0], "ms"),
        ],
        [Fact("machine", "one")],
    )


def test_pages_and_plots_say_what_the_results_say() -> None:
    assert outdated() == [], "run python -m tests.benchmarks.publish"


@pytest.mark.parametrize("name", ["mergeway", "ragit", "mergestorm"])
def test_a_kept_result_names_peer_ratio_and_machine(name: str) -> None:
    kept = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert "processors" in kept["facts"]["machine"]
    for figure in kept["figures"]:
        assert figure["peer"]
        assert figure["ratio_min"] <= figure["ratio"] <= figure["ratio_max"]


def test_a_kept_report_gives_the_same_tables_as_a_fresh_one() -> None:
    fresh = report()
    kept = json.loads(json.dumps(fresh.as_json()))
    assert as_markdown(kept) == fresh.as_markdown()
    assert "| fast & good | a peer | 2 ms | 10 ms | **0.2** (0.1 to 0.3) | 3 | ≤ 0.5 | yes |" in as_markdown(
        kept
    )


def test_a_ratio_plot_shows_every_figure_in_the_colour_of_its_verdict() -> None:
    root = ET.fromstring(ratio_plot("title", report().as_json()["figures"]))
    dots = [dot.attrib for dot in root.iter(f"{SVG}circle")]
    assert [dot["class"] for dot in dots] == ["met", "missed", "free"]
    assert float(dots[0]["cx"]) < float(dots[1]["cx"])
    assert len([line for line in root.iter(f"{SVG}line") if line.attrib["class"] == "target"]) == 2
    assert "fast & good" in [text.text for text in root.iter(f"{SVG}text")]


def test_a_quality_plot_draws_bars_as_long_as_the_figures() -> None:
    models = {"m": {"rankers": {"BM25 alone": [0.1, 0.2, 0.3], "ours": [0.1, 0.4, 0.3]}}}
    root = ET.fromstring(quality_plot("title", models, figure=1, name="MRR@10"))
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.attrib["class"] != "ground"]
    assert [bar.attrib["class"] for bar in bars] == ["theirs", "free"]
    assert float(bars[1].attrib["width"]) == pytest.approx(2 * float(bars[0].attrib["width"]), abs=0.2)


def test_quality_tables_mark_the_best_and_say_what_is_beyond_chance() -> None:
    model = {
        "half": "report",
        "questions": 2,
        "rankers": {"BM25 alone": [0.5, 0.2, 0.3], "ours": [0.4, 0.4, 0.3]},
        "ours_minus": {"BM25 alone": [[-0.1, -0.2, -0.01], [0.2, 0.1, 0.3], [0.0, -0.1, 0.1]]},
    }
    lines = quality_tables({"models": {"m": model}}).splitlines()
    assert lines[0] == "### m, 2 questions, half `report`"
    assert "| BM25 alone | **0.500** | 0.200 | **0.300** |" in lines
    last = lines[-1].strip("| ").split(" | ")
    assert [cell.split()[-1] for cell in last[1:]] == ["worse", "better", "even"]

"""The benchmarks run and report what they promise; what they measure is for people to read, so no figure is asserted."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

Run = Callable[..., str]

FIGURES = {
    "start": 5,
    "warm": 4,
    "load": 1,
    "memory": 2,
    "large": 0,
    "http": 3,
    "ragit-start": 2,
    "ragit-ingest": 3,
    "ragit-memory": 2,
    "ragit-query": 4,
    "mergestorm": 4,
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", FIGURES)
def test_a_tiny_run_reports_every_figure_of_its_group(run_module: Run, group: str) -> None:
    report = json.loads(run_module("", "--scale", "tiny", "--only", group, "--json"))
    assert len(report["figures"]) == FIGURES[group]
    assert "machine" in report["facts"]
    for figure in report["figures"]:
        assert figure["ours"] > 0
        assert figure["theirs"] > 0
        assert figure["ratio_min"] <= figure["ratio"] <= figure["ratio_max"]
        assert figure["target"] == "-" or figure["met"] in {True, False}


def test_the_tables_are_markdown_with_the_target_beside_each_ratio(run_module: Run) -> None:
    lines = run_module("", "--scale", "tiny", "--only", "load").splitlines()
    head = lines[0]
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "What",
        "Against",
        "Ours",
        "Theirs",
        "Ratio (min to max)",
        "Rounds",
        "Target",
        "Met",
    ]
    assert {line.count("|") for line in lines[:3]} == {head.count("|")}


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_the_full_run_reports_every_figure(run_module: Run) -> None:
    report = json.loads(run_module("", "--json"))
    assert len(report["figures"]) == 5 + 2 * (4 + 1 + 2) + 3 + 2 + 3 + 2 + 2 * 4 + 4

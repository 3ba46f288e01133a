"""docs/surface.md: what the tools cost an agent, held to the surfaces and to the budgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def surface_page(root: Path, script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(root / "docs" / "surface_page.py")


def test_the_page_says_what_the_surfaces_cost_today(surface_page: ModuleType) -> None:
    # To write it anew: uv run docs/surface_page.py
    assert surface_page.PAGE.read_text(encoding="utf-8") == surface_page.page()


def test_every_server_keeps_its_budget_by_both_rulers(surface_page: ModuleType, root: Path) -> None:
    servers = sorted(path.parents[2].name for path in root.glob("packages/*/src/*/surface.json"))
    assert sorted(surface_page.TOOLS_BUDGETS) == servers
    over = []
    for server, budget in surface_page.TOOLS_BUDGETS.items():
        costs = surface_page.costs(server)
        over += [f"{server}: {max(costs['all tools'])}"] * (max(costs["all tools"]) > budget)
        over += [f"{server}: instructions"] * (max(costs["instructions"]) > surface_page.INSTRUCTIONS_BUDGET)
    assert over == []
    assert set(surface_page.TOOLS_BUDGETS.values()) == {2_000, 8_000}


def test_the_rulers_measure_what_they_are_given(surface_page: ModuleType) -> None:
    short, long = surface_page.llama_tokens("a word"), surface_page.llama_tokens("a word " * 100)
    assert 0 < short < 5
    assert 150 < long < 300

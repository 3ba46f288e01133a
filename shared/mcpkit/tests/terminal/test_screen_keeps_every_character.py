"""Drawings fit their width and lose nothing to it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpkit.terminal.screen import Screen
from mcpkit.terminal.visible import visible

cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize("columns", [1, 40, 61, 80, 300])
@given(rows=st.lists(st.lists(cells, min_size=5, max_size=5), max_size=5))
def test_every_visible_character_of_a_table_appears(columns: int, rows: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        screen = Screen(terminal=True)
        screen.table(["A", "B", "C", "D", "E"], rows)

    def characters(text: str) -> Counter[str]:
        return Counter(character for character in text if not character.isspace())

    kept = [name for at, name in enumerate("ABCDE") if any(row[at] for row in rows)]
    assert characters(screen.text) == characters(
        "".join([*kept, *(visible(cell) for row in rows for cell in row)])
    )


def test_without_a_terminal_a_line_is_as_long_as_it_needs_to_be() -> None:
    screen = Screen(terminal=False)
    screen.table(["A", "B"], [["x" * 500, ("y z " * 200, "bad")]])
    assert screen.text.count("\n") == 2
    assert "\x1b" not in screen.text


def test_a_table_without_rows_is_empty() -> None:
    screen = Screen(terminal=False)
    screen.table(["A"], [])
    assert screen.text.strip() == ""

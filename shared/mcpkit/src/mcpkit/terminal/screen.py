"""Draws tables and coloured lines for people.

A drawing is made as a text first and reaches the terminal in one piece: nothing is half shown when a command fails, and
one place decides about the encoding. Every text is made safe here, whoever hands it in.

Needs rich, which costs more to import than most commands take: import this module only where something is drawn.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import Final, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mcpkit.terminal.visible import visible

__all__ = ["LEAST_WIDTH", "STYLES", "Cell", "Screen", "Tone"]

Tone = Literal["plain", "good", "bad", "warning", "name", "faint", "found"]
Cell = str | tuple[str, Tone]

STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "name": "bold",
    "faint": "dim",
    "found": "bold yellow",
}
"""What a tone is in rich's terms."""
# Enough for any line where there is no terminal to fill.
_UNBOUNDED: Final = 100_000
LEAST_WIDTH: Final = 40
"""A narrower terminal is drawn for as if it had so many columns."""
_GAP: Final = 2


class Screen:
    """A drawing in the making.

    Args:
        terminal: it is for a terminal, whose width and colours count; otherwise neither is used.

    Attributes:
        width: columns there are; None without a terminal, where lines are as long as they need to be.
        console: rich's side of it, for drawings of a program's own.
    """

    def __init__(self, *, terminal: bool) -> None:
        self._text = io.StringIO()
        width = max(shutil.get_terminal_size().columns, LEAST_WIDTH) if terminal else _UNBOUNDED
        self.width: int | None = width if terminal else None
        colour = terminal and _wants_colour()
        self.console = Console(
            file=self._text,
            width=width,
            force_terminal=colour,
            color_system="auto" if colour else None,
            legacy_windows=False,
            markup=False,
            highlight=False,
            emoji=False,
            soft_wrap=False,
        )

    def line(self, *parts: Cell) -> None:
        """A line of text, parts of it in a tone."""
        self.console.print(_joined(parts), overflow="fold")

    def whole_line(self, *parts: Cell) -> None:
        """Like `line`, without breaks of its own: the terminal wraps it, and a command in it can be copied."""
        self.console.print(_joined(parts), soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """A table; with a header unless all its names are empty. Columns that are empty throughout are left out."""
        cells = [[_toned(cell) for cell in row] for row in rows]
        kept = [at for at in range(len(columns)) if any(row[at][0] for row in cells)]
        natural = [
            max(cell_len(visible(text)) for text in (columns[at], *(row[at][0] for row in cells)))
            for at in kept
        ]
        table = Table(
            box=None,
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            header_style="bold",
            show_header=any(columns),
        )
        room = self.console.width - _GAP * (len(kept) - 1)
        for at, width in zip(kept, _fitted(natural, room), strict=True):
            # Widths are settled here: left alone, the library crops what does not fit.
            table.add_column(Text(visible(columns[at])), overflow="fold", width=width)
        for row in cells:
            table.add_row(*(Text(visible(row[at][0]), STYLES[row[at][1]]) for at in kept))
        self.console.print(table)

    def verbatim(self, text: str) -> None:
        """Text that is safe already, line breaks kept."""
        self.console.print(Text(text.rstrip("\n")), soft_wrap=True)

    def blank(self) -> None:
        """An empty line."""
        self.console.print()

    @property
    def text(self) -> str:
        """The drawing so far, without blanks at the ends of lines."""
        return "".join(f"{line.rstrip()}\n" for line in self._text.getvalue().split("\n")[:-1])


def _fitted(natural: Sequence[int], available: int) -> list[int]:
    """Widths of columns that fit: narrow columns keep theirs, wide ones share what is left and wrap."""
    widths = [0] * len(natural)
    narrowest_first = sorted(range(len(natural)), key=lambda at: natural[at])
    for done, at in enumerate(narrowest_first):
        widths[at] = max(min(natural[at], available // (len(natural) - done)), 1)
        available -= widths[at]
    return widths


def _joined(parts: Sequence[Cell]) -> Text:
    text = Text()
    for part in parts:
        words, tone = _toned(part)
        text.append(visible(words), STYLES[tone])
    return text


def _toned(part: Cell) -> tuple[str, Tone]:
    return (part, "plain") if isinstance(part, str) else part


def _wants_colour() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in {"dumb", "unknown"}:
        return False
    if os.name != "nt":
        return True
    from rich.console import detect_legacy_windows

    return not detect_legacy_windows()  # a console that would print colour codes as text

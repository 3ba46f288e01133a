"""Draws tables and coloured lines for people.

Drawing goes to a text first and reaches the terminal in one piece: nothing is half shown when a command fails, and one
place decides about the encoding.
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

from mergeway_mcp.visible import visible

Tone = Literal["plain", "good", "bad", "warning", "name", "faint"]

_STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "name": "bold",
    "faint": "dim",
}
# Where there is no terminal to fill, lines are as long as they need to be.
_UNBOUNDED: Final = 100_000
_LEAST_WIDTH: Final = 40
_GAP: Final = 2


class Screen:
    """A drawing in the making. Texts may come from a repository: they are made safe here."""

    def __init__(self, *, terminal: bool) -> None:
        """Start an empty drawing.

        Args:
            terminal: It is for a terminal, whose width and colours count; otherwise neither is used.
        """
        self._text = io.StringIO()
        self._terminal = terminal
        width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH) if terminal else _UNBOUNDED
        colour = terminal and _wants_colour()
        self._console = Console(
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

    def line(self, *parts: str | tuple[str, Tone]) -> None:
        """A line of text, parts of it in a tone."""
        text = Text()
        for part in parts:
            words, tone = _toned(part)
            text.append(visible(words), _STYLES[tone])
        self._console.print(text, overflow="fold")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str | tuple[str, Tone]]]) -> None:
        """A table with a header; columns that are empty throughout are left out."""
        cells = [[_toned(cell) for cell in row] for row in rows]
        kept = [at for at in range(len(columns)) if any(row[at][0] for row in cells)]
        natural = [
            max(cell_len(visible(text)) for text in (columns[at], *(row[at][0] for row in cells)))
            for at in kept
        ]
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for at, width in zip(
            kept, _fitted(natural, self._console.width - _GAP * (len(kept) - 1)), strict=True
        ):
            # Widths are settled here: left alone, the library crops what does not fit.
            table.add_column(columns[at], overflow="fold", width=width)
        for row in cells:
            table.add_row(*(Text(visible(row[at][0]), _STYLES[row[at][1]]) for at in kept))
        self._console.print(table)

    def verbatim(self, text: str) -> None:
        """Text that is safe already, line breaks kept."""
        self._console.print(Text(text.rstrip("\n")), soft_wrap=True)

    @property
    def text(self) -> str:
        """The drawing so far, without blanks at the ends of lines where there are no colours."""
        drawn = self._text.getvalue()
        return "".join(f"{line.rstrip()}\n" for line in drawn.splitlines())


def _fitted(natural: Sequence[int], available: int) -> list[int]:
    """Widths of columns that fit: narrow columns keep theirs, wide ones share what is left and wrap."""
    widths = [0] * len(natural)
    narrowest_first = sorted(range(len(natural)), key=lambda at: natural[at])
    for done, at in enumerate(narrowest_first):
        widths[at] = max(min(natural[at], available // (len(natural) - done)), 1)
        available -= widths[at]
    return widths


def _toned(part: str | tuple[str, Tone]) -> tuple[str, Tone]:
    return (part, "plain") if isinstance(part, str) else part


def _wants_colour() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in {"dumb", "unknown"}:
        return False
    if os.name != "nt":
        return True
    from rich.console import detect_legacy_windows

    return not detect_legacy_windows()  # a console that would print colour codes as text

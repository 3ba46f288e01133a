"""The screen of `ragit`: the tables and lines of all command lines here, and passages of documents."""

from __future__ import annotations

import re

from rich.text import Text

from mcpkit.terminal import screen
from mcpkit.terminal.screen import LEAST_WIDTH, STYLES, Cell
from mcpkit.terminal.visible import visible

__all__ = ["Cell", "Screen"]


class Screen(screen.Screen):
    """A drawing in the making; see `mcpkit.terminal.screen.Screen`."""

    def passage(self, words: str, found: re.Pattern[str] | None, *, indent: int = 2) -> None:
        """Lines of a document, indented; what the pattern finds is highlighted."""
        for line in words.splitlines() or [""]:
            text = Text(visible(line.expandtabs(4)))
            if found is not None:
                text.highlight_regex(found, STYLES["found"])
            room = None if self.width is None else max(self.width - indent, LEAST_WIDTH)
            for part in [text] if room is None else text.wrap(self.console, room, overflow="fold"):
                self.console.print(Text(" " * indent).append_text(part), overflow="fold")

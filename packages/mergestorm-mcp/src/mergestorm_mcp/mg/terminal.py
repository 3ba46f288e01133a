"""Where the command line prints, and how: results on stdout, everything else on stderr.

Whatever a service, a repository or a pull request says may hold escape sequences; nothing is printed before it went
through `mergestorm_mcp.text.plain`, JSON is written in ASCII, and only `signal` prints what hosts act upon. A terminal gets tables and colour (not with NO_COLOR)
and a live line while something is waited for; a pipe gets tab-separated rows and no live line. rich is loaded only for
a terminal.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

from mergestorm_mcp.text import one_line, plain, without_watch_mark

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

__all__ = ["Progress", "Terminal"]

Progress = Callable[[float, float | None, str], Awaitable[None]]

_MAX_LINE: Final = 20_000
_MAX_CELL: Final = 300
_WIDEST: Final = 121
"""Tables narrower than this are not folded to fit a narrower terminal."""

_IDS: Final = frozenset({"stack", "job"})
"""Headers of columns whose values go into the next command."""

_STYLES: Final = {
    **dict.fromkeys(("approve", "approved", "completed", "landed", "clean", "success", "on"), "green"),
    **dict.fromkeys(("failed", "failure", "bounced", "conflict", "request_changes", "quota_exceeded"), "red"),
    **dict.fromkeys(("queued", "running", "waiting", "in_progress", "pending", "comment"), "yellow"),
    **dict.fromkeys(("off", "account", "cancelled", "closed", "none"), "dim"),
}


class Terminal:
    """Standard output and error of one command.

    Args:
        out: for results.
        err: for progress, notes and errors.
        source: where text for `-` and secrets comes from.
        colour: whether colour may be used.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        source: TextIO | None = None,
        *,
        colour: bool = True,
    ) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.source = source or sys.stdin
        self._colour = colour
        self._status: Status | None = None

    @property
    def interactive(self) -> bool:
        """Whether results go to a terminal."""
        return self.out.isatty()

    def line(self, text: str) -> None:
        """Print lines of a result."""
        self._write(self.out, text)

    def note(self, text: str) -> None:
        """Print what is no result: progress, advice, errors."""
        self._write(self.err, text)

    def signal(self, text: str, *, aside: bool = False) -> None:
        """Print a line that hosts act upon; only `mg stack watch` has any.

        What is foreign in it must be quoted or reduced by whoever made it. Everywhere else the mark that such lines begin
        with is changed, so that no title, name or message of a service can look like one.

        Args:
            text: one line.
            aside: on stderr, because the result is a document.
        """
        stream = self.err if aside else self.out
        with self._hidden():
            stream.write(one_line(text, _MAX_LINE) + "\n")
            stream.flush()

    def document(self, value: Any) -> None:
        """Print one JSON document."""
        text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f")
        with self._hidden():
            self.out.write(text + "\n")
            self.out.flush()

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print rows: a table on a terminal, tab-separated lines with a header elsewhere."""
        cells = [[_cell(value) for value in row] for row in rows]
        if not self.interactive:
            self.line("\n".join("\t".join(row) for row in [list(headers), *cells]))
            return
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold" if self._colour else "none")
        for header in headers:
            # An id that is broken over two lines cannot be copied; the other columns give way.
            table.add_column(header, overflow="fold", no_wrap=header in _IDS)
        for row in cells:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "") if self._colour else "") for cell in row))
        console = self._console(self.out)
        wanted = console.measure(table, options=console.options.update_width(_WIDEST)).maximum
        if (
            wanted < _WIDEST
        ):  # a few columns too wide: the terminal's own wrapping breaks no word within a column
            console.width = max(console.width, wanted)
        with self._hidden():
            console.print(table)

    def pairs(self, values: Mapping[str, Any]) -> None:
        """Print names and values, one a line."""
        self.table(("name", "value"), list(values.items()))

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[Progress]:
        """Show a live line on a terminal while the block runs; gives what moves it."""
        if not self.err.isatty():
            yield _unseen
            return
        status = self._console(self.err).status(_escaped(one_line(text, 200)))
        self._status = status

        async def progress(done: float, total: float | None, message: str) -> None:
            of = f" of {total:.0f}" if total is not None else ""
            status.update(_escaped(f"{one_line(text, 200)} · {one_line(message, 200)} · {done:.0f}{of} s"))

        try:
            with status:
                yield progress
        finally:
            self._status = None

    def secret(self, prompt: str) -> str:
        """A line nobody sees: asked for on a terminal, read from the input elsewhere."""
        if self.source.isatty():
            import getpass

            return getpass.getpass(prompt)
        return self.source.readline(4096)

    def text_or_input(self, text: str, limit: int) -> str:
        """The text, or the input where the text is `-`: at most one character more than `limit` is read."""
        return self.source.read(limit + 1) if text == "-" else text

    def _write(self, stream: TextIO, text: str) -> None:
        with self._hidden():
            stream.writelines(without_watch_mark(plain(part, _MAX_LINE)) + "\n" for part in text.split("\n"))
            stream.flush()

    @contextlib.contextmanager
    def _hidden(self) -> Iterator[None]:
        """The live line out of the way while something is printed."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console

        return Console(
            file=stream,
            no_color=not self._colour,
            markup=False,
            emoji=False,
            highlight=False,
            soft_wrap=False,
        )


async def _unseen(_done: float, _total: float | None, _message: str) -> None:
    """Where there is no live line."""


def _escaped(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        value = ", ".join(str(item) for item in value) or "-"
    return without_watch_mark(one_line(str(value), _MAX_CELL))

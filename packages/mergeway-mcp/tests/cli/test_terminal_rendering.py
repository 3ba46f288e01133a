"""What a person sees: tables and colour on a real terminal, and nothing that a repository could smuggle into it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

if os.name == "nt":
    pytest.skip("Windows has no pseudo-terminals of this kind", allow_module_level=True)

import errno
import pty
import termios

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
Terminal = Callable[..., tuple[int, str]]


@pytest.fixture
def terminal(program: list[str]) -> Terminal:
    """Runs the program on a terminal of its own and returns its exit code and all that appeared."""

    def run(
        *arguments: str, cwd: Path, columns: int = 100, env: dict[str, str] | None = None
    ) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        try:
            termios.tcsetwinsize(theirs, (40, columns))
            inherited = {
                name: value
                for name, value in os.environ.items()
                if name not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM"}
            }
            process = subprocess.Popen(
                [*program, *arguments],
                cwd=cwd,
                env={**inherited, "TERM": "xterm-256color", **(env or {})},
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            )
        finally:
            os.close(theirs)
        shown = bytearray()
        try:
            while True:
                try:
                    data = os.read(ours, 65536)
                except OSError as error:
                    if error.errno != errno.EIO:
                        raise
                    break  # Linux says so when the other end is closed
                if not data:
                    break
                shown += data
            code = process.wait(timeout=60)
        finally:
            os.close(ours)
            process.kill()
            process.wait()
        return code, shown.decode("utf-8").replace("\r\n", "\n")

    return run


def break_team(catalogue: Path) -> None:
    team = catalogue / "teams" / "search.yaml"
    team.write_text(
        team.read_text(encoding="utf-8").replace("slug: search", "slug: Search"), encoding="utf-8"
    )


def test_findings_are_a_coloured_table_with_a_summary(terminal: Terminal, catalogue: Path) -> None:
    break_team(catalogue)
    code, shown = terminal("validate", cwd=catalogue)
    assert code == 1
    assert COLOUR.search(shown)
    lines = COLOUR.sub("", shown).splitlines()
    assert lines[0].split() == ["FILE", "ENTITY", "ID", "PHASE", "FINDING"]
    assert lines[1].split()[:4] == ["teams/search.yaml", "Team", "Search", "schema"]
    assert lines[-1] == "Validation failed: 1 finding."


def test_success_says_how_much_was_looked_at(terminal: Terminal, catalogue: Path) -> None:
    code, shown = terminal("validate", cwd=catalogue)
    assert code == 0
    assert COLOUR.sub("", shown) == "Validation succeeded: 26 records of 8 entities.\n"


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize(
    "line", ["validate", "list --type Component", "entity show Service", "get payments --type Service"]
)
def test_no_escape_reaches_a_terminal_that_wants_none(
    terminal: Terminal, catalogue: Path, setting: dict[str, str], line: str
) -> None:
    break_team(catalogue)
    _, plain = terminal(*line.split(), cwd=catalogue, env=setting)
    assert "\x1b" not in plain
    _, coloured = terminal(*line.split(), cwd=catalogue)
    assert "\x1b" in coloured

    def words(text: str) -> list[str]:
        return COLOUR.sub("", text).split()

    assert words(coloured) == words(plain)


@pytest.mark.parametrize("columns", [20, 60, 200])
def test_lines_keep_to_the_width_of_the_terminal_and_lose_nothing(
    terminal: Terminal, catalogue: Path, columns: int
) -> None:
    break_team(catalogue)
    _, shown = terminal("validate", cwd=catalogue, columns=columns)
    plain = COLOUR.sub("", shown)
    assert max(map(len, plain.splitlines())) <= max(columns, 40)
    assert "Validation failed" in plain
    assert "…" not in plain


def test_data_formats_stay_data_on_a_terminal(terminal: Terminal, catalogue: Path) -> None:
    code, shown = terminal("entity", "list", "--format", "json", cwd=catalogue)
    assert code == 0
    assert shown.startswith('[\n  "Component",')
    code, shown = terminal("export", "Severity", cwd=catalogue)
    assert shown.startswith("Severity:\n  - level: 1\n")


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202ekcab\u200b\x9b31m"


def hostile_repository(write: Callable[[dict[str, str]], Path]) -> Path:
    def quoted(text: str) -> str:
        return '"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"'

    config = f"""\
mergeway: {{version: 1}}
entities:
  T:
    description: {quoted(HOSTILE)}
    identifier: id
    include: ['d/*']
    fields:
      id: string
      note: {{type: string, description: {quoted(HOSTILE)}, default: {quoted(HOSTILE)}, pattern: {quoted("." + HOSTILE)}}}
      kind: {{type: enum, enum: [{quoted(HOSTILE)}]}}
"""
    name = "d/a\x1b[31m\u202e.yaml"
    return write({"mergeway.yaml": config, name: f"id: {quoted(HOSTILE)}\nnote: [{quoted(HOSTILE)}]\n"})


@pytest.mark.parametrize(
    "line",
    [
        "validate",
        "validate --format yaml",
        "validate --format json",
        "list --type T",
        "list --type T --format yaml",
        "entity list",
        "entity show T",
        "entity show T --format json",
        "files",
        "files --group",
        "export",
        "export --format json",
        "get nothing --type T",
        "config lint",
    ],
)
def test_text_of_a_hostile_repository_reaches_no_terminal_as_it_is(
    terminal: Terminal, write_repository: Callable[[dict[str, str]], Path], line: str
) -> None:
    root = hostile_repository(write_repository)
    _, shown = terminal(*line.split(), cwd=root)
    rest = COLOUR.sub("", shown)
    assert rest
    assert [character for character in rest if not character.isprintable() and character != "\n"] == []


def test_a_hostile_record_is_shown_with_its_characters_named(
    terminal: Terminal, write_repository: Callable[[dict[str, str]], Path]
) -> None:
    root = hostile_repository(write_repository)
    code, shown = terminal("get", HOSTILE, "--type", "T", cwd=root, env={"TERM": "dumb"})
    assert code == 0
    assert "\\x1b]0;owned\\x07" in shown
    assert "\\u202e" in shown


def test_a_hostile_argument_comes_back_harmless(terminal: Terminal, catalogue: Path) -> None:
    for arguments in (
        ["list", "--type", HOSTILE],
        [HOSTILE],
        ["get", HOSTILE, "--type", "Team"],
        ["--root", HOSTILE, "validate"],
    ):
        code, shown = terminal(*arguments, cwd=catalogue)
        assert code in {1, 2}
        assert [character for character in shown if not character.isprintable() and character != "\n"] == []

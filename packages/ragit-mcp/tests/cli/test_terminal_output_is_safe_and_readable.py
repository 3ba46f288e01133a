from __future__ import annotations

import io
import os
import subprocess
from typing import Any

import pytest

from ragit_mcp.cli.highlighting import found_words
from ragit_mcp.cli.progress import LineProgress, TerminalProgress, describe
from ragit_mcp.cli.screen import Screen
from ragit_mcp.ingest import Progress

HOSTILE = "\x1b[31mred\x07\x9b2J\u202egnp\u200b\ufeff\ue000\ud800\U000e0041"


def test_everything_that_a_screen_draws_is_safe() -> None:
    screen = Screen(terminal=False)
    screen.line(HOSTILE, (HOSTILE, "name"))
    screen.table(["a", HOSTILE], [[HOSTILE, ("x", "bad")]])
    screen.passage(f"first\n{HOSTILE}\n\tindented", None)
    assert {character for character in screen.text if not character.isprintable()} == {"\n"}


def test_without_a_terminal_nothing_is_wrapped_cut_or_coloured() -> None:
    screen = Screen(terminal=False)
    long = "word " * 500
    screen.line(long)
    screen.table(["", ""], [["name", "x" * 3000]])
    assert screen.text.splitlines()[0] == long.rstrip()
    assert "x" * 3000 in screen.text
    assert "\x1b" not in screen.text


def test_a_terminal_gets_lines_that_fit_and_no_letter_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(terminal=True)
    screen.passage("한국어 문서입니다 " * 20 + "end", None)
    screen.table(["a", "b"], [["short", "y" * 120]])
    assert screen.text.count("y") == 120
    assert screen.text.count("문서") == 20
    from rich.cells import cell_len

    assert max(cell_len(line) for line in screen.text.splitlines()) <= 50


def test_words_of_the_question_are_highlighted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(terminal=True)
    screen.passage("Secrets are masked at the edge.", found_words("how are secrets masked?"))
    assert "\x1b[1;33mSecrets\x1b[0m are" in screen.text


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("mask", "Masked and unmasked", ["Masked"]),
        ("how is the crane", "the crane is how", ["crane"]),
        ("항구 크레인", "항구의 크레인은", ["항구", "크레"]),
        ("港", "港の起重機", ["港"]),
        ("a.*b (c", "a.*b c", ["b", "c"]),
    ],
)
def test_what_counts_as_found(question: str, text: str, found: list[str]) -> None:
    pattern = found_words(question)
    assert pattern is not None
    assert pattern.findall(text) == found


@pytest.mark.parametrize("question", ["", "?!", "the of and", "@"])
def test_a_question_without_words_highlights_nothing(question: str) -> None:
    assert found_words(question) is None


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_tells_files_chunks_rate_and_time_left() -> None:
    line = describe(Progress("embedding", 10, 10, chunks_embedded=500, chunks_new=2000), 5.0)
    assert "500/2000" in line
    assert "100 chunks/s" in line
    assert "15 s left" in line
    assert "30/40 files" in describe(Progress("reading", 30, 40), 0.1)


def test_progress_in_a_pipe_is_plain_lines_and_not_too_many() -> None:
    stream, clock = io.StringIO(), Clock()
    report = LineProgress(stream, clock)
    for done in range(100):
        clock.now += 0.2
        report(Progress("reading", done, 100))
    report(Progress("publishing", 100, 100))
    report.close()
    lines = stream.getvalue().splitlines()
    assert 3 <= len(lines) <= 8
    assert all(line.startswith("ragit: ") and line.isprintable() for line in lines)


def test_progress_on_a_terminal_stays_on_one_line_and_leaves_it_empty() -> None:
    stream, clock = io.StringIO(), Clock()
    report = TerminalProgress(stream, clock)
    for done in range(1, 51):
        clock.now += 0.2
        report(Progress("embedding", 50, 50, chunks_embedded=done, chunks_new=50))
    report.close()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")
    assert "[########################]" in stream.getvalue()


def test_progress_survives_a_stream_that_is_gone() -> None:
    stream = io.StringIO()
    report = LineProgress(stream, Clock())
    stream.close()
    report(Progress("planning"))


def on_a_terminal(project: Any, command: list[str], typed: bytes = b"") -> tuple[int, bytes]:
    """Runs a command on a pseudo terminal; exit code and what it showed."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=project.root,
        env={**project.env, "TERM": "xterm", "COLUMNS": "100"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return process.wait(60), shown


terminal = pytest.mark.skipif(os.name == "nt", reason="pseudo terminals are a POSIX thing")


@terminal
def test_on_a_terminal_answers_are_text(project: Any, program: list[str]) -> None:
    for arguments in (["init", "--yes"], ["ingest"], ["query", "crane"], ["status"], ["doctor"]):
        code, shown = on_a_terminal(project, [*program, *arguments])
        assert code == 0, shown
        assert b'"command"' not in shown


@terminal
@pytest.mark.parametrize(
    ("typed", "written"), [(b"n\n", False), (b"\n", True), (b"yes\n", True), (b"\x04", False)]
)
def test_on_a_terminal_init_asks_first(project: Any, program: list[str], typed: bytes, written: bool) -> None:
    code, shown = on_a_terminal(project, [*program, "init"], typed)
    assert code == 0
    assert b".ragit/config.toml" in shown
    assert (project.root / ".ragit").exists() is written


@terminal
def test_a_command_in_a_warning_can_be_copied_from_a_terminal(project: Any, program: list[str]) -> None:
    for number in range(8):
        project.write(f"folder-with-a-long-name-{number}/page.md", "# Page\n\nText.\n")
    project.commit()
    assert on_a_terminal(project, [*program, "init", "--yes"])[0] == 0
    code, shown = on_a_terminal(project, [*program, "ingest"])
    assert code == 0, shown
    [line] = [line for line in shown.split(b"\r\n") if b"ragit config set ingest.include" in line]
    assert line.endswith(b'/**"')
    assert len(line) > 200  # wider than the terminal, and whole all the same

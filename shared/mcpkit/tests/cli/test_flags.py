"""Flags as Go's flag package reads them."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from mcpkit.cli import (
    EXIT_FAILURE,
    EXIT_OK,
    EXIT_USAGE,
    CommandFailure,
    CommandLine,
    Flag,
    Parsed,
    UsageError,
    complain,
    run,
)

LINE = CommandLine(
    "prog",
    "1.2.3",
    "Does things.",
    [
        Flag("root", "Where it is.", "path", "."),
        Flag("entity", "Only this one.", "name", repeatable=True),
        Flag("confine", "Stay inside."),
    ],
    arguments="[name]",
)


class Streams:
    """What was written, read once."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    @property
    def texts(self) -> tuple[str, str]:
        return tuple(self._captured.readouterr())  # type: ignore[return-value]


@pytest.fixture
def streams(capsys: pytest.CaptureFixture[str]) -> Streams:
    return Streams(capsys)


def parse(*arguments: str) -> Parsed:
    return LINE.parse(arguments)


@pytest.mark.parametrize("arguments", [["-root", "x"], ["--root", "x"], ["-root=x"], ["--root=x"]])
def test_one_dash_or_two_with_a_space_or_an_equals_sign_are_the_same(arguments: list[str]) -> None:
    parsed = parse(*arguments)
    assert parsed.text("root") == "x"
    assert parsed.given == {"root"}


def test_absent_flags_have_their_defaults() -> None:
    parsed = parse()
    assert (parsed.text("root"), parsed.all("entity"), parsed.on("confine")) == (".", [], False)
    assert parsed.given == frozenset()


def test_the_last_value_wins_and_repeatable_flags_keep_all() -> None:
    parsed = parse("--root", "a", "--entity", "X", "--root=b", "-entity=Y", "--entity", "X")
    assert parsed.text("root") == "b"
    assert parsed.all("entity") == ["X", "Y", "X"]


def test_a_value_may_be_empty_or_look_like_a_flag() -> None:
    assert parse("--root=").text("root") == ""
    assert parse("--root", "--entity").text("root") == "--entity"
    assert parse("--root=a=b").text("root") == "a=b"


@pytest.mark.parametrize(
    ("arguments", "rest"),
    [
        (["extra", "--root", "x"], ["extra", "--root", "x"]),
        (["--", "--root"], ["--root"]),
        (["-", "--root"], ["-", "--root"]),
        (["", "--root"], ["", "--root"]),
        (["--confine", "x"], ["x"]),
    ],
)
def test_parsing_stops_at_the_first_argument_that_is_no_flag(arguments: list[str], rest: list[str]) -> None:
    parsed = parse(*arguments)
    assert parsed.rest == rest
    assert "root" not in parsed.given


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("--confine", True), ("-confine=true", True), ("--confine=1", True), ("--confine=F", False)],
)
def test_a_boolean_takes_its_value_only_after_an_equals_sign(argument: str, expected: bool) -> None:
    assert parse(argument).on("confine") is expected


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["--bogus"], "unknown_flag"),
        (["--Root", "x"], "unknown_flag"),
        (["--root"], "missing_value"),
        (["--confine=maybe"], "bad_value"),
        (["--confine="], "bad_value"),
        (["---root"], "bad_flag_syntax"),
        (["-=x"], "bad_flag_syntax"),
        (["--=x"], "bad_flag_syntax"),
        (["--bogus", "--help"], "unknown_flag"),
    ],
)
def test_what_cannot_be_read_says_which_case_it_is(arguments: list[str], kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(*arguments)
    assert caught.value.kind == kind


def never(_parsed: Parsed) -> int:
    raise AssertionError("the action must not run")


@pytest.mark.parametrize(
    "arguments", [["-h"], ["--help"], ["-help"], ["--root", "/nowhere", "--help"], ["--help", "--bogus"]]
)
def test_help_goes_to_stderr_with_exit_code_0(streams: Streams, arguments: list[str]) -> None:
    assert run(LINE, never, arguments) == EXIT_OK
    out, err = streams.texts
    assert out == ""
    assert err == LINE.usage()
    for text in (
        "Does things.",
        "prog [flags] [name]",
        "--root <path>",
        "default .",
        "repeated",
        "--confine",
        "--version",
    ):
        assert text in err


@pytest.mark.parametrize(
    "arguments", [["--version"], ["-version"], ["--version=true"], ["--root", "x", "--version"]]
)
def test_the_version_goes_to_stdout_with_exit_code_0(streams: Streams, arguments: list[str]) -> None:
    assert run(LINE, never, arguments) == EXIT_OK
    assert streams.texts == ("prog 1.2.3\n", "")


def test_a_version_switched_off_is_not_printed(streams: Streams) -> None:
    assert run(LINE, lambda _parsed: 5, ["--version=false"]) == 5
    assert streams.texts == ("", "")


def test_a_bad_flag_shows_the_usage_and_ends_with_one_line_of_the_program(streams: Streams) -> None:
    assert run(LINE, never, ["--bogus"]) == EXIT_USAGE
    out, err = streams.texts
    assert out == ""
    assert LINE.usage() in err
    assert err.splitlines()[-1].startswith("prog: ")


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("no\nroot", kind="x"), EXIT_USAGE), (CommandFailure("no\nport"), EXIT_FAILURE)],
)
def test_a_failure_is_one_line_on_stderr(streams: Streams, error: Exception, code: int) -> None:
    def act(_parsed: Parsed) -> int:
        raise error

    assert run(LINE, act, []) == code
    out, err = streams.texts
    assert out == ""
    assert err.startswith("prog: ")
    assert err.count("\n") == 1


def test_the_arguments_of_the_process_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["prog", "--root", "here"])
    seen: list[str] = []

    def act(parsed: Parsed) -> int:
        seen.append(parsed.text("root"))
        return 0

    assert run(LINE, act) == 0
    assert seen == ["here"]


def test_an_unprintable_flag_is_shown_harmlessly(streams: Streams) -> None:
    assert run(LINE, never, ["--\x1b[31m" + "x" * 1000]) == EXIT_USAGE
    err = streams.texts[1]
    assert "\x1b" not in err
    assert len(err) < 2000


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_stderr_that_is_gone_does_not_change_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, stream: Any
) -> None:
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stderr", None if stream is None else gone)
    complain("prog", "something")
    assert run(LINE, never, ["--bogus"]) == EXIT_USAGE

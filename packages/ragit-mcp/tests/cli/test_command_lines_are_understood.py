from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.cli.catalogue import COMMANDS, GLOBAL_FLAGS, LATER_COMMANDS
from ragit_mcp.cli.parsing import Invocation, parse, sketch
from ragit_mcp.errors import CommandError


def understood(*arguments: str) -> Invocation:
    return parse(sketch(arguments))


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        understood(*arguments)
    assert caught.value.code == "CLI_USAGE"
    return str(caught.value.details["reason"])


@pytest.mark.parametrize(
    "line",
    [
        ("query", "anvil", "--top-k", "3", "--at=HEAD"),
        ("--top-k", "3", "query", "--at", "HEAD", "anvil"),
        ("--at=HEAD", "--top-k=3", "query", "anvil"),
        ("query", "--top-k=3", "--at", "HEAD", "--", "anvil"),
    ],
)
def test_flags_stand_in_any_position(line: tuple[str, ...]) -> None:
    found = understood(*line)
    assert (found.command.name, found.arguments) == ("query", ("anvil",))
    assert (found.number("top-k"), found.text("at")) == (3, "HEAD")


def test_everything_after_two_dashes_is_an_argument() -> None:
    found = understood("query", "--explain", "--", "--at", "HEAD", "-x", "--")
    assert found.arguments == ("--at", "HEAD", "-x", "--")
    assert found.has("explain")
    assert not found.has("at")


def test_a_command_of_two_words_may_have_flags_between_them() -> None:
    found = understood("context", "--budget", "10", "pack", "a goal")
    assert (found.command.name, found.arguments, found.number("budget")) == ("context pack", ("a goal",), 10)


def test_the_last_value_of_a_flag_counts_and_repeatable_ones_are_kept() -> None:
    found = understood("ingest", "--path", "a.md", "--path=b.md", "--scope", "all", "--scope", "durable")
    assert (found.all("path"), found.text("scope")) == (("a.md", "b.md"), "durable")


@pytest.mark.parametrize(("given", "meant"), [("markdown", "text"), ("table", "text"), ("both", "both")])
def test_older_names_of_formats_are_read(given: str, meant: str) -> None:
    assert understood("status", "--format", given).format == meant


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (("query", "x", "--nothing"), "unknown_flag"),
        (("query", "x", "-k", "3"), "unknown_flag"),
        (("status", "--top-k", "3"), "unknown_flag"),
        (("query", "x", "--top-k"), "missing_value"),
        (("query", "x", "--at", "--explain"), "missing_value"),
        (("query", "x", "--cwd", " "), "missing_value"),
        (("query", "x", "--explain=yes"), "unwanted_value"),
        (("query", "x", "--top-k", "0"), "bad_value"),
        (("query", "x", "--top-k", "1.5"), "bad_value"),
        (("query", "x", "--top-k", "٣"), "bad_value"),
        (("query", "x", "--top-k", "9" * 400), "bad_value"),
        (("query", "x", "--scope", "everything"), "bad_value"),
        (("query", "x", "--format", "yaml"), "bad_value"),
        (("query", "x", "--input", "a.json"), "mixed_with_input"),
        (("query", "--view", "full", "--input", "a.json"), "mixed_with_input"),
        (("config", "set", "retrieval.top_k"), "missing_argument"),
        (("status", "now"), "too_many_arguments"),
        (("config",), "unknown_command"),
        (("querry",), "unknown_command"),
        (("", "query"), "unknown_command"),
        ((), "no_command"),
    ],
)
def test_what_is_wrong_with_a_command_line_has_a_name(line: tuple[str, ...], reason: str) -> None:
    assert refused(*line) == reason


@pytest.mark.parametrize("name", LATER_COMMANDS)
def test_a_command_that_comes_later_says_so(name: str) -> None:
    assert refused(*name.split(), "--whatever") == "later_command"


def test_a_wrong_command_line_still_tells_its_command_and_format() -> None:
    seen = sketch(["--nothing", "query", "x", "--format=json", "--top-k"])
    assert seen.command is not None
    assert (seen.command.name, seen.format) == ("query", "json")


def test_a_format_that_does_not_exist_falls_back_to_the_commands_own() -> None:
    assert sketch(["status", "--format", "yaml"]).format is None


def test_a_flags_name_takes_a_value_in_every_command_or_in_none() -> None:
    kinds: dict[str, set[bool]] = {}
    for flag in (*GLOBAL_FLAGS, *(flag for command in COMMANDS for flag in command.flags)):
        kinds.setdefault(flag.name, set()).add(bool(flag.value))
    assert {name for name, found in kinds.items() if len(found) > 1} == set()


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=8),
            st.sampled_from(["--", "-", "--at", "--at=", "query", "--top-k", "context", "pack"]),
        ),
        max_size=8,
    )
)
def test_any_command_line_is_understood_or_refused_with_a_code(arguments: list[str]) -> None:
    try:
        understood(*arguments)
    except CommandError as error:
        code = error.code
    else:
        code = "CLI_USAGE"
    assert code == "CLI_USAGE"

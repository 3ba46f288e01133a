from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ragit_mcp import __version__
from ragit_mcp.cli.catalogue import COMMANDS, Command
from ragit_mcp.cli.parsing import parse, sketch
from ragit_mcp.errors import CommandError

SHOWN = [command for command in COMMANDS if not command.hidden]
commands = pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.name)


def test_help_names_every_command(cli: Any) -> None:
    done = cli("--help")
    assert (done.code, done.err) == (0, "")
    assert all(command.name in done.out for command in SHOWN)
    assert "hooks run" not in done.out


@commands
def test_the_help_of_a_command_names_every_flag_and_an_example(cli: Any, command: Command) -> None:
    done = cli(*command.name.split(), "-h")
    assert (done.code, done.err) == (0, "")
    assert all(f"--{flag.name}" in done.out for flag in command.flags)
    assert all(f"ragit {example}" in done.out for example in command.examples)
    assert command.examples


@pytest.mark.parametrize("word", ["hooks", "config", "context", "security"])
def test_the_first_word_of_a_command_has_a_help_page(cli: Any, word: str) -> None:
    done = cli(word, "--help")
    assert (done.code, done.err) == (0, "")
    assert all(command.name in done.out for command in SHOWN if command.name.startswith(f"{word} "))


@commands
def test_every_example_is_a_command_line_that_is_understood(command: Command) -> None:
    import shlex

    for example in command.examples:
        assert parse(sketch(shlex.split(example))).command == command


def test_help_works_beside_anything_else(cli: Any) -> None:
    assert cli("query", "--top-k", "--help").code == 0
    assert cli("no-such-command", "--help").code == 0


def test_the_version_is_the_packages(cli: Any) -> None:
    assert cli("--version").out == f"ragit {__version__}\n"


@commands
def test_describe_tells_what_a_command_takes(cli: Any, command: Command) -> None:
    data = cli("describe", *command.name.split(), "--format", "json").reply["data"]
    assert data["name"] == command.name
    assert [flag["name"] for flag in data["flags"]] == [f"--{flag.name}" for flag in command.flags]
    assert (data["input"] is not None) == any(flag.name == "input" for flag in command.flags)


def test_describe_alone_lists_the_commands(cli: Any) -> None:
    data = cli("describe").reply["data"]
    assert [entry["name"] for entry in data["commands"]] == [command.name for command in SHOWN]


@pytest.mark.parametrize("words", [("nothing",), ("query", "more"), ("hooks", "run"), ("hooks",)])
def test_describe_refuses_what_is_no_command(cli: Any, words: tuple[str, ...]) -> None:
    done = cli("describe", *words, "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (1, "CLI_USAGE")


def test_an_unknown_command_names_those_there_are() -> None:
    with pytest.raises(CommandError) as caught:
        parse(sketch(["memory", "wrap"]))
    assert all(command.name in caught.value.message for command in SHOWN)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["query", "--help"], ["no-such-command"]])
def test_help_imports_nothing_of_weight(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from ragit_mcp.cli import main\n"
        f"main({arguments!r})\n"
        "heavy = {'numpy', 'apsw', 'tokenizers', 'httpx', 'yaml', 'rich', 'git', 'sqlite_vec', 'pydantic', 'mcp'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


def test_a_status_as_json_does_not_import_the_drawing_library() -> None:
    program = (
        "import sys\n"
        "import ragit_mcp.cli.application\n"
        "for name in ('status', 'doctor', 'ingest', 'hooks_run', 'init', 'config_list'):\n"
        "    __import__(f'ragit_mcp.cli.commands.{name}')\n"
        "sys.exit(', '.join(sorted({'rich', 'numpy', 'apsw', 'tokenizers', 'httpx'} & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()

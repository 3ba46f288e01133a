"""Every command's help ends in examples, and every example runs as it stands."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.cli.arguments import COMMANDS, Answered, parse

GROUPS = ("", "entity", "config")


def help_of(command: str) -> str:
    with pytest.raises(Answered) as answered:
        parse([*command.split(), "--help"])
    return answered.value.text


def examples(command: str) -> list[str]:
    lines = help_of(command).splitlines()
    return [line.strip() for line in lines[lines.index("examples:") + 1 :] if line.strip()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_of_itself(command: str) -> None:
    assert any(f" {command}" in example for example in examples(command))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_example_runs(
    command: str, catalogue: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(catalogue)
    for example in examples(command):
        program, *arguments = shlex.split(example)
        assert program == "mergeway-cli"
        outcome = cli(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), example


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_help_is_plain_ascii_that_any_console_can_show(command: str) -> None:
    text = help_of(command)
    assert text.isascii()
    assert "\x1b" not in text
    assert text.startswith("usage: mergeway-cli")


def test_help_and_version_load_neither_the_engine_nor_the_drawing_library(program: list[str]) -> None:
    import subprocess
    import sys

    script = (
        "import sys; from mergeway_mcp.cli import main; codes = main(['--version']), main(['list', '--help']);"
        "heavy = {'rich', 'yaml', 're2', 'fastmcp', 'pydantic', 'mergeway_mcp.repository'} & set(sys.modules);"
        "sys.exit(repr((codes, heavy)) if heavy or any(codes) else 0)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")

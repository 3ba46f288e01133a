"""docs/commands.md: the help of every command, held to what the programs print."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def help_page(root: Path, script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(root / "docs" / "command_help_page.py")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the page has the wording of Python 3.11 and 3.12")
def test_the_page_shows_what_the_programs_print(help_page: ModuleType) -> None:
    # To write it anew: uv run docs/command_help_page.py
    assert help_page.PAGE.read_text(encoding="utf-8") == help_page.page()


def test_every_program_and_every_command_it_lists_is_on_the_page(root: Path, help_page: ModuleType) -> None:
    text = help_page.PAGE.read_text(encoding="utf-8")
    scripts = {
        name
        for path in root.glob("packages/*/pyproject.toml")
        for name in tomllib.loads(path.read_text(encoding="utf-8"))["project"]["scripts"]
    }
    assert {line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")} == scripts
    listed = re.findall(
        r"^    (\w[\w-]*)(?: \(\w+\))?(?:  |$)", help_page.help_of("mergestorm-local"), re.MULTILINE
    )
    assert listed == help_page.commands()["mergestorm-local"]


def test_a_command_that_does_not_exist_stops_the_page(help_page: ModuleType) -> None:
    with pytest.raises(ValueError):
        help_page.help_of("mergestorm-local", "no-such-command")

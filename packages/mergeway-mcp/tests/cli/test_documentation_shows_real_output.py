"""The page about the command line shows what the commands really print.

With MERGEWAY_UPDATE_DOCS=1 the page is rewritten instead of compared.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[4] / "docs" / "mergeway" / "cli.md"
CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
WRITE = re.compile(r"echo '(.*)' (>>?) (\S+)")


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")
@pytest.mark.skipif(os.name == "nt", reason="paths are spelled otherwise on Windows")
def test_every_command_prints_what_the_page_shows(
    catalogue: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(catalogue)

    def output(command: str) -> str:
        written = WRITE.fullmatch(command)
        if written is not None:
            with open(written[3], "a" if written[2] == ">>" else "w", encoding="utf-8") as file:
                file.write(written[1] + "\n")
            return ""
        program, *arguments = shlex.split(command)
        assert program == "mergeway-cli", command
        outcome = cli(*arguments)
        return str(outcome.out + outcome.err).replace(str(catalogue), "/catalogue")

    def block(match: re.Match[str]) -> str:
        return "".join(f"$ {command}\n{output(command)}" for command in COMMAND.findall(match[0]))

    page = PAGE.read_text(encoding="utf-8")
    actual = CONSOLE.sub(block, page)
    if os.environ.get("MERGEWAY_UPDATE_DOCS"):
        PAGE.write_text(actual, encoding="utf-8", newline="\n")
    else:
        assert page == actual


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")
def test_the_page_has_a_section_and_a_run_of_every_command() -> None:
    from mergeway_mcp.cli.arguments import COMMANDS

    page = PAGE.read_text(encoding="utf-8")
    runs = "\n".join(CONSOLE.findall(page))
    assert [command for command in COMMANDS if f"\n## {command}\n" not in page] == []
    assert [command for command in COMMANDS if f" {command}" not in runs] == []

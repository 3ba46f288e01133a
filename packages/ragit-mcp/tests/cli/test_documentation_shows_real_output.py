"""The pages about the command line and about errors say what is so.

With RAGIT_UPDATE_DOCS=1 the page of the command line is rewritten instead of compared.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.cli.catalogue import COMMANDS
from ragit_mcp.errors import ERRORS

DOCS = Path(__file__).parents[4] / "docs" / "ragit"
PAGE, ERROR_PAGE = DOCS / "cli.md", DOCS / "errors.md"
CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
# Looked at now: the tests' environment has no variables of ragit.
UPDATE = bool(os.environ.get("RAGIT_UPDATE_DOCS"))
WHEN = "2026-05-01T08:00:00Z"

# What differs from one machine, version or second to the next.
VOLATILE = [
    (re.compile(r"\b[0-9a-f]{40}\b"), "SHA"),
    (re.compile(r"(?<=commit )[0-9a-f]{10}\b|(?<=indexed )[0-9a-f]{10}\b|(?<=index )[0-9a-f]{10}\b"), "SHA"),
    (re.compile(r"(?<=unchanged )[0-9a-f]{10}\b"), "SHA"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z"), "TIME"),
    (re.compile(r"Python [0-9.]+\w*"), "Python N"),
    (re.compile(r"SQLite [0-9.]+"), "SQLite N"),
    (re.compile(r"(?:linux|darwin|win32)(/|, )\w+"), "PLATFORM"),
    (re.compile(r"[0-9.]+ [KM]iB"), "SIZE"),
    (re.compile(r"\b[01]\.\d+"), "SCORE"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]


def steady(text: str) -> str:
    """A text without what may differ."""
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


@pytest.fixture
def yard(new_project: Any) -> Any:
    """The small repository of the page."""
    project = new_project("yard")
    project.env.update(GIT_AUTHOR_DATE=WHEN, GIT_COMMITTER_DATE=WHEN)
    project.write("README.md", "# The yard\n\nA yard with a crane and a dock.\n")
    project.write(
        "docs/crane.md",
        "# The crane\n\n## Load\n\nThe crane lifts two tons at most.\n\n## Care\n\nOil the bearings every month.\n",
    )
    project.write(
        "docs/adr/rope.md",
        "---\ntype: adr\n---\n# Use rope\n\n## Context\n\nChains rust.\n\n## Decision\n\nWe use rope.\n\n"
        "## Consequences\n\nThe rope is replaced every spring.\n",
    )
    project.write(
        "session.json",
        json.dumps({
            "goal": "Find out why the brake slips",
            "turns": [
                {"turnId": "t1", "role": "user", "content": "The load must never exceed two tons."},
                {
                    "turnId": "t2",
                    "role": "assistant",
                    "content": "The brake slips because of oil on the disc.",
                },
            ],
            "createdAt": WHEN,
        }),
    )
    project.write(
        "case.json",
        json.dumps({
            "goal": "Lift more",
            "kind": "case",
            "title": "Two tons at noon",
            "text": "Lift and hold.",
        }),
    )
    project.commit("yard")
    return project


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")
@pytest.mark.skipif(os.name == "nt", reason="paths are spelled otherwise on Windows")
def test_every_command_prints_what_the_page_shows(
    yard: Any, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(yard.root)

    def output(command: str) -> str:
        line, _, head = command.partition(" | head -")
        program, *arguments = shlex.split(line)
        if program == "git":
            return str(yard.git(*arguments))
        assert program == "ragit", command
        outcome = cli(*arguments)
        shown = str(outcome.out + outcome.err).replace(str(yard.root), "/yard")
        return "".join(shown.splitlines(keepends=True)[: int(head)]) if head else shown

    def block(match: re.Match[str]) -> str:
        return "".join(f"$ {command}\n{output(command)}" for command in COMMAND.findall(match[0]))

    page = PAGE.read_text(encoding="utf-8")
    actual = CONSOLE.sub(block, page)
    if UPDATE:
        PAGE.write_text(actual, encoding="utf-8", newline="\n")
    else:
        assert steady(page) == steady(actual)


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")
def test_the_page_has_a_section_and_a_run_of_every_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    runs = "\n".join(CONSOLE.findall(page))
    shown = [command.name for command in COMMANDS if not command.hidden]
    assert [name for name in shown if f"\n## {name}\n" not in page] == []
    assert [name for name in shown if f"$ ragit {name}" not in runs] == []


@pytest.mark.skipif(not ERROR_PAGE.exists(), reason="the documentation is not part of this copy")
def test_the_page_of_errors_has_every_code_with_what_is_true_of_it() -> None:
    rows = {
        match[1]: (match[2], match[3], match[4])
        for match in re.finditer(
            r"^\| `([A-Z_]+)` \| (\w+) \| (\d) \| [^|]+ \| (.+?) \|$",
            ERROR_PAGE.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert {code: (found[0], found[1]) for code, found in rows.items()} == {
        code: (facts.category, str(facts.exit_code)) for code, facts in ERRORS.items()
    }
    wrong = [code for code, found in rows.items() if ERRORS[code].recovery not in found[2].replace("`", "")]
    assert wrong == []

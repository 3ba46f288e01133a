"""0 when all is well, 1 when something was found or failed, 2 when the command line is wrong; errors on stderr."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture(autouse=True)
def _in_the_catalogue(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogue)
    (catalogue / "empty").mkdir()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("validate", 0),
        ("validate --phase format", 0),
        ("validate --fail-fast --phase references --phase schema", 0),
        ("--fail-fast validate", 0),
        ("list --type Team --filter slug=nobody", 0),
        ("validate --help", 0),
        ("--help", 0),
        ("entity --help", 0),
        ("export --output missing/out.yaml", 1),
        ("export --output .", 1),
        ("export Team Nobody", 1),
        ("list --type Nobody", 1),
        ("list --type team", 1),
        ("list --type ''", 1),
        ("files --type Nobody", 1),
        ("entity show Nobody", 1),
        ("get nobody --type Team", 1),
        ("get '' --type Team", 1),
        ("get /etc/passwd --type Runbook", 1),
        ("--root missing validate", 1),
        ("--root mergeway.yaml validate", 1),
        ("--root empty validate", 1),
        ("--root empty list --type Team", 1),
        ("--config missing.yaml validate", 1),
        ("--config empty validate", 1),
        ("--config teams/search.yaml validate", 1),
        ("--format xml validate", 1),
        ("", 2),
        ("entity", 2),
        ("config", 2),
        ("unknown", 2),
        ("validate --phase syntax", 2),
        ("validate --phase", 2),
        ("validate extra", 2),
        ("validate --typo", 2),
        ("--typo validate", 2),
        ("list", 2),
        ("list --typ Team", 2),
        ("list --type Team --filter slug", 2),
        ("list --type Team --filter =x", 2),
        ("get --type Team", 2),
        ("get payments", 2),
        ("entity show", 2),
        ("entity list Team", 2),
    ],
)
def test_the_exit_code_says_what_happened(cli: Cli, line: str, code: int) -> None:
    arguments = ["" if word == "''" else word for word in line.split()]
    outcome = cli(*arguments)
    assert outcome.code == code, outcome
    if code:
        assert outcome.out == ""
        assert outcome.err.startswith("mergeway-cli: ")
        assert outcome.err.endswith("\n")
        assert outcome.err.count("\n") == 1, "an error is one line"
    else:
        assert outcome.err == ""


def test_findings_exit_1_and_leave_stderr_alone(cli: Cli, catalogue: Path) -> None:
    (catalogue / "teams" / "empty.yaml").touch()
    outcome = cli("validate")
    assert outcome.code == 1
    assert outcome.out
    assert outcome.err == ""


def test_a_phase_that_could_not_run_is_told_on_stderr(cli: Cli, catalogue: Path) -> None:
    (catalogue / "teams" / "broken.yaml").write_text("][", encoding="utf-8")
    outcome = cli("validate", "--phase", "schema")
    # As the recorded reference does: what was not asked for is not shown and does not fail.
    assert (outcome.code, outcome.out) == (0, "status: validation succeeded\n")
    assert outcome.err.startswith("mergeway-cli: note: ")


def test_a_yml_file_is_the_configuration_only_where_there_is_no_yaml(
    cli: Cli, write_repository: Callable[[dict[str, str]], Path]
) -> None:
    config = "mergeway: {{version: 1}}\nentities: {{{0}: {{identifier: id, data: [{{id: a}}], fields: {{id: string}}}}}}\n"
    root = write_repository({"mergeway.yml": config.format("Yml")})
    assert cli("--root", root, "validate").code == 0
    assert cli("--root", root, "entity", "list").out == "- Yml\n"
    write_repository({"mergeway.yaml": config.format("Yaml")})
    assert cli("--root", root, "entity", "list").out == "- Yaml\n"
    assert cli("--root", root, "--config", root / "mergeway.yml", "entity", "list").out == "- Yml\n"


def test_an_unexpected_fault_is_one_line_without_a_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mergeway_mcp.cli import commands

    def broken(_: object) -> None:
        raise KeyError("a secret of the repository")

    monkeypatch.setitem(commands.COMMAND_FUNCTIONS, "validate", broken)
    monkeypatch.delenv("MERGEWAY_CLI_TRACEBACK", raising=False)
    outcome = cli("validate")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "secret" not in outcome.err
    monkeypatch.setenv("MERGEWAY_CLI_TRACEBACK", "1")
    with pytest.raises(KeyError):
        cli("validate")

"""Each command on the example repository, and what its output is made of."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.repository import Repository
from mergeway_mcp.repository.yaml import load_mapping, load_plain

Cli = Callable[..., Any]
COMPONENTS = ["basket", "catalogue-search", "identity", "ledger", "payments", "product-index", "sessions"]


@pytest.fixture(autouse=True)
def _in_the_catalogue(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogue)


def in_yaml(outcome: Any) -> Any:
    assert outcome.code == 0, outcome
    return load_plain(outcome.out.encode(), json_syntax=False)


def in_json(outcome: Any) -> Any:
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def test_the_catalogue_validates_without_a_word_on_stderr(cli: Cli) -> None:
    outcome = cli("validate")
    assert outcome.out == "status: validation succeeded\n"
    assert outcome.err == ""


def test_findings_have_lower_case_names_in_yaml_and_capitalised_ones_in_json(
    cli: Cli, catalogue: Path
) -> None:
    team = catalogue / "teams" / "search.yaml"
    team.write_text(
        team.read_text(encoding="utf-8").replace("lead: haruto", "lead: nobody"), encoding="utf-8"
    )
    for format_, names in (
        ("yaml", ["phase", "type", "id", "file", "message"]),
        ("json", ["Phase", "Type", "ID", "File", "Message"]),
    ):
        outcome = cli("validate", "--format", format_)
        assert outcome.code == 1
        findings: Any = load_plain(outcome.out.encode(), json_syntax=format_ == "json")
        (finding,) = findings
        assert list(finding) == names
        assert list(finding.values())[:4] == ["references", "Team", "search", "teams/search.yaml"]
        assert "nobody" not in finding[names[4]], "a message quotes the file"


def test_entity_list_names_every_entity_in_order(cli: Cli) -> None:
    names = in_yaml(cli("entity", "list"))
    assert names == in_json(cli("entity", "list", "--format", "json"))
    assert names == sorted(names)
    assert {"Component", "Severity", "Runbook"} <= set(names)


def test_entity_show_gives_what_the_server_gives(cli: Cli, catalogue: Path) -> None:
    schema = Repository(str(catalogue)).snapshot().entity_schema("Service")
    assert in_json(cli("--format", "json", "entity", "show", "Service")) == schema
    assert in_yaml(cli("entity", "show", "Service")) == schema


def test_entity_show_works_while_records_are_broken(cli: Cli, catalogue: Path) -> None:
    (catalogue / "teams" / "broken.yaml").write_text("][", encoding="utf-8")
    assert cli("entity", "show", "Team").code == 0
    assert cli("list", "--type", "Team").code == 1


def test_list_includes_the_records_of_entities_that_extend_the_one_asked_for(cli: Cli) -> None:
    assert in_yaml(cli("list", "--type", "Component")) == COMPONENTS
    assert in_yaml(cli("list", "--type", "Datastore")) == ["ledger", "product-index", "sessions"]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (["tier=critical"], ["identity", "ledger", "payments", "sessions"]),
        (["tier=critical", "area=platform"], ["identity", "sessions"]),
        (["tier="], ["catalogue-search"]),
        (["depends_on=sessions"], ["basket", "identity", "payments"]),
        (["objectives.p99_ms=400"], ["payments"]),
        (["objectives.availability=99.5"], ["catalogue-search"]),
        (["backups=true"], ["ledger"]),
        (["title=Ledger of payments"], ["ledger"]),
        (["nothing=there"], []),
        (["title.deeper=x"], []),
    ],
)
def test_filters_compare_the_text_of_fields(cli: Cli, filters: list[str], ids: list[str]) -> None:
    arguments = [part for condition in filters for part in ("--filter", condition)]
    assert in_yaml(cli("list", "--type", "Component", *arguments)) == ids


def test_get_gives_what_the_server_gives_for_the_entity_that_has_the_record(
    cli: Cli, catalogue: Path
) -> None:
    snapshot = Repository(str(catalogue)).snapshot()
    for asked in ("Component", "Service"):
        outcome = cli("get", "payments", "--type", asked, "--format", "json")
        assert in_json(outcome) == snapshot.get("Service", "payments")
    path = "runbooks/checkout/ledger-full.yaml"
    assert in_yaml(cli("get", f"./{path}", "--type", "Runbook")) == snapshot.get("Runbook", path)
    assert in_yaml(cli("get", "2", "--type", "Severity"))["inline"] is True


def test_export_puts_descendants_under_their_ancestors_too(cli: Cli, catalogue: Path) -> None:
    exported = in_json(cli("--format", "json", "export"))
    assert list(exported) == sorted(exported)
    assert [record["slug"] for record in exported["Component"]] == COMPONENTS
    recorded = Repository(str(catalogue)).snapshot().export(["Service"])
    assert in_json(cli("--format", "json", "export", "Service")) == recorded
    assert in_yaml(cli("export", "Service")) == recorded


def test_export_writes_a_file_whole_and_leaves_no_other(cli: Cli, catalogue: Path) -> None:
    before = set(os.listdir(catalogue))
    outcome = cli("export", "Team", "--output", "teams.json")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert list(json.loads((catalogue / "teams.json").read_text(encoding="utf-8"))) == ["Team"]
    assert cli("export", "Team", "--output", "teams.yaml").code == 0
    data = (catalogue / "teams.yaml").read_bytes()
    assert list(load_mapping(data, json_syntax=False) or {}) == ["Team"]
    assert set(os.listdir(catalogue)) - before == {"teams.json", "teams.yaml"}


def test_an_explicit_format_beats_the_ending_of_the_output_file(cli: Cli, catalogue: Path) -> None:
    cli("--format", "json", "export", "Team", "--output", "teams.yaml")
    assert json.loads((catalogue / "teams.yaml").read_text(encoding="utf-8"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_export_keeps_the_permissions_of_a_file_it_replaces_and_gives_a_new_one_the_usual(
    cli: Cli, catalogue: Path
) -> None:
    plain = catalogue / "plain"
    plain.touch()
    old = catalogue / "old.yaml"
    old.touch()
    old.chmod(0o640)
    for name in ("old.yaml", "new.yaml"):
        assert cli("export", "Team", "--output", name).code == 0

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(old) == 0o640
    assert mode(catalogue / "new.yaml") == mode(plain)


def test_export_to_a_dash_goes_to_stdout(cli: Cli) -> None:
    assert list(in_yaml(cli("export", "Team", "--output", "-"))) == ["Team"]


def test_files_lists_json_files_too_and_groups_on_request(cli: Cli) -> None:
    listed = in_json(cli("files", "--format", "json"))
    assert {"type": "Rotation", "file": "on-call/rotations.json"} in listed
    runbooks = in_yaml(cli("files", "--type", "Runbook"))
    assert {entry["type"] for entry in runbooks} == {"Runbook"}
    grouped = in_yaml(cli("files", "--group"))
    assert grouped["Runbook"] == [entry["file"] for entry in runbooks]


def test_config_lint_finds_nothing_in_the_catalogue(cli: Cli) -> None:
    assert in_yaml(cli("config", "lint")) == {"status": "configuration is valid"}


def test_config_lint_fails_on_errors_and_not_on_warnings(
    cli: Cli, write_repository: Callable[[dict[str, str]], Path]
) -> None:
    field = "t: {{type: string, {0}}}"
    config = (
        "mergeway: {{version: 1}}\nentities:\n  T: {{identifier: id, data: [{{id: a}}], fields: {{{0}}}}}\n"
    )
    root = write_repository({"mergeway.yaml": config.format(field.format("format: phone"))})
    outcome = cli("--root", root, "config", "lint", "--format", "json")
    assert outcome.code == 0
    assert [(finding["Severity"], finding["Field"]) for finding in json.loads(outcome.out)] == [
        ("warning", "t")
    ]
    write_repository({"mergeway.yaml": config.format(field.format("pattern: '['"))})
    outcome = cli("--root", root, "config", "lint", "--format", "json")
    assert outcome.code == 1
    assert [(finding["Severity"], finding["Field"]) for finding in json.loads(outcome.out)] == [
        ("error", "t")
    ]


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_the_version_is_one_line(cli: Cli, arguments: list[str]) -> None:
    from mergeway_mcp import __version__

    assert cli(*arguments) == (0, f"mergeway-cli {__version__}\n", "")


def test_global_flags_count_before_and_after_the_command(cli: Cli, catalogue: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        before = cli("--root", catalogue, "--format", "json", "entity", "list")
        after = cli("entity", "list", "--root", catalogue, "--format", "json")
        between = cli("entity", "--root", catalogue, "list", "--format", "json")
    assert before == after == between
    assert before.code == 0


def test_the_flag_nearest_to_the_command_wins(cli: Cli) -> None:
    assert cli("--format", "yaml", "entity", "list", "--format", "json").out.startswith("[")

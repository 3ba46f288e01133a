from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def indexed(cli: Any, project: Any) -> Any:
    """The project, initialised and indexed."""
    assert cli("init", "--yes").code == 0
    project.commit("ragit")
    assert cli("ingest", "--all").code == 0
    return project


def test_init_writes_only_its_own_directory(cli: Any, project: Any) -> None:
    before = project.files()
    done = cli("init", "--yes", "--format", "json")
    created = {path: text for path, text in project.files().items() if path not in before}
    assert set(created) == {".ragit/config.toml", ".ragit/.gitignore"} == set(done.reply["data"]["created"])
    assert {path: text for path, text in project.files().items() if path in before} == before


def test_the_work_tree_is_clean_after_everything(cli: Any, indexed: Any) -> None:
    for arguments in (["query", "crane"], ["status"], ["doctor"], ["security", "audit"], ["ingest", "--all"]):
        assert cli(*arguments).code == 0
    assert indexed.git("status", "--porcelain") == ""


def test_an_ingest_says_what_it_did(cli: Any, project: Any) -> None:
    cli("init", "--yes")
    head = project.commit("ragit")
    done = cli("ingest")
    data = done.reply["data"]
    assert (done.code, data["commitSha"], data["processed"], data["searchReady"]) == (0, head, 2, True)
    assert done.reply["warnings"] == data["warnings"]
    assert cli("ingest").reply["data"]["unchanged"] is True


def test_a_dry_run_writes_nothing(cli: Any, project: Any) -> None:
    cli("init", "--yes")
    project.commit("ragit")
    before = project.files()
    done = cli("ingest", "--dry-run")
    assert (done.code, done.reply["data"]["mode"]) == (0, "dry-run")
    assert project.files() == before


def test_only_one_way_to_choose_documents_is_taken(cli: Any, indexed: Any) -> None:
    done = cli("ingest", "--all", "--path", "docs/harbour.md")
    assert (done.code, done.reply["error"]["details"]) == (1, {"reason": "mixed_selection"})


def test_an_ingest_takes_its_request_from_a_document(cli: Any, indexed: Any) -> None:
    indexed.write("docs/more.md", "# More\n\nBellows.\n")
    indexed.commit("more")
    indexed.write("request.json", json.dumps({"paths": ["docs/more.md"]}))
    done = cli("ingest", "--input", "request.json", "--dry-run")
    assert done.reply["data"]["plannedFiles"] == ["docs/more.md"]


def test_an_ingest_is_noted_in_the_ledger(cli: Any, indexed: Any) -> None:
    events = cli("status").reply["data"]["events"]
    assert (events["eventCount"], events["lastRecordedAt"] is None) == (1, False)


def test_a_query_finds_passages_with_their_lines(cli: Any, indexed: Any) -> None:
    done = cli("query", "harbour", "crane", "--format", "json")
    hit = done.reply["data"]["hits"][0]
    assert (done.code, done.reply["data"]["query"]) == (0, "harbour crane")
    assert (hit["path"], hit["citation"]["lineStart"], hit["citation"]["lineEnd"]) == (
        "docs/harbour.md",
        3,
        3,
    )


def test_a_query_on_a_screen_shows_place_score_and_text(cli: Any, indexed: Any) -> None:
    shown = cli("query", "harbour crane", "--format", "text", "--view", "full", "--explain").out
    assert "docs/harbour.md:3" in shown
    assert "The harbour crane lifts the mast at noon." in shown
    assert "authority: 1.000 x 0.15" in shown


def test_a_query_without_an_index_ends_with_3_and_says_what_helps(cli: Any, project: Any) -> None:
    done = cli("query", "anything", "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (3, "SNAPSHOT_NOT_INDEXED")
    assert done.reply["error"]["recovery"]["command"] == "ragit ingest --all"
    assert not (project.root / ".ragit").exists()


def test_a_query_of_a_commit_that_does_not_exist_ends_with_2(cli: Any, indexed: Any) -> None:
    assert cli("query", "x", "--at", "zzzz", "--format", "json").code == 2


def test_a_damaged_manifest_ends_with_4(cli: Any, indexed: Any) -> None:
    (indexed.root / ".ragit" / "manifest" / f"{indexed.head}.json").write_bytes(b"{")
    done = cli("query", "x", "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (4, "SNAPSHOT_MANIFEST_INVALID")


@pytest.mark.parametrize("command", [("query",), ("context", "pack"), ("query", "  ")])
def test_a_search_needs_words(cli: Any, indexed: Any, command: tuple[str, ...]) -> None:
    done = cli(*command, "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (1, "CLI_USAGE")


def test_a_context_pack_keeps_to_its_budget(cli: Any, indexed: Any) -> None:
    data = cli(
        "context", "pack", "harbour yard", "--budget", "5", "--view", "full", "--format", "json"
    ).reply["data"]
    assert data["usedTokens"] <= 5
    assert (data["budget"], data["budgetUnit"]) == (5, "words")


def test_a_context_pack_takes_its_request_from_a_document(cli: Any, indexed: Any) -> None:
    indexed.write("request.json", json.dumps({"goal": "harbour", "budget": 50, "budgetUnit": "tokens"}))
    data = cli("context", "pack", "--input", "request.json", "--format", "json").reply["data"]
    assert (data["goal"], data["budget"], data["budgetUnit"]) == ("harbour", 50, "tokens")


def test_the_configuration_is_shown_with_who_chose_it(cli: Any, indexed: Any) -> None:
    assert cli("config", "set", "retrieval.top_k", "9").code == 0
    settings = {
        entry["key"]: entry for entry in cli("config", "list", "--format", "json").reply["data"]["settings"]
    }
    assert (settings["retrieval.top_k"]["value"], settings["retrieval.top_k"]["origin"]) == (9, "repository")
    assert settings["retrieval.alpha"]["origin"] == "default"


def test_a_setting_that_is_refused_changes_nothing(cli: Any, indexed: Any) -> None:
    before = indexed.files()
    done = cli("config", "set", "retrieval.top_k", "many", "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (1, "CONFIG_VALUE_INVALID")
    assert indexed.files() == before


def test_the_configured_number_of_passages_is_used(cli: Any, indexed: Any) -> None:
    cli("config", "set", "retrieval.top_k", "1")
    assert len(cli("query", "harbour yard tools", "--format", "json").reply["data"]["hits"]) == 1


def test_doctor_fails_with_1_and_keeps_its_data(cli: Any, project: Any) -> None:
    done = cli("doctor", "--format", "json")
    assert (done.code, done.reply["ok"], done.reply["data"]["hasFailure"]) == (1, False, True)
    assert "error" not in done.reply


def test_doctor_is_content_with_a_fresh_index(cli: Any, indexed: Any) -> None:
    done = cli("doctor")
    assert done.code == 0
    assert "FAIL" not in done.out


def test_init_outside_a_repository_says_what_makes_one(cli: Any, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    done = cli("init", "--yes", "--cwd", bare, "--format", "json")
    assert done.reply["error"]["code"] == "REPOSITORY_UNUSABLE"
    command = done.reply["error"]["recovery"]["command"].split()
    assert cli(*command[1:], "--yes", "--cwd", bare).code == 0
    assert (bare / ".ragit" / "config.toml").is_file()


def test_init_makes_a_repository_where_there_is_none(cli: Any, tmp_path: Any) -> None:
    place = tmp_path / "new"
    place.mkdir()
    assert cli("init", "--yes", "--cwd", place).code == 1
    done = cli("init", "--yes", "--git-init", "--cwd", place, "--format", "json")
    assert (done.code, done.reply["data"]["gitInit"]) == (0, True)
    assert (place / ".git").is_dir()
    assert (
        cli("init", "--yes", "--git-init", "--cwd", place, "--format", "json").reply["data"]["gitInit"]
        is False
    )

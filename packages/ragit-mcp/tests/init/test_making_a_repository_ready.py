from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.config import load_config
from ragit_mcp.errors import RagitError
from ragit_mcp.init import InitRequest, initialise
from ragit_mcp.init.scaffold import with_agents_section
from ragit_mcp.init.scanning import scan_repository

SCAFFOLD = InitRequest(scaffold=True)


def new_files(project: Any, before: dict[str, bytes]) -> set[str]:
    after = project.files()
    assert {path: after[path] for path in before} == before
    return set(after) - set(before)


def test_only_the_directory_of_ragit_is_made(project: Any) -> None:
    before = project.files()
    outcome = initialise(project.root, InitRequest(), environ=project.env)
    assert new_files(project, before) == {".ragit/config.toml", ".ragit/.gitignore"}
    assert dict(outcome.actions) == {".ragit/config.toml": "create", ".ragit/.gitignore": "create"}


def test_a_fresh_configuration_enforces_admission_and_keeps_the_defaults(project: Any) -> None:
    initialise(project.root, InitRequest(), environ=project.env)
    config = load_config(project.root, environ=project.env)
    assert (config.security.admission_mode, config.ingest.include) == ("enforce", ("README.md", "docs/**"))
    assert config.project.name == "project"
    assert config.warnings == ()


def test_everything_that_ragit_makes_is_ignored_and_nothing_else(project: Any) -> None:
    initialise(project.root, InitRequest(), environ=project.env)
    made = ("store/a.db", "manifest/a.json", "cache/x", "runtime/y", "log/z", "security/s", "reports/r")
    for path in made:
        project.write(f".ragit/{path}", "x")
    shown = project.git("status", "--porcelain", "--untracked-files=all")
    assert shown.split("\n") == ["?? .ragit/.gitignore", "?? .ragit/config.toml"]


def test_to_initialise_twice_changes_nothing(project: Any) -> None:
    initialise(project.root, SCAFFOLD, environ=project.env)
    project.write(".ragit/config.toml", "# mine\n")
    before = project.files()
    outcome = initialise(project.root, SCAFFOLD, environ=project.env)
    assert {action for _, action in outcome.actions} == {"keep"}
    assert project.files() == before


def test_a_dry_run_says_the_same_and_writes_nothing(project: Any) -> None:
    before = project.files()
    planned = initialise(project.root, InitRequest(scaffold=True, dry_run=True), environ=project.env)
    assert project.files() == before
    assert planned.actions == initialise(project.root, SCAFFOLD, environ=project.env).actions


@pytest.mark.parametrize(("strategy", "count"), [("minimal", 2), ("balanced", 5), ("full", 12)])
def test_a_scaffold_is_written_only_when_asked_for(project: Any, strategy: str, count: int) -> None:
    before = project.files()
    initialise(project.root, InitRequest(scaffold=True, strategy=strategy), environ=project.env)
    written = new_files(project, before) - {".ragit/config.toml", ".ragit/.gitignore"}
    assert {"RAGIT.md", "AGENTS.md"} <= written
    assert len(written) == count


def test_documents_that_exist_are_kept(project: Any) -> None:
    project.write("AGENTS.md", "mine\n")
    project.write("RAGIT.md", "mine too\n")
    before = project.files()
    initialise(project.root, SCAFFOLD, environ=project.env)
    assert "AGENTS.md" not in new_files(project, before)


def test_an_existing_agents_file_gets_a_section_only_when_asked_for(project: Any) -> None:
    project.write("AGENTS.md", "mine, no end of line")
    request = InitRequest(scaffold=True, merge_existing=True)
    outcome = initialise(project.root, request, environ=project.env)
    text = (project.root / "AGENTS.md").read_text(encoding="utf-8")
    assert dict(outcome.actions)["AGENTS.md"] == "merge"
    assert text.startswith("mine, no end of line\n\n<!-- ragit:begin -->\n")
    assert dict(initialise(project.root, request, environ=project.env).actions)["AGENTS.md"] == "keep"


def test_a_section_is_renewed_in_its_place() -> None:
    old = "before\n<!-- ragit:begin -->\nold\n<!-- ragit:end -->\nafter\n"
    renewed = with_agents_section(old)
    assert renewed.startswith("before\n<!-- ragit:begin -->\n")
    assert renewed.endswith("<!-- ragit:end -->\nafter\n")
    assert "old" not in renewed
    assert with_agents_section(renewed) == renewed


@pytest.mark.parametrize("mode", ["monorepo", "docs-heavy"])
def test_a_mode_that_is_named_decides_which_documents_are_indexed(project: Any, mode: str) -> None:
    initialise(project.root, InitRequest(mode=mode), environ=project.env)
    config = load_config(project.root, environ=project.env)
    assert config.ingest.include != ("README.md", "docs/**")
    assert config.project.mode == mode


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ((), "empty"),
        (("main.c",), "existing"),
        (("pnpm-workspace.yaml", "a.js"), "monorepo"),
        (("packages/a/x.py", "services/b/y.py"), "monorepo"),
        (tuple(f"notes/{n}.md" for n in range(12)), "docs-heavy"),
        (("node_modules/a.md", ".ragit/b.md"), "empty"),
    ],
)
def test_the_kind_of_a_repository_is_seen(tmp_path: Path, files: tuple[str, ...], mode: str) -> None:
    for name in files:
        path = tmp_path.joinpath(*name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    assert scan_repository(tmp_path).mode == mode


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("target", ["directory", "nowhere"])
def test_nothing_is_written_through_a_link(project: Any, tmp_path: Path, target: str) -> None:
    far = tmp_path / "far"
    if target == "directory":
        far.mkdir()
    (project.root / ".ragit").symlink_to(far)
    with pytest.raises(RagitError) as caught:
        initialise(project.root, InitRequest(), environ=project.env)
    assert caught.value.code == "WRITE_FAILED"
    assert not far.exists() or list(far.iterdir()) == []


def test_a_file_in_the_place_of_the_directory_is_an_error_with_a_code(project: Any) -> None:
    project.write(".ragit", "a file")
    with pytest.raises(RagitError) as caught:
        initialise(project.root, InitRequest(), environ=project.env)
    assert caught.value.code == "WRITE_FAILED"


@pytest.mark.parametrize(
    "place", [".git/hooks/post-commit", "../out.md", "/tmp/out.md", ".git/x.md", "run.sh"]
)
def test_a_cloned_configuration_cannot_aim_a_scaffold_elsewhere(project: Any, place: str) -> None:
    project.write(".ragit/config.toml", f'[docs]\nentrypoint = "{place}"\n')
    before = project.files()
    with pytest.raises(RagitError) as caught:
        initialise(project.root, SCAFFOLD, environ=project.env)
    assert caught.value.code == "INGEST_PATH_INVALID"
    assert new_files(project, before) <= {".ragit/.gitignore"}


def test_odd_names_of_directories_make_a_valid_configuration(new_project: Any) -> None:
    project = new_project('we"ird\\name] #x')
    initialise(project.root, InitRequest(), environ=project.env)
    assert load_config(project.root, environ=project.env).project.name == "we-ird-name- -x"

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.hooks.running import plan_hook
from ragit_mcp.ingest import IngestRequest, ingest
from ragit_mcp.init import InitRequest, initialise
from ragit_mcp.snapshots import indexed_commits, open_repository

PROGRAM = [sys.executable, "-P", "-m", "ragit_mcp.cli"]


@pytest.fixture
def prepared(project: Any) -> Any:
    """The project, initialised, with the hooks installed and its commit indexed."""
    initialise(project.root, InitRequest(), environ=project.env)
    project.commit("ragit")
    ingest(project.root, environ=project.env)
    run(project, "hooks", "install")
    return project


def run(project: Any, *arguments: str, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd or project.root,
        env=project.env,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def commit(project: Any, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Commit with an environment in which no ragit is on PATH; what git and its hooks said."""
    bare = {**project.env, "PATH": os.defpath, **(env or {})}
    done = subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "change"],
        cwd=cwd or project.root,
        env=bare,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    return done.stderr.decode("utf-8", "replace")


def test_a_commit_is_indexed_without_ragit_on_the_path(prepared: Any) -> None:
    prepared.write("docs/new.md", "# New\n\nBellows.\n")
    prepared.git("add", "-A")
    commit(prepared)
    assert prepared.head in indexed_commits(prepared.root)


def test_a_merge_is_indexed(prepared: Any) -> None:
    prepared.git("checkout", "-q", "-b", "side")
    prepared.write("docs/side.md", "# Side\n\nChisel.\n")
    prepared.git("add", "-A")
    commit(prepared)
    prepared.git("checkout", "-q", "main")
    prepared.write("docs/main.md", "# Main\n\nAnvil.\n")
    prepared.git("add", "-A")
    commit(prepared)
    prepared.git("merge", "-q", "--no-edit", "side", env={"PATH": os.defpath})
    assert prepared.head in indexed_commits(prepared.root)


def test_commits_made_without_hooks_are_no_obstacle(prepared: Any) -> None:
    prepared.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "unseen")
    commit(prepared)
    assert prepared.head in indexed_commits(prepared.root)


def test_a_linked_work_tree_without_an_index_is_left_alone(prepared: Any, tmp_path: Path) -> None:
    prepared.git("rm", "-q", "-r", "--cached", ".ragit")
    commit(prepared)
    prepared.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert commit(prepared, cwd=tmp_path / "side") == ""
    assert not (tmp_path / "side" / ".ragit").exists()


def test_a_linked_work_tree_with_a_configuration_gets_its_own_index(prepared: Any, tmp_path: Path) -> None:
    prepared.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    commit(prepared, cwd=tmp_path / "side")
    head = prepared.git("rev-parse", "HEAD", cwd=tmp_path / "side")
    assert indexed_commits(tmp_path / "side") == {head}
    assert head not in indexed_commits(prepared.root)


def test_a_hook_that_fails_says_so_in_one_line_and_the_commit_stands(prepared: Any) -> None:
    prepared.write(".ragit/config.toml", "[retrieval]\ntop_k = 'no'\n")
    said = commit(prepared)
    assert said.startswith("ragit: ")
    assert said.count("\n") == 1


def test_a_hook_whose_python_is_gone_says_so_and_the_commit_stands(prepared: Any) -> None:
    hook = prepared.root / ".git" / "hooks" / "post-commit"
    hook.write_text(
        hook.read_text(encoding="utf-8").replace(sys.executable, "/gone/python"), encoding="utf-8"
    )
    said = commit(prepared)
    assert "ragit hooks install" in said


def test_a_hook_that_is_switched_off_does_nothing(prepared: Any) -> None:
    run(prepared, "config", "set", "hooks.post_commit", "false")
    assert commit(prepared) == ""
    assert prepared.head not in indexed_commits(prepared.root)


def test_only_the_hooks_that_are_switched_on_are_installed(project: Any) -> None:
    initialise(project.root, InitRequest(), environ=project.env)
    run(project, "config", "set", "hooks.post_merge", "false")
    run(project, "hooks", "install")
    hooks = {path.name for path in (project.root / ".git" / "hooks").iterdir() if path.suffix != ".sample"}
    assert hooks == {"post-commit"}


def test_the_index_follows_a_hooks_path(project: Any) -> None:
    project.git("config", "core.hooksPath", ".githooks")
    initialise(project.root, InitRequest(), environ=project.env)
    run(project, "hooks", "install")
    assert (project.root / ".githooks" / "post-commit").is_file()
    commit(project)
    assert project.head in indexed_commits(project.root)


def test_the_plan_builds_on_the_parent_then_on_the_nearest_ancestor(project: Any) -> None:
    repository = open_repository(project.root)
    first = plan_hook(repository, str(project.root), "post-commit")
    assert first is not None
    assert first.mode == "all"
    ingest(project.root, environ=project.env)
    base = project.head
    assert plan_hook(repository, str(project.root), "post-commit") is None
    project.commit()
    for _ in range(2):
        planned = plan_hook(repository, str(project.root), "post-commit")
        assert planned == IngestRequest(
            mode="since", since=base, command="ragit hooks run post-commit", lock_wait_seconds=5.0
        )
        project.commit()


def test_without_a_commit_there_is_nothing_to_plan(new_project: Any) -> None:
    project = new_project()
    assert plan_hook(open_repository(project.root), str(project.root), "post-commit") is None


def test_git_variables_of_the_hook_do_not_lead_astray(prepared: Any, new_project: Any) -> None:
    other = new_project("other")
    other.commit()
    done = subprocess.run(
        [*PROGRAM, "status", "--format", "json"],
        cwd=prepared.root,
        env={**prepared.env, "GIT_DIR": str(other.root / ".git"), "GIT_INDEX_FILE": "/nowhere"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert prepared.head.encode() in done.stdout

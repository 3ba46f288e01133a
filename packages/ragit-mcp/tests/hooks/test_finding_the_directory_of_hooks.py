from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def real(path: Any) -> str:
    return str(os.path.realpath(path))


def as_git_sees_it(project: Any, cwd: Path | None = None) -> str:
    """What git itself answers, with the same configuration."""
    place = cwd or project.root
    return real(os.path.join(place, project.git("rev-parse", "--git-path", "hooks", cwd=place)))


def test_by_default_hooks_lie_in_the_git_directory(project: Any, hooks_of: Any) -> None:
    found = hooks_of(project)
    assert (found.source, found.shared, found.in_work_tree) == ("default", False, False)
    assert real(found.path) == as_git_sees_it(project)


def test_a_relative_hooks_path_starts_at_the_work_tree(project: Any, hooks_of: Any) -> None:
    project.git("config", "core.hooksPath", ".githooks")
    found = hooks_of(project)
    assert (found.source, found.in_work_tree) == ("repository", True)
    assert real(found.path) == real(project.root / ".githooks") == as_git_sees_it(project)


def test_an_absolute_hooks_path_is_taken_as_it_is(project: Any, hooks_of: Any, tmp_path: Path) -> None:
    project.git("config", "core.hooksPath", str(tmp_path / "elsewhere"))
    found = hooks_of(project)
    assert (real(found.path), found.shared, found.in_work_tree) == (
        real(tmp_path / "elsewhere"),
        False,
        False,
    )


def test_a_hooks_path_of_the_user_is_shared(project: Any, hooks_of: Any) -> None:
    home = Path(project.env["HOME"])
    (home / ".gitconfig").write_text("[core]\n\thooksPath = ~/hooks\n", encoding="utf-8")
    found = hooks_of(project)
    assert (real(found.path), found.source, found.shared) == (real(home / "hooks"), "user", True)


def test_the_repositorys_hooks_path_counts_more_than_the_users(project: Any, hooks_of: Any) -> None:
    (Path(project.env["HOME"]) / ".gitconfig").write_text("[core]\n\thooksPath = /x\n", encoding="utf-8")
    project.git("config", "core.hooksPath", ".mine")
    assert hooks_of(project).source == "repository"


def test_a_configuration_that_the_environment_names_counts(
    project: Any, hooks_of: Any, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    named = tmp_path / "global.cfg"
    named.write_text(f"[include]\n\tpath = {(tmp_path / 'more.cfg').as_posix()}\n", encoding="utf-8")
    (tmp_path / "more.cfg").write_text("[core]\n\thooksPath = /included/hooks\n", encoding="utf-8")
    clean_environment["GIT_CONFIG_GLOBAL"] = str(named)
    assert hooks_of(project).path == os.path.normpath("/included/hooks")


def test_a_linked_work_tree_shares_the_hooks_of_its_repository(
    project: Any, hooks_of: Any, tmp_path: Path
) -> None:
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert real(hooks_of(tmp_path / "side").path) == as_git_sees_it(project)


def test_a_linked_work_tree_may_have_hooks_of_its_own(project: Any, hooks_of: Any, tmp_path: Path) -> None:
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "--worktree", "core.hooksPath", ".side-hooks", cwd=tmp_path / "side")
    found = hooks_of(tmp_path / "side")
    assert (real(found.path), found.source) == (real(tmp_path / "side" / ".side-hooks"), "worktree")
    assert hooks_of(project).source == "default"


@pytest.mark.skipif(os.name == "nt", reason="the canary is a POSIX script")
def test_looking_for_hooks_runs_nothing(project: Any, hooks_of: Any, write_hook: Any, tmp_path: Path) -> None:
    canary = write_hook(tmp_path / "canary", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "alias.config"):
        project.git("config", key, f"!{canary}" if key.startswith("alias") else str(canary))
    hooks_of(project)
    assert not (tmp_path / "ran").exists()

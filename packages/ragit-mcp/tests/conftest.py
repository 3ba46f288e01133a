"""A real git repository to work on, and an environment with nothing of the machine's own in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


class Project:
    """A git repository in a temporary directory.

    Attributes:
        root: its top directory, links resolved.
        env: environment for git and ragit: an empty home, a fixed committer.
    """

    def __init__(self, root: Path, env: dict[str, str]) -> None:
        self.root = root
        self.env = env

    def git(self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        """Output of a git command that succeeds."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env={**self.env, **(env or {})},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, path: str, text: str) -> Path:
        """Write a file, its directories too; line ends stay."""
        place = self.root.joinpath(*path.split("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8"))
        return place

    def commit(self, message: str = "change") -> str:
        """Commit everything; the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        """HEAD's commit."""
        return self.git("rev-parse", "HEAD")

    def files(self) -> dict[str, bytes]:
        """Every file below the root but git's own."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.root).parts
        }


@pytest.fixture
def clean_environment(tmp_path: Path) -> dict[str, str]:
    """The process's environment without git's, ragit's and the user's own settings."""
    home = tmp_path / "home"
    home.mkdir()
    dropped = ("GIT_", "RAGIT_", "OPENAI_", "OLLAMA_", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {
        **kept,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "APPDATA": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.invalid",
        "GIT_COMMITTER_NAME": "Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.invalid",
        "NO_COLOR": "1",
    }


@pytest.fixture
def new_project(tmp_path: Path, clean_environment: dict[str, str]) -> Callable[..., Project]:
    """Makes empty repositories: `new_project("name")`."""

    def make(name: str = "project") -> Project:
        root = Path(os.path.realpath(tmp_path)) / name
        root.mkdir()
        project = Project(root, clean_environment)
        project.git("init", "-q", "-b", "main")
        project.git("config", "core.autocrlf", "false")
        return project

    return make


@pytest.fixture
def project(new_project: Callable[..., Project]) -> Project:
    """A repository with two documents, committed."""
    made = new_project()
    made.write("docs/harbour.md", "# The harbour\n\nThe harbour crane lifts the mast at noon.\n")
    made.write("README.md", "# Yard\n\nA yard with tools.\n")
    made.commit("documents")
    return made


@pytest.fixture
def indexed(project: Project) -> Project:
    """The project, initialised, committed and indexed."""
    from ragit_mcp.ingest import ingest  # tests that need none of it start faster
    from ragit_mcp.init import InitRequest, initialise

    initialise(project.root, InitRequest(), environ=project.env)
    project.commit("ragit")
    ingest(project.root, environ=project.env)
    return project

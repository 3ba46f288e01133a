"""Real git for the tests of the git room: plain git, as any user runs it, to build repositories and to compare with."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., bytes]


def _plain_environment() -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A U Thor",
        "GIT_AUTHOR_EMAIL": "author@example.invalid",
        "GIT_AUTHOR_DATE": "1700000000 +0200",
        "GIT_COMMITTER_NAME": "C O Mitter",
        "GIT_COMMITTER_EMAIL": "committer@example.invalid",
        "GIT_COMMITTER_DATE": "1700000001 -0330",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


@pytest.fixture(scope="session")
def git() -> Git:
    """`git(directory, *arguments, data=b"", check=True, env={})` runs plain git and answers its output."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def run(
        directory: Path,
        *arguments: str,
        data: bytes = b"",
        check: bool = True,
        env: dict[str, str] | None = None,
    ) -> bytes:
        done = subprocess.run(
            ["git", *arguments],
            cwd=directory,
            env={**_plain_environment(), **(env or {})},
            input=data,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert not check or done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    return run


@pytest.fixture
def commit_files(git: Git) -> Callable[..., str]:
    """`commit_files(repository, {path: content, ...}, message)` commits them and answers the commit's id."""

    def commit(repository: Path, contents: dict[str, bytes], message: str = "change") -> str:
        for path, content in contents.items():
            target = repository / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
        return git(repository, "rev-parse", "HEAD").decode().strip()

    return commit


@pytest.fixture(params=["sha1", "sha256"])
def repository(request: pytest.FixtureRequest, tmp_path: Path, git: Git) -> Path:
    """An empty repository with branch `main`, once for each object format."""
    path = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", "-b", "main", f"--object-format={request.param}", str(path))
    git(path, "config", "core.autocrlf", "false")
    return path


@pytest.fixture
def sha1_repository(tmp_path: Path, git: Git) -> Path:
    """An empty SHA-1 repository with branch `main`."""
    path = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", "-b", "main", str(path))
    git(path, "config", "core.autocrlf", "false")
    return path


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Wait for a condition another process brings about; fails after 20 s."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, "the condition never came true"
            time.sleep(0.01)

    return wait

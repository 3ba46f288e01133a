"""A real repository with a real index, for the tests of store, snapshots and ingest."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.ingest import IngestRequest, IngestResult, ingest
from ragit_mcp.snapshots import Selection, open_repository, select_snapshot
from ragit_mcp.store import Store, open_store

#: No model to load and no configuration of whoever runs the tests.
ENVIRON: dict[str, str] = {
    "RAGIT_EMBEDDING_PROVIDER": "local-placeholder",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Workbench:
    """A repository with branch `main`, and the calls that tests make most."""

    environ = ENVIRON

    def __init__(self, path: Path) -> None:
        self.path = path
        self._time = 1_700_000_000

    def git(self, *arguments: str, data: bytes = b"", check: bool = True, cwd: Path | None = None) -> str:
        """Run plain git; its output, stripped."""
        self._time += 60
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.invalid",
            "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.invalid",
            "GIT_AUTHOR_DATE": f"{self._time} +0000", "GIT_COMMITTER_DATE": f"{self._time} +0000",
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.path, env=environment, input=data, capture_output=True,
            check=False, timeout=60,
        )  # fmt: skip
        assert not check or done.returncode == 0, (arguments, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files of the work tree."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, files: Mapping[str, str | bytes] | None = None, message: str = "change") -> str:
        """Write files, commit everything, and answer the commit's id."""
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def ingest(self, **options: Any) -> IngestResult:
        """Ingest; keyword arguments of `IngestRequest`, and those of `ingest`."""
        calls = {
            name: options.pop(name)
            for name in ("config", "embedder", "artifacts", "progress", "cancel")
            if name in options
        }
        environ = {**ENVIRON, **options.pop("environ", {})}
        return ingest(self.path, IngestRequest(**options), environ=environ, **calls)

    def select(self, at: str | None = None, **options: Any) -> Selection:
        """Select a snapshot."""
        return select_snapshot(open_repository(self.path), at=at, **options)

    def store(self) -> Store:
        """The current generation."""
        return open_store(self.path)

    def texts(self, at: str | None = None, scope: str = "durable") -> list[str]:
        """The texts of a snapshot's passages, in order."""
        selection = self.select(at)
        with selection.open_store() as store:
            return [chunk.text for chunk in store.chunks(selection.membership(store, scope).rows)]

    def bytes_below(self, place: str = ".") -> dict[str, bytes]:
        """Every file below a folder of the repository, with its content."""
        base = self.path / place
        return {
            str(file.relative_to(self.path)): file.read_bytes()
            for file in sorted(base.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }

    def generations(self) -> list[Path]:
        """Files of generations."""
        return sorted((self.path / ".ragit" / "store").glob("*.db"))


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    """An empty repository."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    path = tmp_path / "repository"
    path.mkdir()
    bench = Workbench(path)
    bench.git("init", "--quiet", "-b", "main")
    bench.git("config", "core.autocrlf", "false")
    return bench


@pytest.fixture
def make_workbench(tmp_path: Path) -> Callable[[str], Workbench]:
    """Further repositories by name; `sha256` in the name chooses that object format."""

    def make(name: str) -> Workbench:
        path = tmp_path / name
        path.mkdir()
        bench = Workbench(path)
        bench.git("init", "--quiet", "-b", "main", *(["--object-format=sha256"] if "sha256" in name else []))
        bench.git("config", "core.autocrlf", "false")
        return bench

    return make

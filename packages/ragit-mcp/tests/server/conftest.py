"""An indexed repository, and the server on it in this process and as a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.cli import main
from ragit_mcp.server.tools import create

WHEN = "2026-05-01T08:00:00Z"
HARBOUR = {
    "docs/harbour.md": (
        "# The harbour\n\nThe harbour crane lifts the mast at noon.\n\n"
        "## Tide\n\nThe tide table hangs in the office.\n"
    ),
    "docs/adr/rope.md": (
        "---\ntype: adr\n---\n# Use rope\n\n## Context\n\nChains rust.\n\n## Decision\n\nWe use rope.\n\n"
        "## Consequences\n\nLess rust.\n"
    ),
    "docs/korean.md": "# 항구\n\n항구 크레인은 정오에 돛대를 든다. 港の起重機。\n",
}
YARD = {
    "README.md": "# The yard\n\nA yard with a crane and a dock.\n",
    "docs/crane.md": (
        "# The crane\n\n## Load\n\nThe crane lifts two tons at most.\n\n## Care\n\nOil the bearings every month.\n"
    ),
    "docs/adr/rope.md": (
        "---\ntype: adr\n---\n# Use rope\n\n## Context\n\nChains rust.\n\n## Decision\n\nWe use rope.\n\n"
        "## Consequences\n\nThe rope is replaced every spring.\n"
    ),
}


class Workspace:
    """A git repository of the test's.

    Attributes:
        root: its top directory, links resolved.
        env: environment for programs: an empty home, a fixed committer.
    """

    def __init__(self, root: Path, env: dict[str, str]) -> None:
        self.root = root
        self.env = env
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "core.autocrlf", "false")

    def git(self, *arguments: str) -> str:
        """Output of a git command that succeeds."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=self.env, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8").strip()

    def write(self, documents: dict[str, str]) -> None:
        """Write files, their directories too."""
        for path, text in documents.items():
            place = self.root.joinpath(*path.split("/"))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8"))

    def commit(self) -> str:
        """Commit everything; the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "documents")
        return self.head

    @property
    def head(self) -> str:
        """HEAD's commit."""
        return self.git("rev-parse", "HEAD")

    def ragit(self, *arguments: str) -> None:
        """Run the command line, which is the side that writes, in this process."""
        assert main([*arguments, "--cwd", str(self.root), "--format", "json"]) == 0, arguments

    def everything(self) -> dict[str, tuple[int, int, str]]:
        """Mode, time of change and content of all that is below the root, .git and .ragit included."""
        found = {".": self._facts(self.root)}
        for path in sorted(self.root.rglob("*")):
            found[path.relative_to(self.root).as_posix()] = self._facts(path)
        return found

    @staticmethod
    def _facts(path: Path) -> tuple[int, int, str]:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        else:
            content = " ".join(sorted(os.listdir(path)))
        return status.st_mode, status.st_mtime_ns, content


@pytest.fixture(scope="session")
def new_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Workspace]]:
    """Makes empty repositories; this process's environment is clean as long as the fixture lives."""
    base = Path(os.path.realpath(tmp_path_factory.mktemp("server")))
    home = base / "home"
    home.mkdir()
    dropped = ("GIT_", "RAGIT_", "OPENAI_", "OLLAMA_", "XDG_")
    settings = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "APPDATA": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        **{f"GIT_{who}_NAME": "Tester" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "tester@example.invalid" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_DATE": WHEN for who in ("AUTHOR", "COMMITTER")},
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(dropped)]:
            patch.delenv(name)
        for name, value in settings.items():
            patch.setenv(name, value)
        yield lambda name: Workspace(base / name, dict(os.environ))


def indexed(workspace: Workspace, documents: dict[str, str]) -> Workspace:
    """The workspace with documents, committed and indexed by the command line."""
    workspace.write(documents)
    workspace.ragit("init", "--yes")
    workspace.commit()
    workspace.ragit("ingest")
    return workspace


@pytest.fixture(scope="session")
def harbour(new_workspace: Callable[[str], Workspace]) -> Workspace:
    """The repository of the recorded vectors, indexed. Nothing may change it."""
    return indexed(new_workspace("harbour"), HARBOUR)


@pytest.fixture(scope="session")
def yard(new_workspace: Callable[[str], Workspace]) -> Workspace:
    """The repository of the documentation, indexed. Nothing may change it."""
    return indexed(new_workspace("yard"), YARD)


@pytest.fixture
def plain(new_workspace: Callable[[str], Workspace], request: pytest.FixtureRequest) -> Workspace:
    """A repository without a commit and without `.ragit`."""
    name = hashlib.sha256(request.node.nodeid.encode("utf-8")).hexdigest()[:12]
    return new_workspace(f"plain-{name}")


@pytest.fixture(scope="session")
def harbour_app(harbour: Workspace) -> Any:
    """The server on the harbour, in this process."""
    return create(str(harbour.root))


@pytest.fixture(scope="session")
def server_program() -> list[str]:
    """The start of a command line that runs the installed server."""
    script = shutil.which("ragit-mcp", path=str(Path(sys.executable).parent))
    return [script] if script is not None else [sys.executable, "-P", "-m", "ragit_mcp.main"]


@pytest.fixture(scope="session")
def recorded_inputs() -> list[dict[str, Any]]:
    """The recorded calls."""
    vectors = Path(__file__).parents[1] / "vectors" / "mcp-input.json"
    cases: list[dict[str, Any]] = json.loads(vectors.read_text(encoding="utf-8"))["cases"]
    return cases

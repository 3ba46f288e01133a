"""The command line, in this process and as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ragit_mcp.cli import main


class Outcome(NamedTuple):
    """What a run of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def reply(self) -> dict[str, Any]:
        """stdout as one JSON envelope."""
        value: dict[str, Any] = json.loads(self.out)
        return value


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(project: Any, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command line in this process, in the project: `cli("status", "--format", "json")`."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "RAGIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.root)

    def run(*arguments: str | Path) -> Outcome:
        capsysbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out.decode("utf-8"), captured.err.decode("utf-8").replace("\r\n", "\n"))

    return run


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The start of a command line that runs the installed program."""
    script = shutil.which("ragit", path=str(Path(sys.executable).parent))
    return [script] if script is not None else [sys.executable, "-P", "-m", "ragit_mcp.cli"]


@pytest.fixture
def cli_process(program: list[str], project: Any) -> Cli:
    """Runs a command line as a process of its own, in the project."""

    def run(
        *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None, **env: str
    ) -> Outcome:
        done = subprocess.run(
            [*program, *map(str, arguments)],
            cwd=cwd or project.root,
            env={**project.env, **env},
            input=stdin or b"",
            capture_output=True,
            check=False,
            timeout=100,
        )
        return Outcome(
            done.returncode,
            done.stdout.decode("utf-8"),
            done.stderr.decode("utf-8", "replace").replace("\r\n", "\n"),
        )

    return run

"""The command line, in process and as a real process, and the example repository to use it on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mergeway_mcp.cli import main

CATALOGUE = Path(__file__).parents[2] / "examples" / "service-catalogue"


class Outcome(NamedTuple):
    """What a run of the command line left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A copy of the service catalogue, as the working folder of examples."""
    return Path(shutil.copytree(CATALOGUE, Path(os.path.realpath(tmp_path)) / "catalogue"))


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command line in this process: `cli("validate", "--phase", "schema")`."""

    def run(*arguments: str | Path) -> Outcome:
        capsysbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out.decode("utf-8"), captured.err.decode("utf-8").replace("\r\n", "\n"))

    return run


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The start of a command line that runs the installed program."""
    script = shutil.which("mergeway-cli", path=os.path.dirname(sys.executable))
    if script is not None:
        return [script]
    return [sys.executable, "-P", "-c", "import sys; from mergeway_mcp.cli import main; sys.exit(main())"]


@pytest.fixture
def cli_process(program: list[str]) -> Cli:
    """Runs a command line as a process of its own: `cli_process("validate", cwd=folder, env={...})`."""

    def run(*arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [*program, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        return Outcome(
            done.returncode,
            done.stdout.decode("utf-8"),
            done.stderr.decode("utf-8", "replace").replace("\r\n", "\n"),
        )

    return run

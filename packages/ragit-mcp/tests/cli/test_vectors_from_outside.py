"""The recorded vectors and the hostile repositories, run against the installed commands; minutes, so only on request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"
SCRIPTS = Path(sys.executable).parent

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.name == "nt", reason="the checkers need POSIX"),
    pytest.mark.skipif(
        not (SCRIPTS / "ragit").exists() or not (SCRIPTS / "ragit-mcp").exists(),
        reason="the scripts are not installed",
    ),
]


def checked(script: str, *arguments: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(VECTORS / script),
            "--ragit",
            str(SCRIPTS / "ragit"),
            "--ragit-mcp",
            str(SCRIPTS / "ragit-mcp"),
            *arguments,
        ],
        capture_output=True,
        check=False,
        timeout=3500,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-4000:]


@pytest.mark.parametrize("theme", ["snapshots", "mcp-input"])
def test_every_recorded_case_agrees(theme: str) -> None:
    checked("run.py", "--theme", theme, "--jobs", "2")


def test_no_program_of_a_hostile_repository_runs() -> None:
    checked("hostile.py")

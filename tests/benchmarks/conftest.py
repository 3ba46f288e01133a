"""Runs the benchmarks' own modules as their users do, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def run_module() -> Callable[..., str]:
    """Runs `python -m tests.benchmarks.MODULE` from the project's root and gives its output."""

    def run(module: str, *arguments: str) -> str:
        name = f"tests.benchmarks.{module}" if module else "tests.benchmarks"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        answer = subprocess.run(
            [sys.executable, "-m", name, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        return answer.stdout.decode("utf-8")

    return run

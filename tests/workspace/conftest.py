"""What the tests of the workspace share: its root, its members, its tracked files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def members(root: Path) -> list[Path]:
    """The folder of every package, found by its pyproject.toml."""
    return sorted(p.parent for kind in ("shared", "packages") for p in root.glob(f"{kind}/*/pyproject.toml"))


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[str]:
    """What git tracks and the working tree still has, relative to the root, with forward slashes."""
    if shutil.which("git") is None or not (root / ".git").exists():
        pytest.skip("needs a git clone: what is tracked cannot be told from an unpacked archive")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    return [name for name in listed.decode("utf-8").split("\0") if name and (root / name).is_file()]


@pytest.fixture(scope="session")
def uv() -> Path:
    """The uv that runs these tests, or the one that dev.py left in .uv/."""
    candidates = [os.environ.get("UV"), shutil.which("uv"), *map(str, (ROOT / ".uv").glob("*/uv"))]
    found = next((Path(c) for c in candidates if c and Path(c).is_file()), None)
    if found is None:
        pytest.skip("needs uv, and it is neither on PATH nor in .uv/")
    return found

"""What the tests of the workspace share: its root, its members, its tracked files, dev.py as a module."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

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


def load_script(path: Path) -> ModuleType:
    """Imports a script that lies outside every package."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def script() -> Callable[[Path], ModuleType]:
    return load_script


@pytest.fixture(scope="session")
def uv() -> Path:
    """The uv that runs these tests, or the one that dev.py left in .uv/."""
    candidates = [os.environ.get("UV"), shutil.which("uv"), *map(str, (ROOT / ".uv").glob("*/uv"))]
    found = next((Path(c) for c in candidates if c and Path(c).is_file()), None)
    if found is None:
        pytest.skip("needs uv, and it is neither on PATH nor in .uv/")
    return found

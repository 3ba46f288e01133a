"""Hooks of a real repository, run by the real git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.hooks import HooksDirectory, find_hooks_directory
from ragit_mcp.snapshots import open_repository


@pytest.fixture
def hooks_of(clean_environment: dict[str, str]) -> Callable[[Any], HooksDirectory]:
    """The hooks directory of a work tree, as the test's environment sees it."""

    def find(place: Any) -> HooksDirectory:
        root = place if isinstance(place, Path) else place.root
        return find_hooks_directory(open_repository(root), clean_environment)

    return find


@pytest.fixture
def write_hook() -> Callable[..., Path]:
    """Writes an executable file: `write_hook(path, text)`."""

    def write(path: Path, text: str, mode: int = 0o755) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        os.chmod(path, mode)
        return path

    return write

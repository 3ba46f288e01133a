from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.config import CONFIG_PATH, Config, load_config

VECTORS = Path(__file__).parents[1] / "vectors"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`config_case` stands for every case of the recorded vectors of configuration."""
    if "config_case" in metafunc.fixturenames:
        loaded: list[dict[str, Any]] = json.loads((VECTORS / "config.json").read_text(encoding="utf-8"))[
            "cases"
        ]
        metafunc.parametrize("config_case", loaded, ids=[case["id"] for case in loaded])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A directory with an empty `.ragit`."""
    root = tmp_path / "repository"
    (root / ".ragit").mkdir(parents=True)
    return root


@pytest.fixture
def written(repository: Path) -> Callable[[str], Path]:
    """Writes the repository's configuration file, byte for byte, and gives its path."""

    def write(text: str) -> Path:
        path = repository / CONFIG_PATH
        path.write_bytes(text.encode("utf-8"))
        return path

    return write


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    """Where the user's own configuration is looked for by `load`."""
    return tmp_path / "user.toml"


@pytest.fixture
def load(repository: Path, user_file: Path) -> Callable[..., Config]:
    """Loads the repository's configuration with the environment given, and nothing of the real one."""

    def load_it(environ: dict[str, str] | None = None) -> Config:
        return load_config(repository, environ={"RAGIT_USER_CONFIG": str(user_file)} | (environ or {}))

    return load_it

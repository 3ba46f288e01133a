"""The recorded selections, and an indexed repository of many sources."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ragit_mcp.config import load_config
from ragit_mcp.ingest import IngestRequest, ingest

SCORING = json.loads((Path(__file__).parents[1] / "vectors" / "scoring.json").read_text(encoding="utf-8"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`selection_case` stands for every recorded selection."""
    if "selection_case" in metafunc.fixturenames:
        cases = [case for case in SCORING["cases"] if case["group"] == "selection"]
        metafunc.parametrize("selection_case", cases, ids=[case["id"] for case in cases])


class Library(NamedTuple):
    """An indexed repository and the environment it is read in."""

    root: Path
    environ: dict[str, str]

    def configure(self, **settings: Any) -> None:
        """Replace the `[retrieval]` settings."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        (self.root / ".ragit" / "config.toml").write_text(
            "\n".join(["[retrieval]", *lines, ""]), encoding="utf-8"
        )


@pytest.fixture(scope="session")
def indexed_library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Forty documents of four sections each."""
    root = tmp_path_factory.mktemp("library")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGIT_", "GIT_"))}
    environ = {**kept, "RAGIT_USER_CONFIG": str(root / "user.toml"), "GIT_CONFIG_GLOBAL": os.devnull}
    for number in range(40):
        path = root / "docs" / f"book{number:02}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"## Chapter {part}\n\n"
            + f"The keeper of lighthouse {number} writes about storms and lamps. " * (part + 1)
            for part in range(4)
        ]
        path.write_text(f"# Book {number}\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")
    (root / ".ragit").mkdir()
    (root / ".ragit" / ".gitignore").write_text("*\n", encoding="utf-8")
    identity = (
        "-c",
        "user.name=tester",
        "-c",
        "user.email=tester@example.invalid",
        "-c",
        "core.autocrlf=false",
    )
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "books")):
        subprocess.run(["git", *identity, *command], cwd=root, env=environ, check=True, capture_output=True)
    ingest(root, IngestRequest(), config=load_config(root, environ=environ), environ=environ)
    return Library(root, environ)


@pytest.fixture
def library(indexed_library: Library) -> Library:
    """The repository with default settings."""
    indexed_library.configure()
    return indexed_library

"""A hub over a database in memory and repositories on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.github.hub import GitHubRepository, Hub
from mergestorm_mcp.service.github.tables import SCHEMA

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.row_factory = sqlite3.Row
    made.executescript("PRAGMA foreign_keys = ON;" + SCHEMA)
    yield made
    made.close()


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "repositories")


@pytest.fixture
def repository(hub: Hub, connection: sqlite3.Connection) -> GitHubRepository:
    return hub.create_repository(connection, "Kestrel-Labs", "tidepool")


@pytest.fixture
def bare(hub: Hub, repository: GitHubRepository) -> Bare:
    return hub.git(repository)


@pytest.fixture
def first(bare: Bare) -> str:
    """The first commit of `main`: `tide.txt` with three lines, and `deep/er/file`."""
    made = bare.commit_files(
        [], {"tide.txt": b"1\n2\n3\n", "deep/er/file": b"x\n"}, message="first", when=NOON
    )
    bare.move("main", made, None)
    return made

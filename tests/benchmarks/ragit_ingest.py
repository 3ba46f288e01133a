"""What indexing costs: a whole repository, with and without the embedding; one commit more; thirty of them; memory.

uv run python -m tests.benchmarks.ragit_ingest FOLDER    one full ingest; prints peak memory as JSON
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.peers import ROOT, environment, peak_resident
from tests.benchmarks.ragit_documents import commit, edit, make_repository

from ragit_mcp.config import Config, load_config
from ragit_mcp.embedding import EmbeddingContract, open_embedder
from ragit_mcp.ingest import IngestRequest, IngestResult, ingest

__all__ = ["growth", "ingests", "peak_of_ingest"]

#: Passages of each file.
CHUNKS_A_FILE: Final = 10
#: The promise about one more commit is made for this many files; what a commit costs in itself weighs more with fewer.
PROMISED_FILES: Final = 1_000


class _NoWork:
    """Vectors that cost nothing: what is left is reading, masking, cutting, indexing words and writing."""

    def __init__(self, contract: EmbeddingContract) -> None:
        self.contract = contract
        self._row = np.full(contract.dimensions, contract.dimensions**-0.5, dtype=np.float32)

    def embed(self, texts: Sequence[str]) -> Any:
        """As many equal rows as texts."""
        return np.tile(self._row, (len(texts), 1))


class _Repository:
    """A generated repository, indexed again and again."""

    def __init__(self, root: Path, files: int) -> None:
        self.root = root
        root.mkdir()
        self.files = make_repository(root, files * CHUNKS_A_FILE, chunks_a_file=CHUNKS_A_FILE)
        self.environ = {**os.environ, "RAGIT_USER_CONFIG": str(root / "none.toml")}
        self.edits = 0

    @property
    def config(self) -> Config:
        return load_config(self.root, environ=self.environ)

    @property
    def index(self) -> Path:
        return self.root / ".ragit"

    def ingest(self, embedder: _NoWork | None = None) -> tuple[float, IngestResult]:
        """Seconds of one ingest in this process, and what it says."""
        config = self.config
        started = time.perf_counter()
        result = ingest(self.root, IngestRequest(), config=config, environ=self.environ, embedder=embedder)
        return time.perf_counter() - started, result

    def ingest_anew(self, embedder: _NoWork | None = None) -> tuple[float, IngestResult]:
        """The same without an index to continue."""
        shutil.rmtree(self.index, ignore_errors=True)
        return self.ingest(embedder)

    def commit_one(self) -> int:
        """Edit one file and commit it; its size in bytes."""
        path = self.files[self.edits * 7 % len(self.files)]
        edit(path, self.edits)
        self.edits += 1
        commit(self.root)
        return path.stat().st_size


def ingests(files: int, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Full ingests with and without the embedding, and one after a commit of one file, in turns."""
    with tempfile.TemporaryDirectory(prefix="ingest-", dir=folder) as name:
        made = _Repository(Path(name) / "repository", files)
        contract = open_embedder(made.config, made.root, environ=made.environ).contract
        made.ingest()  # loads the model and fills the caches
        full: list[float] = []
        bare: list[float] = []
        one: list[float] = []
        speeds: list[float] = []
        bare_speeds: list[float] = []
        for _ in range(rounds):
            made.commit_one()
            one.append(made.ingest()[0] * 1000)
            seconds, result = made.ingest_anew(_NoWork(contract))
            bare.append(seconds)
            bare_speeds.append(result.chunks / seconds)
            seconds, result = made.ingest_anew()
            full.append(seconds * 1000)
            speeds.append(result.chunks / seconds)
    label = f"{files:,} files, {files * CHUNKS_A_FILE:,} passages"
    yield Figure(
        f"full ingest, wordllama, {label}",
        "the same with vectors that cost nothing",
        speeds,
        bare_speeds,
        "passages/s",
    )
    yield Figure(
        f"ingest after a one-file commit, {label}",
        "full ingest of that commit",
        one,
        full,
        "ms",
        at_most=0.05 if files >= PROMISED_FILES else None,
    )


def growth(files: int, folder: Path, *, commits: int) -> Iterator[Figure | Fact]:
    """How the index grows over commits that change one file each."""
    with tempfile.TemporaryDirectory(prefix="growth-", dir=folder) as name:
        made = _Repository(Path(name) / "repository", files)
        made.ingest()
        first = _size(made.index)
        documents = sum(path.stat().st_size for path in made.files)
        changed = 0
        for _ in range(commits):
            changed += made.commit_one()
            made.ingest()
        grown = _size(made.index) - first
    yield Figure(
        f"index bytes a byte of the changed files, {commits} one-file commits",
        f"index bytes a byte of all {files:,} files",
        [grown / changed],
        [first / documents],
        "",
        at_most=1.0,
    )
    yield Fact(
        f"growth of the index over {commits} one-file commits, {files:,} files",
        f"{grown / 1024:,.0f} KiB ({grown / commits / 1024:.1f} KiB each) of {first / 2**20:.1f} MiB; "
        f"the changed files hold {changed / 1024:,.0f} KiB",
    )


def peak_of_ingest(files: int, folder: Path) -> float:
    """Peak MiB of a process that indexes a whole repository."""
    with tempfile.TemporaryDirectory(prefix="peak-", dir=folder) as name:
        made = _Repository(Path(name) / "repository", files)
        answer = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.ragit_ingest", str(made.root)],
            cwd=ROOT,
            env={**environment(), "RAGIT_USER_CONFIG": str(made.root / "none.toml")},
            stdout=subprocess.PIPE,
            check=True,
        )
        return float(json.loads(answer.stdout)["peak"]) / 2**20


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Index one repository and print the peak memory of this process."""
    root = Path(sys.argv[1])
    ingest(root, IngestRequest())
    print(json.dumps({"peak": peak_resident(os.getpid())}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

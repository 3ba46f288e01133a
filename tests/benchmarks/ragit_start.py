"""ragit-mcp from its start to its first answers, and what ingest and server take of memory, beside a hello world."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from tests.benchmarks.figures import Fact, Figure
from tests.benchmarks.handshake import compare
from tests.benchmarks.peers import HELLO, StdioServer, Tool, hello_world, installed
from tests.benchmarks.ragit_documents import make_repository
from tests.benchmarks.ragit_ingest import CHUNKS_A_FILE, peak_of_ingest

from ragit_mcp.config import load_config
from ragit_mcp.ingest import IngestRequest, ingest

__all__ = ["memory", "starts"]

STATUS: Final = Tool("ragit_status", {})
QUERY: Final = Tool("ragit_query", {"question": "which words stand where"})


def starts(files: int, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Start the server over an indexed repository and call a tool, in turns with a hello world."""
    with tempfile.TemporaryDirectory(prefix="start-", dir=folder) as name:
        command = _indexed(Path(name) / "repository", files)
        [ours], theirs = compare([command], rounds=rounds, tool=QUERY)
    yield Figure(
        "ragit-mcp: start to initialize reply",
        "FastMCP hello world's initialize reply",
        [times.handshake for times in ours],
        [times.handshake for times in theirs],
        "ms",
        at_most=0.15,
    )
    yield Figure(
        f"ragit-mcp: start to first ragit_query result, {files:,} files",
        "FastMCP hello world's first tool result",
        [times.tool for times in ours],
        [times.tool for times in theirs],
        "ms",
    )


def memory(files: int, folder: Path, *, rounds: int) -> Iterator[Figure | Fact]:
    """Peak memory of the server after queries, and of a full ingest, against a hello world plus the model's files."""
    model = _model_bytes() / 2**20
    passages = files * CHUNKS_A_FILE
    ours: list[float] = []
    theirs: list[float] = []
    indexing: list[float] = []
    with tempfile.TemporaryDirectory(prefix="memory-", dir=folder) as name:
        command = _indexed(Path(name) / "repository", files)
        for _ in range(rounds):
            with StdioServer(command) as server:
                server.call(STATUS)
                server.call(QUERY)
                server.call(QUERY)
                ours.append(server.peak / 2**20)
            with StdioServer(hello_world(folder)) as server:
                server.call(HELLO)
                theirs.append(server.peak / 2**20 + model)
            indexing.append(peak_of_ingest(files, folder))
    peer = "FastMCP hello world + the model's files"
    yield Figure(f"peak memory of the server, {passages:,} passages", peer, ours, theirs, "MiB")
    yield Figure(f"peak memory of a full ingest, {passages:,} passages", peer, indexing, theirs, "MiB")
    yield Fact("files of the model", f"{model:.1f} MiB")


def _indexed(root: Path, files: int) -> list[str]:
    """Make and index a repository; the command that serves it."""
    root.mkdir()
    make_repository(root, files * CHUNKS_A_FILE, chunks_a_file=CHUNKS_A_FILE)
    environ = {**os.environ, "RAGIT_USER_CONFIG": str(root / "none.toml")}
    ingest(root, IngestRequest(), config=load_config(root, environ=environ), environ=environ)
    return [installed("ragit-mcp"), "--cwd", str(root)]


def _model_bytes() -> int:
    package = resources.files("wordllama")
    names = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
    return sum(len(package.joinpath(name).read_bytes()) for name in names)

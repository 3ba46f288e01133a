"""A server that remembers snapshots selects as one that does not."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import SnapshotMemory

Bench = Any


@pytest.fixture
def memory() -> SnapshotMemory:
    """For which every file of the test has been at rest for long."""
    return SnapshotMemory(lambda: time.time_ns() + 3_600 * 10**9)


@pytest.fixture
def bench(workbench: Bench) -> Bench:
    workbench.commit({"docs/one.md": "# One\n\nAn anvil.\n"})
    workbench.ingest()
    workbench.commit()
    workbench.ingest()
    return workbench


def place_of(bench: Bench) -> Path:
    head = bench.git("rev-parse", "HEAD")
    return Path(bench.path, ".ragit", "manifest", f"{head}.json")


def test_an_unchanged_manifest_is_not_read_again(bench: Bench, memory: SnapshotMemory) -> None:
    first = bench.select(memory=memory)
    second = bench.select(memory=memory)
    assert second == first
    assert second.manifest is first.manifest


def test_a_manifest_just_written_is_read_again(bench: Bench) -> None:
    memory = SnapshotMemory(lambda: place_of(bench).stat().st_mtime_ns)
    first = bench.select(memory=memory)
    assert bench.select(memory=memory).manifest is not first.manifest


def test_a_manifest_that_was_replaced_is_read(bench: Bench, memory: SnapshotMemory) -> None:
    bench.select(memory=memory)
    place = place_of(bench)
    text = place.read_text(encoding="utf-8")
    other = place.with_suffix(".new")
    other.write_text(text.replace('"indexVersion": 3', '"indexVersion": 9'), encoding="utf-8")
    status = place.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, place)
    with pytest.raises(RagitError) as caught:
        bench.select(memory=memory)
    assert caught.value.code == "SNAPSHOT_SCHEMA_UNSUPPORTED"
    place.write_text(text + "\n", encoding="utf-8")
    assert bench.select(memory=memory).info.status == "indexed"
    place.unlink()
    with pytest.raises(RagitError) as caught:
        bench.select(memory=memory)
    assert caught.value.code == "SNAPSHOT_NOT_INDEXED"


def test_a_moved_head_and_a_changed_work_tree_are_noticed(bench: Bench, memory: SnapshotMemory) -> None:
    assert not bench.select(memory=memory).info.worktree_dirty
    Path(bench.path, "docs", "one.md").write_text("# One\n\nAn anvil, changed.\n", encoding="utf-8")
    assert bench.select(memory=memory).info.worktree_dirty
    second = bench.commit()
    with pytest.raises(RagitError) as caught:
        bench.select(memory=memory)
    assert caught.value.code == "SNAPSHOT_NOT_INDEXED"
    bench.ingest()
    found = bench.select(memory=memory)
    assert (found.commit, found.info.worktree_dirty) == (second, False)


def test_a_commit_that_brings_a_store_is_refused_after_one_that_does_not(
    bench: Bench, memory: SnapshotMemory
) -> None:
    good = bench.select(memory=memory).commit
    Path(bench.path, ".ragit", "store", "forged").write_bytes(b"x")
    bench.git("add", "--force", ".ragit/store/forged")
    bench.git("commit", "--quiet", "-m", "forged")
    for _ in range(2):
        with pytest.raises(RagitError) as caught:
            bench.select(good, memory=memory)
        assert caught.value.code == "SNAPSHOT_STORE_UNAVAILABLE"
        assert caught.value.details["reason"] == "tracked"


def test_a_repository_directory_that_became_a_link_is_refused(bench: Bench, memory: SnapshotMemory) -> None:
    bench.select(memory=memory)
    manifests = Path(bench.path, ".ragit", "manifest")
    moved = Path(bench.path).parent / "moved"
    manifests.rename(moved)
    try:
        manifests.symlink_to(moved, target_is_directory=True)
    except OSError:
        pytest.skip("this account may not make links")
    with pytest.raises(RagitError) as caught:
        bench.select(memory=memory)
    assert caught.value.details["reason"] == "link"

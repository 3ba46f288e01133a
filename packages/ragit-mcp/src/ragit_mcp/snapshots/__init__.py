"""From git to a snapshot: which commit is read and whether it is indexed.

    repository   the repository, its failures with codes, what a checkout may not bring
    manifest     the manifest of an indexed commit
    memory       what a server remembers of both between calls
    selection    `select_snapshot`, `inspect_snapshot`

Reading only: nothing here can reach a module that writes.

    repository = open_repository(path)
    selection = select_snapshot(repository, at=None)
    with selection.open_store() as store:
        members = selection.membership(store, "durable")
"""

from __future__ import annotations

from ragit_mcp.snapshots.manifest import (
    Manifest,
    indexed_commits,
    manifest_path,
    parse_manifest,
    read_manifest,
)
from ragit_mcp.snapshots.memory import SnapshotMemory
from ragit_mcp.snapshots.repository import open_repository, work_tree_root
from ragit_mcp.snapshots.selection import (
    Inspection,
    Selection,
    SnapshotInfo,
    inspect_snapshot,
    resolve_reference,
    select_snapshot,
)

__all__ = [
    "Inspection",
    "Manifest",
    "Selection",
    "SnapshotInfo",
    "SnapshotMemory",
    "indexed_commits",
    "inspect_snapshot",
    "manifest_path",
    "open_repository",
    "parse_manifest",
    "read_manifest",
    "resolve_reference",
    "select_snapshot",
    "work_tree_root",
]

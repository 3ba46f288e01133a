"""How far an ingest came, on disk: one record each, so that `doctor` can tell what a killed one left (contract A9).

Recovery does not depend on it. Until the manifest is there the older state holds; once it is, nothing is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ragit_mcp.errors import RagitError
from ragit_mcp.ingest.files import write_runtime_file
from ragit_mcp.snapshots.manifest import manifest_path
from ragit_mcp.store.layout import TRANSACTIONS_DIR
from ragit_mcp.store.writer_state import PHASES, classify

__all__ = ["Journal", "clear_journals"]

# Ids listed in a record; the rest is a number.
_IDS_LISTED: Final = 1000


class Journal:
    """The record of one ingest, written at every step.

    Args:
        root: the repository's root.
        target: the commit that is indexed.
        base: the commit whose snapshot is continued.
    """

    def __init__(self, root: str, *, target: str, base: str | None) -> None:
        self._root = root
        self._record: dict[str, Any] = {
            "schemaVersion": 1,
            "transactionId": str(uuid.UUID(bytes=secrets.token_bytes(16), version=4)),
            "kind": "ingest",
            "status": "running",
            "phase": "prepared",
            "targetHeadSha": target,
            "baseSha": base,
            "manifestPath": manifest_path(target),
            "startedAt": _now(),
        }
        self._path = f"{TRANSACTIONS_DIR}/{self._record['transactionId']}.json"
        self._write()

    def reached(self, phase: str, **members: Any) -> None:
        """Note a phase, and what is known by then."""
        self._record |= {
            "phase": phase,
            "status": "completed" if phase == PHASES[-1] else "running",
            **members,
        }
        self._write()

    def written(self, versions: Sequence[str], chunks: Sequence[str]) -> None:
        """Note what the new generation adds."""
        self.reached(
            "store-written",
            documentVersionIds=list(versions[:_IDS_LISTED]),
            chunkIds=list(chunks[:_IDS_LISTED]),
            documentVersionCount=len(versions),
            chunkCount=len(chunks),
        )

    def failed(self, error: BaseException) -> None:
        """Note how it ended; never fails itself, since the failure is on its way to the caller already."""
        committed = PHASES.index(self._record["phase"]) >= PHASES.index("manifest-committed")
        self._record["status"] = "failed-postcommit" if committed else "failed-precommit"
        self._record["lastError"] = {
            "name": type(error).__name__,
            "code": error.code if isinstance(error, RagitError) else None,
        }
        with contextlib.suppress(RagitError):
            self._write()

    def _write(self) -> None:
        self._record["updatedAt"] = _now()
        write_runtime_file(self._root, self._path, json.dumps(self._record, indent=2).encode() + b"\n")


def clear_journals(root: str) -> int:
    """Remove all records but the latest finished one; only the holder of the write lock may.

    Returns:
        How many of them were of ingests that ended before their work was done.
    """
    directory = os.path.join(root, *TRANSACTIONS_DIR.split("/"))
    records: list[tuple[str, str, str]] = []
    for name in _names(directory):
        path = os.path.join(directory, name)
        record = _read(path)
        updated = str(record.get("updatedAt")) if record is not None else ""
        records.append((classify(record), updated, path))
    finished = sorted(record[1:] for record in records if record[0] == "completed")
    kept = finished[-1][1] if finished else None
    for _, _, path in records:
        if path != kept:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return sum(1 for kind, _, _ in records if kind != "completed")


def _names(directory: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if name.endswith(".json")]
    except OSError:
        return []


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Where the store lies below a repository, and the pointer that says which generation is current.

    .ragit/store/meta.json              the pointer: replaced atomically, names the current generation
    .ragit/store/<unique>.db            one generation: one SQLite file, never changed after it was published
    .ragit/manifest/<commit>.json       one manifest for each indexed commit
    .ragit/runtime/store-write.lock     who writes; see `writer_state`
    .ragit/runtime/store-write.mutex    empty file on which the operating system keeps writers apart
    .ragit/runtime/transactions/*.json  how far each ingest came

A generation is not renamed over an older one because an open file cannot be replaced on Windows. Paths are relative to
the repository's root and are opened through no symbolic link.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.errors import SnapshotError

__all__ = [
    "CACHE_DIR",
    "LAYOUT_VERSION",
    "LOCK_FILE",
    "MANIFEST_DIR",
    "MUTEX_FILE",
    "POINTER_FILE",
    "RUNTIME_DIR",
    "SCHEMA_VERSION",
    "STORE_DIR",
    "TRANSACTIONS_DIR",
    "Pointer",
    "read_pointer",
    "store_unavailable",
]

STORE_DIR: Final = ".ragit/store"
MANIFEST_DIR: Final = ".ragit/manifest"
CACHE_DIR: Final = ".ragit/cache"
RUNTIME_DIR: Final = ".ragit/runtime"
POINTER_FILE: Final = f"{STORE_DIR}/meta.json"
LOCK_FILE: Final = f"{RUNTIME_DIR}/store-write.lock"
MUTEX_FILE: Final = f"{RUNTIME_DIR}/store-write.mutex"
TRANSACTIONS_DIR: Final = f"{RUNTIME_DIR}/transactions"

LAYOUT_VERSION: Final = 1
#: Version of the tables; a reader refuses any other.
SCHEMA_VERSION: Final = 3
BACKEND: Final = "sqlite"

_POINTER_BYTES: Final = 64 * 1024
_GENERATION_NAME: Final = re.compile(r"[0-9a-f]{32}\.db", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pointer:
    """What the pointer file says of the current generation.

    Attributes:
        file: name of the generation's file below `STORE_DIR`.
        size: its size in bytes.
        documents: document versions in it.
        chunks: chunks in it.
        contract: what its vectors are.
    """

    file: str
    size: int
    documents: int
    chunks: int
    contract: EmbeddingContract

    def to_json(self) -> dict[str, Any]:
        """The file's content, with the members of the contract's `meta.json` (A5)."""
        return {
            "layoutVersion": LAYOUT_VERSION,
            "schemaVersion": SCHEMA_VERSION,
            "backend": BACKEND,
            "current": self.file,
            "bytes": self.size,
            "collections": {"documents": self.documents, "chunks": self.chunks},
            "embeddingContract": self.contract.to_json(),
        }


def is_generation_name(name: str) -> bool:
    """Whether a file name below the store's directory is one of a generation."""
    return _GENERATION_NAME.fullmatch(name) is not None


def read_pointer(root: str | os.PathLike[str]) -> Pointer:
    """The pointer of a repository's store.

    Args:
        root: the repository's root.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`; `details.reason` is `missing`, `unreadable`, `invalid` or
            `unsupported`.
    """
    try:
        data = read_below(root, POINTER_FILE, max_bytes=_POINTER_BYTES)
    except FileAccessError as error:
        if error.kind == "not_found":
            raise store_unavailable("missing") from None
        raise store_unavailable("unreadable") from None
    try:
        return parse_pointer(data)
    except ValueError:
        raise store_unavailable("invalid") from None


def parse_pointer(data: bytes) -> Pointer:
    """Read a pointer's bytes.

    Raises:
        ValueError: they are no pointer.
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE` with reason `unsupported`.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("no object")
    versions = (value.get("layoutVersion"), value.get("schemaVersion"))
    if all(isinstance(version, int) for version in versions) and versions != (LAYOUT_VERSION, SCHEMA_VERSION):
        raise store_unavailable("unsupported")
    contract = value.get("embeddingContract")
    collections = value.get("collections")
    if versions != (LAYOUT_VERSION, SCHEMA_VERSION) or not isinstance(contract, dict):
        raise ValueError("members are missing")
    if not isinstance(collections, dict):
        raise ValueError("members are missing")
    name = _text(value.get("current"))
    if not is_generation_name(name):
        raise ValueError("no generation")
    return Pointer(
        file=name,
        size=_count(value.get("bytes")),
        documents=_count(collections.get("documents")),
        chunks=_count(collections.get("chunks")),
        contract=EmbeddingContract(
            provider=_text(contract.get("provider")),
            model=_text(contract.get("model")),
            version=_text(contract.get("version")),
            dimensions=_count(contract.get("dimensions")),
        ),
    )


_REASONS: Final = {
    "missing": "There is no store yet",
    "unreadable": "The store cannot be read",
    "invalid": "The store is damaged",
    "corrupt": "The store is damaged",
    "unsupported": "The store was written by another version of ragit",
    "tracked": "The store, its manifests or its cache are tracked by git, so a checkout could have forged them",
    "link": "The directory .ragit is, or holds, a symbolic link",
    "membership": "The store does not hold this snapshot",
    "embedding_contract": "The store holds vectors of another embedding provider or model",
}
#: Untracking keeps the files; the next ingest writes them anew.
UNTRACK_COMMAND: Final = "git rm -r --cached --ignore-unmatch .ragit/store .ragit/manifest .ragit/cache"


def store_unavailable(reason: str, *, resolved_sha: str | None = None) -> SnapshotError:
    """The error of a store that cannot be used.

    Args:
        reason: stable name of the case, becomes `details.reason`.
        resolved_sha: the commit that was to be read.
    """
    tracked = reason == "tracked"
    advice = "untrack them and index again" if tracked else "index the repository again"
    return SnapshotError(
        "SNAPSHOT_STORE_UNAVAILABLE",
        f"{_REASONS[reason]}: {advice}.",
        details={"resolvedSha": resolved_sha, "reason": reason},
        recovery=UNTRACK_COMMAND if tracked else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > 1000:
        raise ValueError("no string")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no count")
    return value

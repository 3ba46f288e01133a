"""Making a finished generation current, and what comes after: manifest, cleaning up.

The order is what makes a kill harmless at any point. The generation is verified as a reader would see it. The pointer
makes it current: it holds all that the older one held, so every manifest there is stays true. Then the manifest of the
commit is replaced, which makes the new snapshot exist. Only then older files go.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mcpkit.files import FileAccessError, open_below
from mcpkit.git import GitError, Repository
from ragit_mcp.corpus import show_path
from ragit_mcp.errors import RagitError
from ragit_mcp.ingest.files import remove_temporary_files, write_small_file, write_unverified
from ragit_mcp.snapshots.manifest import (
    INDEX_VERSION,
    indexed_commits,
    manifest_lines,
    manifest_path,
)
from ragit_mcp.store.layout import (
    MANIFEST_DIR,
    POINTER_FILE,
    RUNTIME_DIR,
    STORE_DIR,
    Pointer,
    is_generation_name,
)
from ragit_mcp.store.reader import Store, StoredDocument, open_store
from ragit_mcp.store.schema import SCOPES
from ragit_mcp.store.sharing import is_held

__all__ = [
    "build_manifest",
    "publish_manifest",
    "publish_pointer",
    "referenced_snapshots",
    "remove_leftovers",
    "remove_old_generations",
    "remove_orphaned_manifests",
    "verify_generation",
]

#: Larger generations are not read as a whole for every ingest, only for a full one.
FULL_CHECK_BYTES: Final = 16 << 20
_HEAD_BYTES: Final = 4096
# New chunks whose texts are compared with their ids, at most.
_VERIFIED_CHUNKS: Final = 2000
_DIGEST: Final = re.compile(rb'"membership": \{"digest": "([0-9a-f]{64})"')


def verify_generation(
    root: str,
    pointer: Pointer,
    *,
    commit: str,
    digest: str,
    recipe: str,
    versions: Sequence[str],
    new_chunks: int,
    thorough: bool,
) -> Store:
    """Open a generation that is not current yet as a reader would, and make sure that it holds what it should.

    Args:
        root: the repository's root.
        pointer: what the pointer will say.
        commit: the commit that was indexed.
        digest: its membership.
        recipe: of the document versions.
        versions: document versions that were added to it.
        new_chunks: how many chunks were added at the end.
        thorough: read the whole file.

    Returns:
        The store, open.

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
    """
    try:
        store = open_store(root, pointer=pointer)
        try:
            if thorough or pointer.size <= FULL_CHECK_BYTES:
                store.check()
            counts = store.statistics()
            rows = set(store.snapshot_rows(commit, digest))
            known = store.versions(recipe)
            sound = (
                (counts.documents, counts.chunks) == (pointer.documents, pointer.chunks)
                and store.vector_count() == counts.chunks
                and all(known.get(version) in rows for version in versions)
            )
            if not sound:
                raise write_unverified("incomplete")
            # Reading a text compares it with its id. Older ones were compared before, and are at every use.
            store.chunks(range(counts.chunks - min(new_chunks, _VERIFIED_CHUNKS) + 1, counts.chunks + 1))
        except BaseException:
            store.close()
            raise
    except RagitError as error:
        if error.code == "INGEST_STORE_WRITE_UNVERIFIED":
            raise
        raise write_unverified(str(error.details.get("reason", "corrupt"))) from error
    return store


def publish_pointer(root: str, pointer: Pointer) -> None:
    """Make a generation current.

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`; the older one is current still.
    """
    write_small_file(root, POINTER_FILE, json.dumps(pointer.to_json(), indent=2).encode() + b"\n")


def build_manifest(
    store: Store, *, commit: str, parent: str | None, digest: str, base: tuple[str, str] | None
) -> bytes:
    """The manifest of a commit, from the verified store (contract A2, version 3).

    It lists the documents that the base, another snapshot's commit and digest, has not, and their chunks.
    """
    rows = set(store.snapshot_rows(commit, digest))
    base_rows = set(store.snapshot_rows(*base)) if base is not None else set()
    listed = sorted(
        store.documents(rows - base_rows).values(), key=lambda document: (document.path, document.version_id)
    )
    gone = {document.document_id for document in store.documents(base_rows - rows).values()}
    removed = sorted(gone - {document.document_id for document in listed})
    chunks: list[dict[str, str]] = []
    scopes: dict[str, list[str]] = {scope: [] for scope in SCOPES}
    artifacts: list[Any] = []
    for document in listed:
        ids: list[str] = []
        for ordinal, scope, content in store.places(document.row):
            chunk = document.chunk_id(content, ordinal)
            chunks.append({
                "id": chunk,
                "documentId": document.document_id,
                "documentVersionId": document.version_id,
            })
            scopes[scope].append(chunk)
            ids.append(chunk)
        if document.artifact is not None:
            artifacts.append({**document.artifact, "chunkIds": ids})
    members = store.membership(commit, digest, "all")
    value: dict[str, Any] = {
        "commitSha": commit,
        "parentSha": parent,
        "createdAt": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "indexVersion": INDEX_VERSION,
        # Near the top, where `referenced_snapshots` looks for it without reading the rest.
        "membership": {
            "digest": digest,
            "documents": members.document_count,
            "chunks": len(members),
        },
        "base": base[0] if base is not None else None,
        "removedDocs": removed,
        "docs": [_listed(document, commit) for document in listed if document.artifact is None],
        "chunks": sorted(chunks, key=lambda chunk: chunk["id"]),
        "artifactEntries": artifacts,
        "chunkScopes": {scope: sorted(ids) for scope, ids in scopes.items()},
    }
    return "".join(manifest_lines(value)).encode()


def _listed(document: StoredDocument, commit: str) -> dict[str, Any]:
    return {
        "id": document.document_id,
        "versionId": document.version_id,
        "path": show_path(document.path),
        "docType": document.doc_type,
        "commitSha": commit,
        "hash": document.hash,
        "sections": [],
    }


def publish_manifest(root: str, commit: str, data: bytes) -> None:
    """Make a snapshot exist.

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`; an older manifest of the commit is there still.
    """
    write_small_file(root, manifest_path(commit), data)


def referenced_snapshots(root: str, keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the memberships that some manifest means. A manifest that cannot be read is left the benefit of doubt."""
    indexed = indexed_commits(root)
    kept: set[tuple[str, str]] = set()
    heads: dict[str, str | None] = {}
    for commit, digest in keys:
        if commit not in indexed:
            continue
        if commit not in heads:
            heads[commit] = _digest_of(root, commit)
        if heads[commit] in {None, digest}:
            kept.add((commit, digest))
    return kept


def _digest_of(root: str, commit: str) -> str | None:
    try:
        with open_below(root, manifest_path(commit), max_bytes=2**40) as stream:
            found = _DIGEST.search(stream.read(_HEAD_BYTES))
    except (FileAccessError, OSError):
        return None
    return found[1].decode() if found is not None else None


def remove_leftovers(root: str, current: str | None) -> None:
    """Remove what interrupted ingests left; only the holder of the write lock may."""
    for place in (STORE_DIR, MANIFEST_DIR, RUNTIME_DIR):
        remove_temporary_files(os.path.join(root, *place.split("/")))
    remove_old_generations(root, current)


def remove_old_generations(root: str, current: str | None) -> None:
    """Remove generations that are not current and that no reader holds; the others go next time."""
    directory = os.path.join(root, *STORE_DIR.split("/"))
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        stem = name.removesuffix("-journal")
        if not is_generation_name(stem) or stem == current:
            continue
        path = os.path.join(directory, name)
        if not is_held(path):
            with contextlib.suppress(OSError):  # on Windows a reader keeps its file from being deleted
                os.unlink(path)


def remove_orphaned_manifests(repository: Repository, root: str, keep: str) -> int:
    """Remove manifests of commits that the repository no longer has: nothing can select them.

    Args:
        repository: the repository.
        root: its root.
        keep: the commit just indexed.

    Returns:
        How many were removed.
    """
    removed = 0
    digits = len(keep)
    with repository.blobs() as reader:
        for commit in sorted(indexed_commits(root) - {keep}):
            gone = len(commit) != digits
            if not gone:
                try:
                    reader.header(commit)
                except GitError as error:
                    if error.kind != "missing_object":
                        return removed  # a question of cleaning up is not worth a failure
                    gone = True
            if gone:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(root, *manifest_path(commit).split("/")))
                    removed += 1
    return removed

"""The manifest of a commit: that it is indexed, and which membership of the store is its own (contract A2, version 3).

A manifest lists what its ingest found beyond its base, the snapshot it continues: documents (with empty `sections`) and
chunks, all of them where there is no base. The whole set is in the store, under the digest that the member
`membership` names, so that a commit which changes one file costs a manifest of one file. Manifests of other programs,
without that member, are read and checked alike; a store of ours holds no membership for them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below, walk_below
from ragit_mcp.errors import SnapshotError
from ragit_mcp.store.layout import MANIFEST_DIR, store_unavailable
from ragit_mcp.store.schema import SCOPES

__all__ = [
    "INDEX_VERSION",
    "Manifest",
    "MembershipReference",
    "indexed_commits",
    "manifest_path",
    "parse_manifest",
    "read_manifest",
]

INDEX_VERSION: Final = 3
_MAX_BYTES: Final = 256 << 20
_MAX_MANIFESTS: Final = 500_000
_FILE_NAME: Final = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\.json", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MembershipReference:
    """The membership of the store that a manifest means.

    Attributes:
        digest: of the document versions in it.
        documents: how many they are.
        chunks: how many places they have.
    """

    digest: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest, older versions brought up to `INDEX_VERSION` in memory.

    Attributes:
        commit_sha: the commit it is about.
        parent_sha: its first parent.
        created_at: ISO time.
        index_version: the version it was written in.
        docs: documents it lists, as they stand.
        chunks: chunks it lists: id, document id, document version id.
        artifact_entries: bound artifacts, as they stand.
        chunk_scopes: chunk ids of each scope.
        base: the commit whose snapshot it continues, if it says so.
        membership: which membership of the store is meant; None in manifests of other programs.
    """

    commit_sha: str
    parent_sha: str | None
    created_at: str
    index_version: int
    docs: tuple[Any, ...]
    chunks: tuple[tuple[str, str, str], ...]
    artifact_entries: tuple[Any, ...]
    chunk_scopes: Mapping[str, tuple[str, ...]]
    base: str | None
    membership: MembershipReference | None

    def without_lists(self) -> Manifest:
        """The same manifest without what it lists."""
        return replace(self, docs=(), chunks=(), artifact_entries=(), chunk_scopes=dict.fromkeys(SCOPES, ()))


def manifest_path(commit: str) -> str:
    """The repository path of a commit's manifest."""
    return f"{MANIFEST_DIR}/{commit}.json"


def indexed_commits(root: str | os.PathLike[str]) -> set[str]:
    """The commits that have a manifest file, whether or not it is valid."""
    try:
        files = walk_below(root, MANIFEST_DIR, max_entries=_MAX_MANIFESTS, max_depth=0)
        names = (_FILE_NAME.fullmatch(file.path.rpartition("/")[2]) for file in files)
        return {name[1] for name in names if name is not None}
    except FileAccessError:
        return set()


def read_manifest(root: str | os.PathLike[str], commit: str) -> Manifest | None:
    """The manifest of a commit; None if there is none.

    Args:
        root: the repository's root.
        commit: full id.

    Raises:
        SnapshotError: `SNAPSHOT_MANIFEST_INVALID` or `SNAPSHOT_SCHEMA_UNSUPPORTED`; `SNAPSHOT_STORE_UNAVAILABLE` where
            a symbolic link leads to it.
    """
    try:
        data = read_below(root, manifest_path(commit), max_bytes=_MAX_BYTES)
    except FileAccessError as error:
        if error.kind == "not_found":
            return None
        if error.kind == "link_refused":
            raise store_unavailable("link", resolved_sha=commit) from None
        raise _invalid(commit, error.kind) from None
    return parse_manifest(data, commit)


def parse_manifest(data: bytes, commit: str) -> Manifest:
    """Read a manifest's bytes.

    Args:
        data: the file's content.
        commit: the id in its name.

    Raises:
        SnapshotError: `SNAPSHOT_MANIFEST_INVALID`, `details.reason` names the member; `SNAPSHOT_SCHEMA_UNSUPPORTED`.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise _invalid(commit, "json") from None
    if not isinstance(value, dict):
        raise _invalid(commit, "root")
    try:
        return _checked(value, commit)
    except _Member as member:
        raise _invalid(commit, str(member)) from None


class _Member(Exception):
    """A member is not what it must be."""


def _checked(value: dict[str, Any], commit: str) -> Manifest:
    if value.get("commitSha") != commit:
        raise _Member("commitSha")
    parent = value.get("parentSha", 0)
    if parent is not None and not isinstance(parent, str):
        raise _Member("parentSha")
    created = value.get("createdAt")
    if not isinstance(created, str) or not created:
        raise _Member("createdAt")
    version = _whole(value.get("indexVersion"))
    if version is None or version < 1:
        raise _Member("indexVersion")
    if version > INDEX_VERSION:  # before what that version may have changed
        raise SnapshotError(
            "SNAPSHOT_SCHEMA_UNSUPPORTED",
            "This snapshot was indexed by a newer version of ragit: update ragit-mcp.",
            details={
                "resolvedSha": commit,
                "manifestPath": manifest_path(commit),
                "indexVersion": version,
                "supportedIndexVersion": INDEX_VERSION,
            },
        )
    docs = _array(value, "docs")
    chunks = _chunks(_array(value, "chunks"))
    if version < INDEX_VERSION:
        artifacts: list[Any] = []
        scopes: dict[str, tuple[str, ...]] = dict.fromkeys(SCOPES, ())
        scopes["durable"] = tuple(chunk[0] for chunk in chunks)
    else:
        artifacts = _array(value, "artifactEntries")
        scopes = _scopes(value)
    base = value.get("base")
    if base is not None and not isinstance(base, str):
        raise _Member("base")
    return Manifest(
        commit_sha=commit,
        parent_sha=parent,
        created_at=created,
        index_version=version,
        docs=tuple(docs),
        chunks=chunks,
        artifact_entries=tuple(artifacts),
        chunk_scopes=scopes,
        base=base,
        membership=_membership(value),
    )


def _scopes(value: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    if "chunkScopes" not in value:
        return dict.fromkeys(SCOPES, ())
    given = value["chunkScopes"]
    if not isinstance(given, dict):
        raise _Member("chunkScopes")
    scopes: dict[str, tuple[str, ...]] = {}
    for scope in SCOPES:
        ids = given.get(scope)
        if not isinstance(ids, list) or not _are_texts(ids):
            raise _Member("chunkScopes")
        scopes[scope] = tuple(ids)
    return scopes


def _membership(value: dict[str, Any]) -> MembershipReference | None:
    given = value.get("membership")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise _Member("membership")
    digest, documents, chunks = (
        given.get("digest"),
        _whole(given.get("documents")),
        _whole(given.get("chunks")),
    )
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or documents is None or chunks is None:
        raise _Member("membership")
    return MembershipReference(digest, documents, chunks)


def _array(value: dict[str, Any], member: str) -> list[Any]:
    found = value.get(member)
    if not isinstance(found, list):
        raise _Member(member)
    return found


def _chunks(entries: list[Any]) -> tuple[tuple[str, str, str], ...]:
    # There may be 100,000: looked at as a whole, not one by one.
    try:
        found = tuple((entry["id"], entry["documentId"], entry["documentVersionId"]) for entry in entries)
    except (KeyError, TypeError):
        raise _Member("chunks") from None
    if not _are_texts(chain.from_iterable(found)):
        raise _Member("chunks")
    return found


def _are_texts(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= {str}


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _invalid(commit: str, reason: str) -> SnapshotError:
    return SnapshotError(
        "SNAPSHOT_MANIFEST_INVALID",
        "The manifest of this snapshot is damaged: index the repository again.",
        details={"resolvedSha": commit, "manifestPath": manifest_path(commit), "reason": reason},
    )


def manifest_lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A manifest's JSON, one entry of an array a line: short, and a difference of two shows entries."""
    last = len(value) - 1
    yield "{\n"
    for index, (member, content) in enumerate(value.items()):
        comma = "," if index < last else ""
        head = f"  {json.dumps(member)}: "
        if isinstance(content, list) and content:
            yield f"{head}[\n"
            for number, entry in enumerate(content):
                yield f"    {json.dumps(entry)}{',' if number + 1 < len(content) else ''}\n"
            yield f"  ]{comma}\n"
        else:
            yield f"{head}{json.dumps(content)}{comma}\n"
    yield "}\n"

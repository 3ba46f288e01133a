"""Manifests as files that may be anything."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import parse_manifest
from ragit_mcp.snapshots.manifest import manifest_lines

COMMIT = "a" * 40
VALID: dict[str, Any] = {
    "commitSha": COMMIT,
    "parentSha": None,
    "createdAt": "2026-01-01T00:00:00Z",
    "indexVersion": 3,
    "docs": [{"id": "d"}],
    "chunks": [{"id": "c1", "documentId": "d", "documentVersionId": "v"}],
    "artifactEntries": [],
    "chunkScopes": {"durable": ["c1"], "session": [], "harness": [], "evidence": []},
}


def code_of(value: object, commit: str = COMMIT) -> tuple[str, dict[str, Any]]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with pytest.raises(RagitError) as caught:
        parse_manifest(data, commit)
    return caught.value.code, caught.value.details


def test_a_manifest_of_the_reference_is_read() -> None:
    manifest = parse_manifest(json.dumps(VALID).encode(), COMMIT)
    assert manifest.chunks == (("c1", "d", "v"),)
    assert manifest.chunk_scopes["durable"] == ("c1",)
    assert manifest.membership is None


@pytest.mark.parametrize(
    ("change", "member"),
    [
        ({"commitSha": "b" * 40}, "commitSha"),
        ({"commitSha": None}, "commitSha"),
        ({"parentSha": 7}, "parentSha"),
        ({"createdAt": ""}, "createdAt"),
        ({"createdAt": 5}, "createdAt"),
        ({"indexVersion": "3"}, "indexVersion"),
        ({"indexVersion": 0}, "indexVersion"),
        ({"indexVersion": 1.5}, "indexVersion"),
        ({"indexVersion": True}, "indexVersion"),
        ({"docs": {}}, "docs"),
        ({"chunks": [1]}, "chunks"),
        ({"chunks": [{"id": "c", "documentId": "d"}]}, "chunks"),
        ({"artifactEntries": None}, "artifactEntries"),
        ({"chunkScopes": {"durable": []}}, "chunkScopes"),
        ({"chunkScopes": {**VALID["chunkScopes"], "session": [1]}}, "chunkScopes"),
        ({"membership": {"digest": "x", "documents": 1, "chunks": 1}}, "membership"),
        ({"membership": {"digest": "0" * 64, "documents": "1", "chunks": 1}}, "membership"),
        ({"membership": []}, "membership"),
        ({"base": 1}, "base"),
    ],
)
def test_a_member_that_is_not_what_it_must_be_is_named(change: dict[str, Any], member: str) -> None:
    code, details = code_of({**VALID, **change})
    assert code == "SNAPSHOT_MANIFEST_INVALID"
    assert details == {
        "resolvedSha": COMMIT,
        "manifestPath": f".ragit/manifest/{COMMIT}.json",
        "reason": member,
    }


@pytest.mark.parametrize("member", ["commitSha", "parentSha", "createdAt", "indexVersion", "docs", "chunks"])
def test_a_member_that_is_missing_is_named(member: str) -> None:
    code, details = code_of({name: value for name, value in VALID.items() if name != member})
    assert (code, details["reason"]) == ("SNAPSHOT_MANIFEST_INVALID", member)


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"{", b"\x00\xff", b"[" * 200_000, b"1" * 5000])
def test_what_is_no_object_is_told(data: bytes) -> None:
    assert code_of(data)[0] == "SNAPSHOT_MANIFEST_INVALID"


def test_a_newer_version_is_told_before_what_it_may_have_changed() -> None:
    bare = {name: VALID[name] for name in ("commitSha", "parentSha", "createdAt")}
    code, details = code_of({**bare, "indexVersion": 999})
    assert code == "SNAPSHOT_SCHEMA_UNSUPPORTED"
    assert (details["indexVersion"], details["supportedIndexVersion"]) == (999, 3)


def test_an_older_version_is_brought_up_in_memory() -> None:
    older = {name: VALID[name] for name in ("commitSha", "parentSha", "createdAt", "docs", "chunks")}
    manifest = parse_manifest(json.dumps({**older, "indexVersion": 2}).encode(), COMMIT)
    assert manifest.artifact_entries == ()
    assert manifest.chunk_scopes == {"durable": ("c1",), "session": (), "harness": (), "evidence": ()}


def test_version_3_without_scopes_has_four_empty_ones() -> None:
    value = {name: content for name, content in VALID.items() if name != "chunkScopes"}
    assert set(parse_manifest(json.dumps(value).encode(), COMMIT).chunk_scopes.values()) == {()}


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=8),
        max_size=5,
    )
)
def test_the_lines_of_a_manifest_are_its_json(value: dict[str, Any]) -> None:
    assert json.loads("".join(manifest_lines(value))) == value


def test_no_damage_gives_anything_but_a_manifest_or_a_code() -> None:
    data = json.dumps(VALID).encode()
    chance = random.Random(5)
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            parse_manifest(bytes(damaged), COMMIT)
        except RagitError:
            continue

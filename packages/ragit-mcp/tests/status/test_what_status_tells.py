from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.status import read_status

MEMBERS = [
    "branch",
    "head",
    "snapshot",
    "runtime",
    "backend",
    "store",
    "supported_types",
    "docsAuthority",
    "knowledge",
    "events",
    "manifests",
    "embedding",
    "security",
    "storeWriter",
    "ingestRecovery",
    "format",
]


def status(project: Any, **environ: str) -> dict[str, Any]:
    return read_status(project.root, environ={**project.env, **environ}).data


def fingerprint(root: Path) -> dict[str, tuple[str, int, int]]:
    """Content, mode and times of everything, git's own files included."""
    found = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (digest, state.st_mode, state.st_mtime_ns)
    return found


def test_the_answer_has_the_members_of_the_contract(indexed: Any) -> None:
    data = status(indexed)
    assert list(data) == MEMBERS
    assert set(data["runtime"]) == {"python", "platform", "sqlite"}
    assert set(data["storeWriter"]) == {"state", "owner"}
    assert set(data["ingestRecovery"]) == {"summary", "pending", "lastCompleted"}
    json.dumps(data)


def test_an_indexed_commit_is_ready(indexed: Any) -> None:
    data = status(indexed)
    assert data["snapshot"]["status"] == "indexed"
    assert data["store"]["searchReady"] is data["knowledge"]["durableReady"] is True
    assert data["store"]["stats"] == {"documents": 2, "chunks": 2, "bytes": data["store"]["stats"]["bytes"]}
    assert (data["manifests"], data["embedding"]["ready"], data["embedding"]["needsMigration"]) == (
        1,
        True,
        False,
    )
    assert (data["branch"], data["head"]) == ("main", indexed.head)


def test_a_commit_that_is_not_indexed_is_missing_though_others_are(indexed: Any) -> None:
    indexed.commit("later")
    data = status(indexed)
    assert (data["snapshot"]["status"], data["manifests"]) == ("missing", 1)
    assert data["store"]["searchReady"] is data["knowledge"]["durableReady"] is False
    assert data["store"]["status"] == "loaded"


def damage_manifest(root: Path, head: str) -> None:
    (root / ".ragit" / "manifest" / f"{head}.json").write_bytes(b"{")


def newer_manifest(root: Path, head: str) -> None:
    path = root / ".ragit" / "manifest" / f"{head}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "indexVersion": 99}), encoding="utf-8")


def remove_store(root: Path, head: str) -> None:
    shutil.rmtree(root / ".ragit" / "store")


def empty_pointer(root: Path, head: str) -> None:
    (root / ".ragit" / "store" / "meta.json").write_bytes(b"{}")


def garble_store(root: Path, head: str) -> None:
    for path in (root / ".ragit" / "store").iterdir():
        path.write_bytes(b"\0garbage" * 1000)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (damage_manifest, "invalid"),
        (newer_manifest, "invalid"),
        (remove_store, "store-unavailable"),
        (empty_pointer, "store-unavailable"),
        (garble_store, "store-unavailable"),
    ],
)
def test_damage_is_told_and_is_no_failure(indexed: Any, harm: Any, told: str) -> None:
    harm(indexed.root, indexed.head)
    report = read_status(indexed.root, environ=indexed.env)
    assert report.data["snapshot"]["status"] == told
    assert report.data["store"]["searchReady"] is False
    assert any("ragit ingest --all" in warning or "pip install" in warning for warning in report.warnings)


def test_a_plain_repository_is_answered_and_nothing_is_made(new_project: Any) -> None:
    project = new_project()
    before = fingerprint(project.root)
    data = status(project)
    assert (data["snapshot"]["status"], data["head"], data["branch"]) == ("missing", None, "main")
    assert data["store"] == {
        "status": "missing",
        "reason": "missing",
        "collections": [],
        "schemaVersion": None,
        "searchReady": False,
        "migrationRequired": False,
        "stats": None,
    }
    assert fingerprint(project.root) == before


def test_status_changes_no_byte_mode_or_time(indexed: Any) -> None:
    before = fingerprint(indexed.root)
    status(indexed)
    assert fingerprint(indexed.root) == before


def test_a_detached_head_and_a_dirty_work_tree_are_told(indexed: Any) -> None:
    indexed.git("checkout", "-q", "--detach")
    indexed.write("docs/harbour.md", "# Changed\n")
    snapshot = status(indexed)["snapshot"]
    assert (snapshot["detached"], snapshot["branch"], snapshot["worktreeDirty"]) == (True, None, True)
    assert snapshot["status"] == "indexed"


def test_a_directory_below_the_root_gives_the_same_answer(indexed: Any) -> None:
    assert read_status(indexed.root / "docs", environ=indexed.env).data == status(indexed)


def test_another_provider_than_the_stores_is_told(indexed: Any) -> None:
    embedding = status(indexed, RAGIT_EMBEDDING_PROVIDER="local-placeholder")["embedding"]
    assert (embedding["needsMigration"], embedding["ready"]) == (True, False)
    assert embedding["store"]["provider"] == "wordllama"


def test_a_provider_without_its_key_is_not_ready(indexed: Any) -> None:
    shutil.rmtree(indexed.root / ".ragit" / "store")
    data = status(indexed, RAGIT_EMBEDDING_PROVIDER="openai")
    assert (data["embedding"]["ready"], data["security"]["providerEgressClass"]) == (False, "remote")


def test_an_invalid_base_url_is_told_and_not_repeated(indexed: Any) -> None:
    data = status(indexed, RAGIT_EMBEDDING_PROVIDER="openai", RAGIT_EMBEDDING_BASE_URL="ftp://canary@x")
    assert (data["embedding"]["configured"], data["embedding"]["error"]) == (None, "CONFIG_INVALID")
    assert "canary" not in json.dumps(data)


def test_a_configuration_that_cannot_be_read_is_an_error_with_a_code(indexed: Any) -> None:
    indexed.write(".ragit/config.toml", "[retrieval\n")
    with pytest.raises(RagitError) as caught:
        status(indexed)
    assert caught.value.code == "CONFIG_INVALID"


def test_outside_a_repository_the_error_has_a_code(tmp_path: Path) -> None:
    with pytest.raises(RagitError) as caught:
        read_status(tmp_path, environ={})
    assert caught.value.code == "REPOSITORY_UNUSABLE"


def test_hostile_files_where_status_looks_are_no_failure(indexed: Any) -> None:
    for path in (
        ".ragit/docs/index.json",
        ".ragit/log/events/2026-01-01.jsonl",
        ".ragit/security/admission/2026-01-01.jsonl",
        ".ragit/security/state.json",
        ".ragit/artifacts/session/art_session_insight_0123456789abcdef.json",
        ".ragit/runtime/store-write.lock",
        ".ragit/runtime/transactions/x.json",
    ):
        for content in (
            "",
            "[" * 100_000,
            '{"tracked": -1, "recordedAt": {}}',
            "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        ):
            indexed.write(path, content)
            status(indexed)


def test_who_writes_is_told_without_the_token(indexed: Any) -> None:
    import socket

    lock = {
        "schemaVersion": 1,
        "token": "canary-token",
        "pid": os.getpid(),
        "hostname": socket.gethostname(),
        "startedAt": "2026-01-01T00:00:00Z",
        "command": "ragit ingest",
    }
    indexed.write(".ragit/runtime/store-write.lock", json.dumps(lock))
    writer = status(indexed)["storeWriter"]
    assert (writer["state"], writer["owner"]["pid"]) == ("active", os.getpid())
    assert "canary-token" not in json.dumps(writer)


def test_status_can_reach_no_module_that_writes() -> None:
    program = (
        "import sys, ragit_mcp.status, ragit_mcp.doctor, ragit_mcp.artifacts, ragit_mcp.ledger, ragit_mcp.hooks\n"
        "writers = ('ragit_mcp.ingest', 'ragit_mcp.workspace_files', 'ragit_mcp.ledger.writing',\n"
        "    'ragit_mcp.artifacts.capture', 'ragit_mcp.hooks.installing', 'ragit_mcp.hooks.running', 'ragit_mcp.init',\n"
        "    'ragit_mcp.config.editing', 'ragit_mcp.embedding.writing', 'ragit_mcp.embedding.cache.writing', 'mcpkit.git.writing')\n"
        "sys.exit(', '.join(name for name in sys.modules if name.startswith(writers)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


def test_importing_status_loads_nothing_of_weight() -> None:
    program = (
        "import sys, ragit_mcp.status\n"
        "sys.exit(', '.join(sorted({'numpy', 'apsw', 'tokenizers', 'httpx', 'rich'} & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()

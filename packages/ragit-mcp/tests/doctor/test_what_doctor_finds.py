from __future__ import annotations

import json
import os
import shutil
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.doctor import Examination, examine
from ragit_mcp.hooks import find_hooks_directory
from ragit_mcp.hooks.installing import install_hook
from ragit_mcp.snapshots import open_repository

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)

NAMES = {
    "git.repository",
    "ragit.structure",
    "ragit.untracked-index",
    "store-write-lock",
    "ingest.transactions",
    "ragit.config",
    "python.runtime",
    "store.platform",
    "store.runtime",
    "embedding.config",
    "embedding.credentials",
    "embedding.deprecated-fields",
    "embedding.contract",
    "embedding.migration-needed",
    "embedding.cache-dir",
    "embedding.cache-namespace",
    "security.masking-config",
    "security.output-remasking",
    "security.remote-egress",
    "security.quarantine-dir",
    "security.admission-mode",
    "security.admission-recent-blocked",
    "security.audit-admission",
    "security.legacy-control-plane",
    "security.legacy-store",
    "store.schema",
    "store.embedding",
    "ragit.manifest-consistency",
    "ragit.legacy-json-store",
    "hooks.runnable",
}


def examined(project: Any, **environ: str) -> Examination:
    return examine(project.root, environ={**project.env, **environ}, now=NOW)


def failing(project: Any, **environ: str) -> set[str]:
    return {check.name for check in examined(project, **environ).checks if not check.ok}


def test_every_check_of_the_contract_is_there_once(indexed: Any) -> None:
    names = [check.name for check in examined(indexed).checks]
    assert len(names) == len(set(names))
    assert set(names) == NAMES


def test_a_fresh_index_has_no_failure(indexed: Any) -> None:
    examination = examined(indexed)
    assert failing(indexed) == set()
    assert not examination.has_failure
    assert examination.to_json()["hasFailure"] is False


def test_a_failing_check_names_what_helps(project: Any) -> None:
    failures = [check for check in examined(project).checks if not check.ok]
    assert {check.name for check in failures} == {
        "ragit.structure",
        "store.schema",
        "ragit.manifest-consistency",
    }
    assert all(check.recovery for check in failures)


def test_outside_a_repository_the_machine_is_still_looked_at(tmp_path: Path) -> None:
    checks = {check.name: check.ok for check in examine(tmp_path, environ={}).checks}
    assert checks == {
        "git.repository": False,
        "python.runtime": True,
        "store.platform": True,
        "store.runtime": True,
    }


def remove_a_generation(project: Any) -> None:
    shutil.rmtree(project.root / ".ragit" / "store")


def damage_a_manifest(project: Any) -> None:
    project.write(f".ragit/manifest/{project.head}.json", "{")


def claim_more_passages(project: Any) -> None:
    path = project.root / ".ragit" / "manifest" / f"{project.head}.json"
    manifest = json.loads(path.read_bytes())
    manifest["membership"]["chunks"] += 1
    path.write_text(json.dumps(manifest), encoding="utf-8")


def foreign_membership(project: Any) -> None:
    path = project.root / ".ragit" / "manifest" / f"{project.head}.json"
    manifest = json.loads(path.read_bytes())
    manifest["membership"]["digest"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")


def break_the_configuration(project: Any) -> None:
    project.write(".ragit/config.toml", "[retrieval\n")


def misspell_a_setting(project: Any) -> None:
    project.write(".ragit/config.toml", "[security]\nadmission_mode = 'enforce'\n[retrieval]\ntopk = 3\n")


def keep_an_old_embedding_setting(project: Any) -> None:
    project.write(
        ".ragit/config.toml", "[security]\nadmission_mode = 'enforce'\n[embedding]\napi_key_env = 'X'\n"
    )


def switch_masking_off(project: Any) -> None:
    project.write(".ragit/config.toml", "[security]\nadmission_mode = 'enforce'\nsecret_masking = false\n")


def only_report(project: Any) -> None:
    project.write(".ragit/config.toml", "[security]\nadmission_mode = 'report-only'\n")


def cache_elsewhere(project: Any) -> None:
    project.write(
        ".ragit/config.toml",
        "[security]\nadmission_mode = 'enforce'\n[embedding]\nprovider = 'ollama'\ncache_dir = '../cache'\n",
    )


def block_something(project: Any) -> None:
    record = {"recordedAt": "2026-06-14T10:00:00.000Z", "action": "block"}
    project.write(".ragit/security/admission/2026-06-14.jsonl", json.dumps(record) + "\n")


def find_secrets_in_an_audit(project: Any) -> None:
    state = {"lastAuditAt": "2026-06-14T10:00:00.000Z", "legacyUnsafeState": True}
    project.write(".ragit/security/state.json", json.dumps(state))


def leave_an_old_store(project: Any) -> None:
    project.write(".ragit/store/chunks.json", "[]")


def leave_a_lock(project: Any) -> None:
    lock = {
        "schemaVersion": 1,
        "token": "t",
        "pid": 2**22 + 12345,
        "hostname": socket.gethostname(),
        "startedAt": "2026-01-01T00:00:00Z",
        "command": "x",
    }
    project.write(".ragit/runtime/store-write.lock", json.dumps(lock))


def lock_from_elsewhere(project: Any) -> None:
    project.write(".ragit/runtime/store-write.lock", "{}")


def leave_a_transaction(project: Any) -> None:
    record = {"schemaVersion": 1, "phase": "store-written", "status": "running"}
    project.write(".ragit/runtime/transactions/x.json", json.dumps(record))


def track_the_store(project: Any) -> None:
    project.git("add", "-f", ".ragit/store")
    project.git("commit", "-q", "-m", "forged")


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (remove_a_generation, {"store.schema", "ragit.manifest-consistency"}),
        (damage_a_manifest, {"ragit.manifest-consistency"}),
        (claim_more_passages, {"ragit.manifest-consistency"}),
        (foreign_membership, {"ragit.manifest-consistency"}),
        (break_the_configuration, {"ragit.config"}),
        (misspell_a_setting, {"ragit.config"}),
        (keep_an_old_embedding_setting, {"embedding.deprecated-fields"}),
        (switch_masking_off, {"security.masking-config"}),
        (only_report, {"security.admission-mode"}),
        (cache_elsewhere, {"embedding.cache-dir", "embedding.migration-needed"}),
        (block_something, {"security.admission-recent-blocked"}),
        (find_secrets_in_an_audit, {"security.legacy-control-plane"}),
        (leave_an_old_store, {"ragit.legacy-json-store", "security.legacy-store"}),
        (leave_a_lock, {"store-write-lock"}),
        (lock_from_elsewhere, {"store-write-lock"}),
        (leave_a_transaction, {"ingest.transactions"}),
        (track_the_store, {"ragit.untracked-index"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_harm_is_found_by_its_check_and_by_no_other(indexed: Any, harm: Any, found: set[str]) -> None:
    harm(indexed)
    assert failing(indexed) == found


def test_what_was_blocked_long_ago_is_no_failure(indexed: Any) -> None:
    record = {"recordedAt": "2026-06-01T10:00:00.000Z", "action": "block"}
    indexed.write(".ragit/security/admission/2026-06-01.jsonl", json.dumps(record) + "\n")
    assert failing(indexed) == set()


def test_a_provider_of_the_repository_may_not_be_asked_without_consent(indexed: Any) -> None:
    indexed.write(
        ".ragit/config.toml",
        "[security]\nadmission_mode = 'enforce'\n[embedding]\nprovider = 'openai'\nbase_url = 'https://example.invalid'\n",
    )
    assert failing(indexed) == {
        "embedding.credentials",
        "embedding.migration-needed",
        "security.remote-egress",
    }


def test_local_only_refuses_a_remote_provider(indexed: Any) -> None:
    found = failing(
        indexed,
        RAGIT_EMBEDDING_PROVIDER="openai",
        RAGIT_SECURITY_REMOTE_EMBEDDING_POLICY="local-only",
        OPENAI_API_KEY="sk-test",
    )
    assert found == {"embedding.migration-needed", "security.remote-egress"}


def test_a_model_that_is_not_there_is_found(indexed: Any, tmp_path: Path) -> None:
    found = failing(indexed, RAGIT_EMBEDDING_PROVIDER="transformer", RAGIT_EMBEDDING_MODEL_DIR=str(tmp_path))
    assert {"embedding.contract"} <= found


def test_a_hook_that_cannot_run_is_found(indexed: Any) -> None:
    directory = find_hooks_directory(open_repository(indexed.root), indexed.env)
    install_hook(directory, "post-commit")
    assert failing(indexed) == set()
    install_hook(directory, "post-commit", python="/gone/python")
    assert failing(indexed) == {"hooks.runnable"}


def test_details_hold_no_path_of_the_machine_and_no_secret(indexed: Any) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    indexed.write(
        ".ragit/config.toml", f"[embedding]\nprovider = 'openai'\nbase_url = 'https://u:{token}@h.invalid'\n"
    )
    shown = json.dumps(examined(indexed).to_json())
    assert token not in shown
    assert str(indexed.root) not in shown


def test_looking_changes_nothing(indexed: Any) -> None:
    before = indexed.files()
    times = {path: os.stat(indexed.root / path).st_mtime_ns for path in before}
    examined(indexed)
    assert indexed.files() == before
    assert {path: os.stat(indexed.root / path).st_mtime_ns for path in before} == times

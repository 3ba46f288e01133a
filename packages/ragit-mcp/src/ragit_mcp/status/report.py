"""Puts the answer of status together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpkit.git import Repository
from ragit_mcp.artifacts import read_artifacts
from ragit_mcp.config import Config, load_config
from ragit_mcp.embedding import Profile
from ragit_mcp.ledger import read_audit_state, summarise_events, summarise_security
from ragit_mcp.snapshots import inspect_snapshot, open_repository, work_tree_root
from ragit_mcp.status.authority import describe_authority
from ragit_mcp.status.indexing import describe_embedding, inspect_embedding, inspect_store
from ragit_mcp.status.runtime import describe_runtime
from ragit_mcp.store import read_writer_state
from ragit_mcp.store.writer_state import read_transactions

__all__ = ["StatusReport", "read_status"]


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The answer.

    Attributes:
        data: the member `data` of the envelope; not masked yet.
        warnings: what there is to warn of.
    """

    data: dict[str, Any]
    warnings: tuple[str, ...]


def read_status(
    place: str | os.PathLike[str] | Repository, *, environ: Mapping[str, str] | None = None
) -> StatusReport:
    """The state of a repository's index.

    Args:
        place: a path in the work tree, or the repository itself.
        environ: environment variables; the process's own if None.

    Raises:
        SnapshotError: `REPOSITORY_UNUSABLE`.
        ConfigError: `CONFIG_INVALID` or `CONFIG_UNREADABLE`.
    """
    variables = os.environ if environ is None else environ
    repository = place if isinstance(place, Repository) else open_repository(place)
    root = work_tree_root(repository)
    config = load_config(root, environ=variables)
    inspection = inspect_snapshot(repository)
    store = inspect_store(root)
    embedding = inspect_embedding(config, root, store, variables)
    artifacts = read_artifacts(root)
    ready = inspection.info.status == "indexed"
    data = {
        "branch": inspection.info.branch,
        "head": inspection.info.resolved_sha,
        "snapshot": inspection.info.to_json(),
        "runtime": describe_runtime(),
        "backend": "sqlite",
        "store": store.to_json(search_ready=ready, migration_required=bool(embedding.mismatch)),
        "supported_types": list(config.ingest.supported_types),
        "docsAuthority": describe_authority(root),
        "knowledge": {
            "durableReady": ready,
            "sessionArtifactCount": artifacts.count("session"),
            "harnessArtifactCount": artifacts.count("harness"),
            "pendingBindings": artifacts.pending,
        },
        "events": summarise_events(root).to_json(),
        "manifests": inspection.manifests,
        "embedding": describe_embedding(config, root, store, embedding),
        "security": _security(config, root, embedding.profile),
        "storeWriter": read_writer_state(root).to_json(),
        "ingestRecovery": read_transactions(root).to_json(),
        "format": config.output.format,
    }
    problem = (
        () if inspection.error is None else (f"{inspection.error.message} ({inspection.error.recovery})",)
    )
    told = tuple(f"{warning.key} ({warning.origin}) {warning.message}" for warning in config.warnings)
    return StatusReport(data, (*inspection.warnings, *problem, *told))


def _security(config: Config, root: str, profile: Profile | None) -> dict[str, Any]:
    ledger = summarise_security(root)
    audit = read_audit_state(root)
    return {
        "maskingConfigured": config.security.secret_masking,
        "remoteEmbeddingPolicy": config.security.remote_embedding_policy,
        "admissionMode": config.security.admission_mode,
        "providerEgressClass": None if profile is None else profile.egress,
        "outputRemasking": True,
        "quarantineEntries": ledger.quarantine_entries,
        "lastAdmissionAt": ledger.last_admission_at,
        "admissionBlockedEntries": ledger.blocked_entries,
        "admissionQuarantinedEntries": ledger.quarantined_entries,
        "lastAuditAt": audit.last_audit_at,
        "legacyUnsafeState": audit.legacy_unsafe_state,
    }

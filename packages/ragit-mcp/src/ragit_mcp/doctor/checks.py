"""The checks. Each takes what it looks at and gives what it found; none raises, none writes."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from mcpkit.files import FileAccessError, locate_below
from mcpkit.git import GitError, Repository
from ragit_mcp.config import CONFIG_PATH, Config
from ragit_mcp.doctor.findings import Check, bad, good
from ragit_mcp.embedding import EmbeddingContract, Profile, open_embedder, resolve_profile
from ragit_mcp.embedding.description import describe_cache, has_credential
from ragit_mcp.embedding.egress import EgressRules
from ragit_mcp.errors import RagitError
from ragit_mcp.hooks import find_hooks_directory, read_hooks
from ragit_mcp.ledger import read_audit_state, summarise_security
from ragit_mcp.ledger.reading import ADMISSION_DIR, QUARANTINE_DIR, count_recent_blocked
from ragit_mcp.snapshots import indexed_commits, read_manifest
from ragit_mcp.snapshots.repository import refuse_links, refuse_tracked_index
from ragit_mcp.status.runtime import MINIMUM_PYTHON, MINIMUM_SQLITE, describe_runtime
from ragit_mcp.store import open_store, read_pointer, read_writer_state
from ragit_mcp.store.layout import STORE_DIR
from ragit_mcp.store.writer_state import read_transactions

__all__ = [
    "configuration",
    "embedding",
    "hooks",
    "legacy",
    "runtime",
    "security",
    "store",
    "structure",
    "transactions",
    "untracked",
    "write_lock",
]

_INIT: Final = "ragit init --yes"
_INGEST: Final = "ragit ingest --all"
_RECENT: Final = timedelta(days=7)
_MAX_MANIFESTS: Final = 2000
# What other versions of ragit kept in the directory of the store.
_LEGACY_STORES: Final = ("documents", "chunks", "documents.json", "chunks.json", "index.json", "vectors.json")


def structure(root: str) -> Check:
    """`.ragit` is a directory of this repository and has a configuration."""
    name = "ragit.structure"
    try:
        refuse_links(root)
        locate_below(root, CONFIG_PATH)
    except FileAccessError as error:
        return bad(name, f"{CONFIG_PATH} {error.reason}", _INIT)
    except RagitError as error:
        return bad(name, error.message, "remove the link, then: ragit init --yes")
    return good(name, f"{CONFIG_PATH} is there")


def untracked(repository: Repository, root: str) -> Check:
    """The checked-out commit brings no store, manifest or cache."""
    name = "ragit.untracked-index"
    try:
        refuse_tracked_index(repository, repository.head().oid)
    except RagitError as error:
        return bad(name, error.message, error.recovery)
    except GitError as error:
        return bad(name, error.reason, "git status")
    return good(name, "no store, manifest or cache is tracked")


def write_lock(root: str) -> Check:
    """Nobody left the write lock behind."""
    name = "store-write-lock"
    state = read_writer_state(root)
    if state.state == "missing":
        return good(name, "nobody writes")
    owner = "somebody unknown" if state.owner is None else f"process {state.owner.pid}"
    if state.state == "active":
        return good(name, f"{owner} is writing")
    if state.state == "stale":
        return bad(name, f"left behind by {owner}, which is gone", _INGEST)
    return bad(
        name,
        f"held by {owner}, perhaps on another machine",
        "make sure that no ragit runs there, then remove .ragit/runtime/store-write.lock",
    )


def transactions(root: str) -> Check:
    """Every ingest on record came to its end."""
    name = "ingest.transactions"
    found = read_transactions(root)
    pending = found.precommit_incomplete + found.finalization_pending
    if pending or found.inconsistent or found.invalid:
        return bad(
            name,
            f"{pending} unfinished, {found.inconsistent} inconsistent, {found.invalid} unreadable",
            _INGEST,
        )
    return good(name, f"{found.completed} completed")


def configuration(config: Config) -> Check:
    """The configuration means what it says."""
    name = "ragit.config"
    others = [warning for warning in config.warnings if not warning.key.startswith("embedding")]
    if others:
        shown = "; ".join(f"{warning.key} ({warning.origin}) {warning.message}" for warning in others[:5])
        return bad(name, shown, "correct the named settings, then: ragit config list")
    return good(name, "valid" if config.repository_file else "defaults: the repository has no configuration")


def runtime() -> list[Check]:
    """Python, platform and SQLite serve."""
    found = describe_runtime()
    python, sqlite = found["python"], found["sqlite"]
    minimum = ".".join(map(str, MINIMUM_PYTHON))
    checks = [
        good("python.runtime", f"Python {python['current']}")
        if python["supported"]
        else bad("python.runtime", f"Python {python['current']}", f"install Python {minimum} or newer"),
        good("store.platform", f"{sys.platform}, {platform.machine() or 'unknown machine'}"),
    ]
    reinstall = "python -m pip install --force-reinstall ragit-mcp"
    if sqlite["current"] is None:
        checks.append(bad("store.runtime", "apsw cannot be loaded", reinstall))
    elif not sqlite["supported"]:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        checks.append(bad("store.runtime", f"SQLite {sqlite['current']}, older than {wanted}", reinstall))
    else:
        checks.append(good("store.runtime", f"SQLite {sqlite['current']}"))
    return checks


def embedding(config: Config, root: str, environ: Mapping[str, str]) -> list[Check]:
    """The provider is known, may be asked, loads, and made the vectors of the store."""
    deprecated = [warning for warning in config.warnings if warning.key.startswith("embedding")]
    fields = (
        bad(
            "embedding.deprecated-fields",
            "; ".join(f"{warning.key} {warning.message}" for warning in deprecated[:5]),
            "remove them from .ragit/config.toml",
        )
        if deprecated
        else good("embedding.deprecated-fields", "none")
    )
    try:
        profile = resolve_profile(config, environ=environ, root=root)
    except RagitError as error:
        return [bad("embedding.config", error.message, error.recovery), fields]
    checks = [
        good("embedding.config", f"{profile.provider}, {profile.model}"),
        _credential(profile, environ),
        fields,
    ]
    contract = _loaded(config, root, profile, environ, checks)
    checks.append(_migration(root, profile, contract))
    checks += _cache(config, root, profile, contract)
    return checks


def _credential(profile: Profile, environ: Mapping[str, str]) -> Check:
    name = "embedding.credentials"
    if has_credential(profile, environ):
        return good(name, "none needed or present")
    return bad(
        name, "the provider's key is not in the environment", "set it and retry, or choose another provider"
    )


def _loaded(
    config: Config, root: str, profile: Profile, environ: Mapping[str, str], checks: list[Check]
) -> EmbeddingContract | None:
    """The terms of the vectors; a local model's files are read for it, nobody is asked."""
    name = "embedding.contract"
    try:
        contract = open_embedder(config, root, environ=environ, use_cache=False).contract
    except RagitError as error:
        checks.append(bad(name, error.message, error.recovery))
        return None
    checks.append(good(name, f"{contract.dimensions} dimensions, {contract.version}"))
    return contract


def _migration(root: str, profile: Profile, contract: EmbeddingContract | None) -> Check:
    name = "embedding.migration-needed"
    try:
        held = read_pointer(root).contract
    except RagitError:
        return good(name, "there is no store to compare with")
    wanted = contract or profile.contract
    if wanted is not None and held.identity != wanted.identity:
        return bad(name, f"the store holds vectors of {held.provider}, {held.model}", _INGEST)
    return good(name, "the store was made with this provider")


def _cache(config: Config, root: str, profile: Profile, contract: EmbeddingContract | None) -> list[Check]:
    described = describe_cache(config, root, profile, contract)
    reason = described["reason"]
    if reason == "outside":
        place = bad(
            "embedding.cache-dir",
            "embedding.cache_dir does not lie below .ragit, so no vectors are kept",
            "ragit config set embedding.cache_dir .ragit/cache/embeddings",
        )
    elif reason is None and not described["writable"]:
        place = bad("embedding.cache-dir", "may not be written to", "correct its permissions")
    else:
        words = {"disabled": "switched off", "not_needed": "not needed by this provider"}
        place = good("embedding.cache-dir", words.get(reason, str(described["dir"])))
    entries = described["entryCount"]
    return [place, good("embedding.cache-namespace", f"{entries} vectors kept")]


def security(config: Config, root: str, environ: Mapping[str, str], now: datetime) -> list[Check]:
    """Secrets stay where they are."""
    settings = config.security
    ledger = summarise_security(root)
    audit = read_audit_state(root)
    recent = count_recent_blocked(root, since=now - _RECENT)
    return [
        good("security.masking-config", "secrets are masked")
        if settings.secret_masking
        else bad(
            "security.masking-config",
            "masking is switched off, so nothing can be indexed",
            "ragit config set security.secret_masking true",
        ),
        good("security.output-remasking", "every reply is masked once more"),
        _egress(config, root, environ),
        good("security.quarantine-dir", f"{ledger.quarantine_entries} entries below {QUARANTINE_DIR}"),
        good("security.admission-mode", settings.admission_mode)
        if settings.admission_mode == "enforce"
        else bad(
            "security.admission-mode",
            f"{settings.admission_mode}: documents full of secrets are indexed, masked",
            "ragit config set security.admission_mode enforce",
        ),
        good("security.admission-recent-blocked", "none in the last seven days")
        if not recent
        else bad(
            "security.admission-recent-blocked",
            f"{recent} in the last seven days, see {ADMISSION_DIR}",
            "remove the secrets from these documents",
        ),
        good("security.audit-admission", f"last audit: {audit.last_audit_at or 'never'}"),
        bad(
            "security.legacy-control-plane",
            "the last audit found secrets in what an older ragit wrote",
            "ragit security audit",
        )
        if audit.legacy_unsafe_state
        else good("security.legacy-control-plane", "nothing known"),
    ]


def _egress(config: Config, root: str, environ: Mapping[str, str]) -> Check:
    name = "security.remote-egress"
    try:
        profile = resolve_profile(config, environ=environ, root=root)
        rules = EgressRules(profile, config)
        if profile.egress == "remote":
            rules.require_policy("query")
        rules.require_consent()
    except RagitError as error:
        return bad(name, error.message, error.recovery)
    if profile.in_process:
        return good(name, "text does not leave this process")
    return good(
        name, "text stays on this machine" if profile.egress == "local" else "masked text is sent out"
    )


def store(repository: Repository, root: str) -> list[Check]:
    """The store opens and holds what the manifests promise."""
    try:
        with open_store(root) as opened:
            statistics = opened.statistics()
            held = set(opened.snapshots())
            contract = opened.contract
    except RagitError as error:
        reason = error.details.get("reason", error.code)
        recovery = error.recovery
        return [
            bad("store.schema", f"{error.message} [{reason}]", recovery),
            bad("ragit.manifest-consistency", "without a store no manifest can be served", recovery),
        ]
    return [
        good("store.schema", f"{statistics.documents} documents, {statistics.chunks} chunks"),
        good("store.embedding", f"{contract.provider}, {contract.model}, {contract.dimensions} dimensions"),
        _manifests(repository, root, held),
    ]


def _manifests(repository: Repository, root: str, held: set[tuple[str, str]]) -> Check:
    name = "ragit.manifest-consistency"
    commits = sorted(indexed_commits(root))
    damaged = missing = 0
    for commit in commits[:_MAX_MANIFESTS]:
        try:
            manifest = read_manifest(root, commit)
        except RagitError:
            damaged += 1
            continue
        reference = manifest.membership if manifest is not None else None
        if manifest is not None and (reference is None or (commit, reference.digest) not in held):
            missing += 1
    gone = _head_is_short(repository, root)
    if damaged or missing or gone:
        return bad(
            name,
            f"{len(commits)} manifests: {damaged} damaged, {missing} without their passages in the store"
            + ("; passages of HEAD are missing" if gone else ""),
            _INGEST,
        )
    return good(name, f"{len(commits)} manifest{'' if len(commits) == 1 else 's'}, all in the store")


def _head_is_short(repository: Repository, root: str) -> bool:
    """Whether the store holds fewer passages of HEAD than its manifest says."""
    try:
        head = repository.head().oid
        manifest = None if head is None else read_manifest(root, head)
        reference = None if manifest is None else manifest.membership
        if head is None or reference is None:
            return False
        with open_store(root) as opened:
            return len(opened.membership(head, reference.digest, "all")) != reference.chunks
    except GitError:
        return False
    except RagitError as error:
        return error.code == "SNAPSHOT_STORE_UNAVAILABLE"


def legacy(root: str) -> list[Check]:
    """Nothing of an older ragit's store lies about."""
    names = [
        name for name in _LEGACY_STORES if os.path.lexists(os.path.join(root, *STORE_DIR.split("/"), name))
    ]
    if not names:
        return [
            good("ragit.legacy-json-store", "none"),
            good("security.legacy-store", "none"),
        ]
    shown = ", ".join(names)
    recovery = f"index again, then remove {shown} from {STORE_DIR}"
    return [
        bad("ragit.legacy-json-store", f"left by another version of ragit: {shown}", recovery),
        bad("security.legacy-store", "what it holds was masked by other rules, if at all", recovery),
    ]


def hooks(repository: Repository, environ: Mapping[str, str]) -> Check:
    """Installed hooks can run."""
    name = "hooks.runnable"
    try:
        states = read_hooks(find_hooks_directory(repository, environ))
    except (GitError, RagitError):
        return bad(name, "the directory of hooks cannot be found", "git config core.hooksPath")
    broken = [state for state in states if state.state == "broken"]
    if broken:
        shown = "; ".join(f"{state.name}: {state.reason}" for state in broken)
        return bad(name, shown, "ragit hooks install")
    installed = [state.name for state in states if state.state == "installed"]
    return good(name, f"installed: {', '.join(installed)}" if installed else "none installed")

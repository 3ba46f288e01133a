"""One ingest from beginning to end.

What is written, in this order: the lock; the generation, which nobody knows; the pointer to it; the manifest. Whatever
happens in between, a reader has the older state until the manifest is there, and the newer one from then on.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcpkit.git import CancelCheck, GitError, Repository
from mcpkit.git.worktree import read_work_tree_state
from ragit_mcp.config import Config, load_config
from ragit_mcp.corpus import path_from_git, show_path
from ragit_mcp.embedding.vectors import FloatArray
from ragit_mcp.errors import ConfigError, IngestError, RagitError, SnapshotError
from ragit_mcp.ingest import publishing
from ragit_mcp.ingest.documents import (
    Candidate,
    PreparedDocument,
    Refusal,
    decision_of,
    prepare_documents,
    recipe_of,
)
from ragit_mcp.ingest.files import ensure_directories
from ragit_mcp.ingest.generation import Generation
from ragit_mcp.ingest.journal import Journal, clear_journals
from ragit_mcp.ingest.lock import write_lock
from ragit_mcp.ingest.plan import Plan, make_plan, snapshot_key
from ragit_mcp.ingest.request import Embedder, IngestRequest, IngestResult, Progress, ProgressListener, Stage
from ragit_mcp.ingest.security_log import log_decisions
from ragit_mcp.safety import AdmissionMode, AdmissionReport, Decision, masked_text
from ragit_mcp.snapshots.manifest import manifest_path, read_manifest
from ragit_mcp.snapshots.repository import (
    coded_git_errors,
    open_repository,
    refuse_links,
    refuse_tracked_index,
    work_tree_root,
)
from ragit_mcp.snapshots.selection import nearest_indexed_ancestor
from ragit_mcp.store.layout import Pointer, read_pointer, store_unavailable
from ragit_mcp.store.reader import Store, open_store

__all__ = ["IngestCancelled", "ingest"]

_LISTED: Final = 20
# A fresh file is made when more than this share of the chunks belongs to no snapshot any more.
_GARBAGE_SHARE: Final = 0.2
_SKIP_WORDS: Final = {
    "too_large": "larger than ingest.max_file_bytes",
    "not_text": "neither UTF-8 nor UTF-16 with a byte order mark",
    "too_many_chunks": "split into more sections than one document may have",
    "missing_object": "not in this clone's object database",
}


class IngestCancelled(Exception):
    """The caller lost interest; nothing was published."""


def ingest(
    root: str | os.PathLike[str],
    request: IngestRequest | None = None,
    *,
    config: Config | None = None,
    embedder: Embedder | None = None,
    artifacts: Sequence[PreparedDocument] = (),
    progress: ProgressListener | None = None,
    cancel: CancelCheck | None = None,
    environ: Mapping[str, str] | None = None,
) -> IngestResult:
    """Index HEAD's commit of the repository that holds a path.

    Args:
        root: a directory in the work tree.
        request: what to index; everything that the globs select if None.
        config: the configuration; the repository's own if None.
        embedder: makes vectors; the configured one if None.
        artifacts: reviewed artifacts that the snapshot is to hold beside its documents.
        progress: told how far it is, often, on this thread.
        cancel: asked whether to stop, often.
        environ: environment variables; the process's own if None.

    Raises:
        IngestCancelled: `cancel` said so.
        RagitError: the codes `CONFIG_*`, `INGEST_*`, `SNAPSHOT_*`, `STORE_*`, `REPOSITORY_*`, and those of embedding.
            What was searchable before still is.
    """
    repository = open_repository(root, cancel=cancel)
    place = work_tree_root(repository)
    refuse_links(place)
    settings = load_config(place, environ=environ) if config is None else config
    run = _Run(
        repository,
        place,
        request or IngestRequest(),
        settings,
        embedder,
        tuple(artifacts),
        progress or (lambda _: None),
        cancel or (lambda: False),
        environ,
    )
    try:
        return run.dry() if run.request.dry_run else run.apply()
    except RagitError as error:
        if error.details.get("reason") == "cancelled":  # noticed by git's side first
            raise IngestCancelled from error
        raise


@dataclass(slots=True)
class _Tally:
    """What is known of the documents while they are worked through."""

    report: AdmissionReport
    to_log: AdmissionReport
    rows: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    validated: int = 0
    processed: int = 0
    masked: int = 0


@dataclass(slots=True)
class _Run:
    repository: Repository
    root: str
    request: IngestRequest
    config: Config
    given_embedder: Embedder | None
    artifacts: tuple[PreparedDocument, ...]
    progress: ProgressListener
    cancel: CancelCheck
    environ: Mapping[str, str] | None
    warnings: list[str] = field(default_factory=list)
    state: Progress = field(default_factory=lambda: Progress("planning"))

    # -- the two ways to run

    def dry(self) -> IngestResult:
        """Say what would be done: nothing is written, nothing embedded."""
        commit = self._head()
        refuse_links(self.root)
        refuse_tracked_index(self.repository, commit)
        with contextlib.ExitStack() as stack:
            store = self._current_store(stack)
            plan = self._plan(commit, store)
            dirty = self._dirty(plan)
            tally = self._new_tally()
            to_read, _ = self._sort_out(plan, store, tally)
            for candidate, prepared in self._prepared(to_read):
                self._count_prepared(candidate, prepared, tally)
        result = self._result(plan, tally, dirty)
        result.mode = "dry-run"
        result.would_fail = bool(tally.refused or (dirty and self.request.strict_clean))
        return result

    def apply(self) -> IngestResult:
        """Index the commit."""
        if not self.config.security.secret_masking:
            raise ConfigError(
                "CONFIG_INVALID",
                "security.secret_masking is off, and nothing is indexed unmasked: switch it on.",
                details={"key": "security.secret_masking"},
                recovery="ragit config set security.secret_masking true",
            )
        before = self._head()
        ensure_directories(self.root)
        with (
            write_lock(
                self.root,
                command=self.request.command,
                head_sha=before,
                wait_seconds=self.request.lock_wait_seconds,
            ) as lock,
            contextlib.ExitStack() as stack,
        ):
            if clear_journals(self.root) or lock.left_over is not None:
                self.warnings.append("An earlier ingest ended before it was done; what it left was removed.")
            commit = self._head() if lock.waited else before
            refuse_tracked_index(self.repository, commit)
            store = self._current_store(stack)
            publishing.remove_leftovers(self.root, store.generation if store is not None else None)
            return self._apply(commit, store, stack)

    # -- steps

    @property
    def _mode(self) -> AdmissionMode:
        return AdmissionMode(self.config.security.admission_mode)

    @property
    def _recipe(self) -> str:
        return recipe_of(self._mode)

    def _new_tally(self) -> _Tally:
        return _Tally(AdmissionReport(self._mode, "ingest"), AdmissionReport(self._mode, "ingest"))

    def _head(self) -> str:
        try:
            return self.repository.resolve("HEAD")
        except GitError as error:
            if error.kind != "unborn_head":
                with coded_git_errors():
                    raise
            raise SnapshotError(
                "SNAPSHOT_NOT_INDEXED",
                "The repository has no commit yet: commit the documents first.",
                details={"resolvedSha": None},
                recovery="git status",
            ) from None

    def _current_store(self, stack: contextlib.ExitStack) -> Store | None:
        """The current generation if it is sound; a damaged one is left behind and built anew."""
        try:
            store = stack.enter_context(open_store(self.root))
            if self.request.mode == "all" or store.pointer.size <= publishing.FULL_CHECK_BYTES:
                store.check()
            return store
        except RagitError as error:
            if error.details.get("reason") == "link":
                raise
            if error.details.get("reason") != "missing":
                self.warnings.append(
                    "The store was damaged or of another version and is built anew; commits indexed before have to be "
                    "indexed again."
                )
            return None

    def _plan(self, commit: str, store: Store | None) -> Plan:
        self._tell("planning")
        return make_plan(self.repository, self.root, self.request, self.config, commit, store)

    def _dirty(self, plan: Plan) -> list[str]:
        """Documents of the request that differ in the work tree; under `strict_clean` they are an error."""
        with coded_git_errors():
            state = read_work_tree_state(self.repository, environ=self.environ)
        changed = {change.path for change in state.changes} | set(state.assume_unchanged)
        dirty = sorted(_shown(path) for path in map(path_from_git, changed) if plan.concerns(path))
        if self.request.strict_clean and (dirty or not state.complete) and not self.request.dry_run:
            raise IngestError(
                "INGEST_CANDIDATES_DIRTY",
                "Documents in the work tree differ from the commit: commit or discard the changes."
                if dirty
                else "The work tree could not be compared with the commit as a whole.",
                details={"dirtyCandidates": dirty},
            )
        return dirty

    def _apply(self, commit: str, store: Store | None, stack: contextlib.ExitStack) -> IngestResult:
        plan = self._plan(commit, store)
        dirty = self._dirty(plan)
        embedder = self._embedder()
        same = store is None or store.contract.identity == embedder.contract.identity
        if not same and self.request.mode != "all":
            raise store_unavailable("embedding_contract", resolved_sha=commit)
        tally = self._new_tally()
        to_read, known = self._sort_out(plan, store, tally)
        self._stop_if_refused(commit, tally)
        tally.rows |= {
            item.version_id: known[item.version_id] for item in self.artifacts if item.version_id in known
        }
        new_artifacts = [item for item in self.artifacts if item.version_id not in known]
        dropped = self._unreferenced(store, commit)
        if store is not None and same and not to_read and not new_artifacts:
            digest = self._digest(tally.rows)
            clean_up = bool(dropped) and self.request.mode == "all"
            if not clean_up and store.has_snapshot(commit, digest) and self._is_published(commit, digest):
                result = self._result(plan, tally, dirty)
                result.search_ready = result.unchanged = True
                self._describe(result, store, commit, digest)
                self._tell("done")
                return result
        job = _Job(plan, embedder, tally, to_read, new_artifacts, dropped, same)
        return self._build(job, store, dirty, stack)

    def _build(
        self, job: _Job, store: Store | None, dirty: list[str], stack: contextlib.ExitStack
    ) -> IngestResult:
        plan, tally = job.plan, job.tally
        journal = Journal(self.root, target=plan.commit, base=plan.base.commit if plan.base else None)
        try:
            keep = self._kept(store, job)
            compact = store is not None and (
                not job.same_contract or self._worth_compacting(store, keep, job)
            )
            source = store.pointer if store is not None and not compact else None
            self._tell("reading", files_total=len(job.to_read))
            with Generation(
                self.root, contract=job.embedder.contract, embed=self._embed(job.embedder), source=source
            ) as generation:
                generation.on_progress = lambda: self._tell(
                    "embedding", chunks_embedded=generation.embedded, chunks_new=len(generation.new_chunks)
                )
                digest = self._fill(generation, job, store, keep, compact=compact)
                pointer = generation.finish()
            journal.written(generation.new_versions, generation.new_chunks)
            try:
                result = self._publish(pointer, generation, digest, job, journal, dirty)
            except BaseException:
                self._discard(generation, pointer)
                raise
            self._log(plan.commit, tally)
            stack.close()  # the older generation is let go before it is cleaned up
            publishing.remove_old_generations(self.root, pointer.file)
            with coded_git_errors():
                publishing.remove_orphaned_manifests(self.repository, self.root, plan.commit)
            journal.reached("completed")
        except BaseException as error:
            journal.failed(error)
            raise
        self._tell("done")
        return result

    def _fill(
        self,
        generation: Generation,
        job: _Job,
        store: Store | None,
        keep: list[tuple[str, str]],
        *,
        compact: bool,
    ) -> str:
        """Put everything into the generation; the digest of the snapshot."""
        tally, plan = job.tally, job.plan
        if compact and store is not None:
            moved = generation.take_over(store, keep, also=tally.rows.values())
            tally.rows = {version: moved[row] for version, row in tally.rows.items()}
        for done, (candidate, prepared) in enumerate(self._prepared(job.to_read), start=1):
            self._count_prepared(candidate, prepared, tally)
            self._stop_if_refused(plan.commit, tally)
            if isinstance(prepared, PreparedDocument):
                row = generation.add_document(prepared, self._recipe)
                if prepared.outcome == "indexed":
                    tally.rows[prepared.version_id] = row
            self._tell("reading", files_done=done, chunks_new=len(generation.new_chunks))
        for item in job.new_artifacts:
            tally.rows[item.version_id] = generation.add_document(item, self._recipe)
        digest = self._digest(tally.rows)
        generation.add_snapshot(plan.commit, digest, plan.commit_time, tally.rows.values())
        if not compact and job.drop_now:
            generation.drop_snapshots(key for key in job.dropped if key != (plan.commit, digest))
        return digest

    def _publish(
        self,
        pointer: Pointer,
        generation: Generation,
        digest: str,
        job: _Job,
        journal: Journal,
        dirty: list[str],
    ) -> IngestResult:
        plan = job.plan
        self._tell("verifying")
        verified = publishing.verify_generation(
            self.root,
            pointer,
            commit=plan.commit,
            digest=digest,
            recipe=self._recipe,
            versions=list(job.tally.rows),
            new_chunks=len(generation.new_chunks),
            thorough=self.request.mode == "all",
        )
        with verified:
            journal.reached("store-verified")
            manifest = publishing.build_manifest(
                verified,
                commit=plan.commit,
                parent=plan.parent,
                digest=digest,
                base=self._listing_base(verified, plan),
            )
            self._stop_if_cancelled()
            self._require_same_head(plan.commit)
            if self.request.strict_clean:
                self._dirty(plan)
            self._tell("publishing")
            publishing.publish_pointer(self.root, pointer)
            publishing.publish_manifest(self.root, plan.commit, manifest)
            journal.reached("manifest-committed")
            result = self._result(plan, job.tally, dirty)
            result.search_ready = True
            result.new_documents = len(generation.new_versions)
            result.new_chunks = len(generation.new_chunks)
            self._describe(result, verified, plan.commit, digest)
        return result

    def _discard(self, generation: Generation, pointer: Pointer) -> None:
        """Delete a generation that did not become current. If it cannot be told, it stays for the next ingest."""
        try:
            current = read_pointer(self.root).file
        except RagitError as error:
            if error.details.get("reason") != "missing":
                return
            current = ""
        if current != pointer.file:
            generation.remove_finished()

    # -- documents

    def _prepared(
        self, candidates: Sequence[Candidate]
    ) -> Iterator[tuple[Candidate, PreparedDocument | Refusal]]:
        with coded_git_errors():
            found = prepare_documents(
                self.repository,
                candidates,
                mode=self._mode,
                max_bytes=self.config.ingest.max_file_bytes,
            )
            for item in found:
                self._stop_if_cancelled()
                yield item

    def _sort_out(
        self, plan: Plan, store: Store | None, tally: _Tally
    ) -> tuple[list[Candidate], dict[str, int]]:
        """Count the documents that the store has; those to be read, and the row numbers of all versions it has."""
        if store is None:
            return plan.candidates, {}
        known = store.versions(self._recipe)
        versions = [(candidate, candidate.version_id) for candidate in plan.candidates]
        candidates = [(candidate, version, known.get(version)) for candidate, version in versions]
        stored = store.documents(row for _, _, row in candidates if row is not None)
        for candidate, version, row in candidates:
            if row is not None:
                document = stored[row]
                decision = decision_of(document.notes, document.masked_count)
                self._count(candidate, decision, document.notes, document.outcome, tally, fresh=False)
                if document.outcome == "indexed":
                    tally.rows[version] = row
        return [candidate for candidate, _, row in candidates if row is None], known

    def _count_prepared(
        self, candidate: Candidate, prepared: PreparedDocument | Refusal, tally: _Tally
    ) -> None:
        if isinstance(prepared, Refusal):
            tally.skipped.setdefault(prepared.reason, []).append(_shown(candidate.path))
            return
        decision = decision_of(prepared.notes, prepared.masked_count)
        self._count(candidate, decision, prepared.notes, prepared.outcome, tally, fresh=True)

    def _count(
        self,
        candidate: Candidate,
        decision: Decision,
        notes: Mapping[str, Any],
        outcome: str,
        tally: _Tally,
        *,
        fresh: bool,
    ) -> None:
        shown = _shown(candidate.path)
        tally.report.add(shown, "document", decision)
        if fresh:
            tally.to_log.add(shown, "document", decision)
        tally.masked += decision.masked_count
        if outcome == "blocked":
            reasons = ", ".join(reason.value for reason in decision.reasons)
            tally.blocked.append(f"{shown} ({reasons})")
            if candidate.explicit:
                tally.refused.append(shown)
            return
        tally.processed += 1
        if self.config.docs_authority.validate_on_ingest:
            tally.validated += 1
            tally.violations += [
                f"{shown} {violation['message']}" for violation in notes.get("violations", [])
            ]

    def _stop_if_refused(self, commit: str, tally: _Tally) -> None:
        if not tally.refused:
            return
        self._log(commit, tally)
        raise IngestError(
            "INGEST_DOCUMENT_BLOCKED",
            "A named document holds credentials or lies where credentials are kept, so it is not indexed.",
            details={"paths": tally.refused[:_LISTED]},
        )

    def _log(self, commit: str, tally: _Tally) -> None:
        """Note decisions about documents that were read now; the others were noted when they were."""
        items = tally.to_log.to_json()["items"]
        log_decisions(self.root, commit, items, quarantine=self.config.security.quarantine_on_redaction)

    # -- snapshots and generations

    def _digest(self, rows: Iterable[str]) -> str:
        """Of the document versions that a snapshot consists of and the recipe they were read by."""
        text = "\n".join((self._recipe, *sorted(rows)))
        return hashlib.sha256(text.encode()).hexdigest()

    def _is_published(self, commit: str, digest: str) -> bool:
        try:
            manifest = read_manifest(self.root, commit)
        except RagitError:
            return False
        return (
            manifest is not None and manifest.membership is not None and manifest.membership.digest == digest
        )

    def _listing_base(self, store: Store, plan: Plan) -> tuple[str, str] | None:
        """The snapshot that the manifest continues: the request's base, or the nearest indexed ancestor's."""
        commit = plan.base.commit if plan.base is not None else None
        if commit is None or commit == plan.commit:
            commit = nearest_indexed_ancestor(self.repository, self.root, plan.commit)
        return snapshot_key(self.root, store, commit) if commit is not None else None

    def _unreferenced(self, store: Store | None, commit: str) -> set[tuple[str, str]]:
        """Memberships that no manifest means any more; this commit's own stay, since its manifest is about to change."""
        if store is None:
            return set()
        keys = set(store.snapshots())
        kept = publishing.referenced_snapshots(self.root, keys)
        return {key for key in keys - kept if key[0] != commit} | {
            key for key in keys - kept if key[0] == commit and kept & {(commit, other) for _, other in keys}
        }

    def _kept(self, store: Store | None, job: _Job) -> list[tuple[str, str]]:
        return sorted(set(store.snapshots()) - job.dropped) if store is not None else []

    def _worth_compacting(self, store: Store, keep: list[tuple[str, str]], job: _Job) -> bool:
        """Whether so much belongs to no snapshot that a fresh file is better than a copy."""
        if not job.dropped:
            return False
        documents = {row for key in keep for row in store.snapshot_rows(*key)} | set(job.tally.rows.values())
        total = store.statistics().chunks
        garbage = total - store.count_chunks_of(documents)
        if not garbage:
            job.drop_now = True
            return False
        return self.request.mode == "all" or garbage > total * _GARBAGE_SHARE

    def _require_same_head(self, commit: str) -> None:
        if self._head() != commit:
            raise SnapshotError(
                "REPOSITORY_STATE_CHANGED",
                "HEAD moved while its commit was indexed: index again.",
                details={"resolvedSha": commit},
            )

    def _embedder(self) -> Embedder:
        if self.given_embedder is not None:
            return self.given_embedder
        from ragit_mcp.embedding.writing import open_writing_embedder  # only where vectors are made

        return open_writing_embedder(self.config, self.root, environ=self.environ)

    def _embed(self, embedder: Embedder) -> Any:
        def embed(texts: Sequence[str]) -> FloatArray:
            self._stop_if_cancelled()
            return embedder.embed(texts)

        return embed

    # -- reporting

    def _result(self, plan: Plan, tally: _Tally, dirty: list[str]) -> IngestResult:
        kept_out = len(tally.blocked) + sum(map(len, tally.skipped.values()))
        checked = self.config.docs_authority.validate_on_ingest
        return IngestResult(
            mode="apply",
            commit_sha=plan.commit,
            manifest_path=manifest_path(plan.commit),
            scope=self.request.scope,
            full_snapshot=self.request.mode == "all",
            processed=tally.processed,
            skipped=kept_out + plan.irregular,
            masked=tally.masked,
            planned_files=sorted(_shown(candidate.path) for candidate in plan.planned),
            deleted_document_ids=sorted(plan.deleted),
            dirty_candidates=dirty,
            bound_artifact_ids=sorted(
                str(item.artifact["artifactId"])
                for item in self.artifacts
                if item.artifact is not None and "artifactId" in item.artifact
            ),
            admission=tally.report.to_json(),
            doc_authority={
                "validated": tally.validated,
                "violations": len(tally.violations),
                "skipped": 0 if checked else tally.processed,
            },
            warnings=[*self.warnings, *self._warnings(plan, tally, dirty)],
        )

    def _warnings(self, plan: Plan, tally: _Tally, dirty: list[str]) -> Iterator[str]:
        if dirty:
            yield f"Changes in the work tree are not indexed, the commit is: {_listed(dirty)}."
        for reason, paths in sorted(tally.skipped.items()):
            words = _SKIP_WORDS.get(reason, "not readable")
            yield f"{len(paths)} skipped because {words}: {_listed(paths)}."
        if plan.irregular:
            yield f"{plan.irregular} skipped because they are symbolic links or submodules."
        if tally.blocked:
            yield f"{len(tally.blocked)} kept out by admission control: {_listed(tally.blocked)}."
        if plan.outside and plan.suggestion:
            lie, them = ("file lies", "it") if plan.outside == 1 else ("files lie", "them")
            yield f"{plan.outside} .md or .mdx {lie} outside the include globs; to add {them}: {plan.suggestion}"
        if tally.violations:
            yield f"Documents do not have what their type asks for: {_listed(tally.violations)}."

    def _describe(self, result: IngestResult, store: Store, commit: str, digest: str) -> None:
        members = store.membership(commit, digest, "all")
        result.documents = members.document_count
        result.chunks = len(members)

    def _tell(self, stage: Stage, **numbers: int) -> None:
        before = self.state
        self.state = Progress(
            stage,
            files_done=numbers.get("files_done", before.files_done),
            files_total=numbers.get("files_total", before.files_total),
            chunks_embedded=numbers.get("chunks_embedded", before.chunks_embedded),
            chunks_new=numbers.get("chunks_new", before.chunks_new),
        )
        self.progress(self.state)
        if stage != "done":
            self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        if self.cancel():
            raise IngestCancelled


@dataclass(slots=True)
class _Job:
    """What one apply has found out before it builds."""

    plan: Plan
    embedder: Embedder
    tally: _Tally
    to_read: list[Candidate]
    new_artifacts: list[PreparedDocument]
    dropped: set[tuple[str, str]]
    same_contract: bool
    drop_now: bool = False


@functools.lru_cache(maxsize=65_536)  # asked for several times of every document of the commit
def _shown(path: str) -> str:
    return show_path(masked_text(path).text)


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more} more" if more > 0 else "")

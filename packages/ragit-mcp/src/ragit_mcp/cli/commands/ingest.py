"""`ragit ingest`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpkit.git import GitError
from ragit_mcp.artifacts.capture import bind_pending
from ragit_mcp.artifacts.input import InputObject
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.cli.progress import LineProgress, TerminalProgress
from ragit_mcp.cli.wording import counted
from ragit_mcp.errors import RagitError
from ragit_mcp.ingest import IngestRequest, IngestResult, ProgressListener, ingest
from ragit_mcp.ledger.writing import record_event

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Cell, Screen

__all__ = ["Recorded", "ingest_and_record", "run"]

_MAX_PATHS = 10_000
_MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Recorded:
    """An ingest, and what could not be noted of it."""

    result: IngestResult
    warnings: tuple[str, ...] = ()


def run(context: Context) -> Answer:
    """Index HEAD's commit."""
    request = _request(context)
    reporter: TerminalProgress | LineProgress | None = None
    if context.progress_to_terminal:
        reporter = TerminalProgress()
    elif not context.quiet:
        reporter = LineProgress()
    try:
        recorded = ingest_and_record(context, request, progress=reporter)
    finally:
        if reporter is not None:
            reporter.close()
    data = recorded.result.to_json()
    return Answer(data, _draw, (*recorded.result.warnings, *recorded.warnings))


def ingest_and_record(
    context: Context, request: IngestRequest, *, progress: ProgressListener | None = None
) -> Recorded:
    """Index, bind the artifacts that waited for the commit, and note it in the event ledger.

    The index is complete before the last two, so their failure is a warning.

    Raises:
        RagitError: as `ingest`.
    """
    result = ingest(context.root, request, config=context.config, progress=progress, environ=context.environ)
    if result.mode == "dry-run" or result.unchanged:
        return Recorded(result)
    warnings: list[str] = []
    try:
        result.bound_artifact_ids = sorted({*result.bound_artifact_ids, *_bind(context, result.commit_sha)})
        record_event(
            context.root,
            "ingest.completed",
            f"{result.documents} documents indexed",
            key=f"{result.commit_sha}\0{result.documents}\0{result.chunks}",
            source_head_sha=result.commit_sha,
            artifact_ids=result.bound_artifact_ids,
            metadata={
                "documents": result.documents,
                "chunks": result.chunks,
                "newDocuments": result.new_documents,
                "newChunks": result.new_chunks,
            },
        )
    except RagitError as error:
        warnings.append(f"The commit is indexed, but not everything could be noted: {error.message}")
    return Recorded(result, tuple(warnings))


def _bind(context: Context, commit: str) -> list[str]:
    def leads_to(source: str) -> bool:
        try:
            return context.repository.is_ancestor(source, commit)
        except GitError:  # a commit of another clone, or one that is gone
            return False

    return bind_pending(context.root, commit, is_ancestor=leads_to)


def _request(context: Context) -> IngestRequest:
    line = context.invocation
    named = line.text("input")
    if named is not None:
        return _from_document(context, named)
    return _chosen(
        all_=line.has("all"),
        since=line.text("since"),
        files=line.text("files"),
        paths=line.all("path"),
        scope=line.text("scope") or "durable",
        dry_run=line.has("dry-run"),
        strict_clean=line.has("strict-clean"),
        context=context,
    )


def _from_document(context: Context, named: str) -> IngestRequest:
    given = InputObject(
        read_input(context.root, context.place, named), context.invocation.command.input_members
    )
    return _chosen(
        all_=given.flag("all"),
        since=given.optional_text("since", limit=200),
        files=given.optional_text("files", limit=_MAX_TEXT),
        paths=given.texts("paths", limit=4096, items=_MAX_PATHS),
        scope=given.choice("scope", ("durable", "all"), default="durable"),
        dry_run=context.invocation.has("dry-run"),
        strict_clean=given.flag("strictClean"),
        context=context,
    )


def _chosen(
    *,
    all_: bool,
    since: str | None,
    files: str | None,
    paths: tuple[str, ...],
    scope: str,
    dry_run: bool,
    strict_clean: bool,
    context: Context,
) -> IngestRequest:
    ways = sum((all_, since is not None, files is not None, bool(paths)))
    if ways > 1:
        raise usage_error(
            "Of --all, --since, --files and --path only one says what is indexed.",
            reason="mixed_selection",
            command=context.invocation.command,
        )
    mode = "since" if since is not None else "files" if files is not None else "paths" if paths else "all"
    return IngestRequest(
        mode=mode,  # type: ignore[arg-type]  # one of the four
        since=since,
        files=files,
        paths=paths,
        scope="all" if scope == "all" else "durable",
        dry_run=dry_run,
        strict_clean=strict_clean,
    )


def _draw(screen: Screen, data: Any) -> None:
    commit = data["commitSha"][:10]
    if data["mode"] == "dry-run":
        outcome: Cell = ("would fail", "bad") if data["wouldFail"] else ("would index", "good")
        counts = f"{counted(data['processed'], 'document')}, {data['skipped']} skipped"
        screen.line(outcome, f" {commit}: {counts}")
        for path in data["plannedFiles"][:50]:
            screen.line("  ", path)
        if len(data["plannedFiles"]) > 50:
            screen.line(f"  and {len(data['plannedFiles']) - 50} more")
        return
    if data["unchanged"]:
        screen.line(
            ("unchanged", "good"),
            f" {commit} is indexed: {counted(data['documents'], 'document')}, {counted(data['chunks'], 'chunk')}",
        )
        return
    screen.line(
        ("indexed", "good"),
        f" {commit}: {counted(data['documents'], 'document')}, {counted(data['chunks'], 'chunk')}; "
        f"{counted(data['newDocuments'], 'document')} and {counted(data['newChunks'], 'chunk')} new",
    )
    admission = data["admission"]
    screen.line(
        f"{data['skipped']} skipped, {counted(data['masked'], 'secret')} masked; admission: {admission['allowed']} allowed, "
        f"{admission['quarantined']} masked, {admission['blocked']} blocked"
    )

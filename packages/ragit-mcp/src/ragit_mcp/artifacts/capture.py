"""Making and changing artifacts: session materialize, artifact review, harness capture, and binding them to a commit.

Every text passes admission first: masked, or replaced where it was kept out. An artifact's id follows from what it says,
so to run a command twice changes nothing, and a status that a review gave is never lost.

This module writes; nothing that serves reading imports it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ragit_mcp import __version__
from ragit_mcp.artifacts.extraction import Draft, ToolTrace, Turn, extract
from ragit_mcp.artifacts.input import InputObject, input_invalid
from ragit_mcp.artifacts.reading import read_artifacts
from ragit_mcp.artifacts.records import (
    HARNESS_KINDS,
    MAX_EXCERPT,
    MAX_TEXT,
    STATUSES,
    TRANSITIONS,
    ArtifactRecord,
    EvidenceRef,
    Provenance,
    artifact_id,
    content_hash,
    evidence_id,
    goal_id,
    session_id,
)
from ragit_mcp.corpus import show_path
from ragit_mcp.errors import ArtifactError
from ragit_mcp.ledger.writing import iso_time, record_admission, record_event
from ragit_mcp.safety import (
    Action,
    AdmissionMode,
    AdmissionReport,
    admit_artifact_text,
    masked_reply,
    masked_text,
)
from ragit_mcp.workspace_files import write_file

__all__ = [
    "HARNESS_MEMBERS",
    "REVIEW_MEMBERS",
    "SESSION_MEMBERS",
    "Outcome",
    "bind_pending",
    "capture_harness",
    "materialize_session",
    "review_artifact",
]

SESSION_MEMBERS: Final = (
    "goal",
    "episode",
    "turns",
    "toolTraces",
    "relatedPaths",
    "sourceHeadSha",
    "createdAt",
)
HARNESS_MEMBERS: Final = (
    "goal",
    "kind",
    "title",
    "summary",
    "text",
    "episode",
    "evidence",
    "relatedPaths",
    "tags",
    "confidence",
    "sourceHeadSha",
    "createdAt",
    "payload",
)
REVIEW_MEMBERS: Final = ("artifactId", "status", "note")

_TRANSCRIPTS: Final = ".ragit/log/transcripts"
_ROLES: Final = ("user", "assistant", "system", "tool")
_MAX_TURNS: Final = 5000
_MAX_TURN: Final = 256 * 1024
_MAX_GOAL: Final = 2000
_MAX_NAME: Final = 200
_MAX_PATHS: Final = 500
_MAX_LINE: Final = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did.

    Attributes:
        data: the member `data` of its envelope.
        warnings: what there is to warn of.
    """

    data: dict[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass
class _Admission:
    """Admits the texts of one command and remembers the decisions."""

    mode: AdmissionMode
    operation: str
    surface: str
    report: AdmissionReport = field(init=False)

    def __post_init__(self) -> None:
        self.report = AdmissionReport(self.mode, self.operation)

    def text(self, source: str, text: str) -> str:
        decision = admit_artifact_text(text, self.mode)
        self.report.add(source, self.surface, decision)
        return decision.text

    def said(self, source: str, text: str | None) -> tuple[str | None, str | None]:
        """What is kept of a text, and what the rules may look at: nothing of one that was kept out."""
        if text is None:
            return None, None
        decision = admit_artifact_text(text, self.mode)
        self.report.add(source, self.surface, decision)
        kept_out = decision.action is Action.BLOCK and self.mode is AdmissionMode.ENFORCE
        return decision.text, None if kept_out else decision.text

    def warnings(self) -> tuple[str, ...]:
        blocked = self.report.count(Action.BLOCK)
        if not blocked:
            return ()
        what = "was" if blocked == 1 else "were"
        return (f"{blocked} text(s) {what} held back by admission control.",)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all artifacts of one command have in common."""

    goal: str
    goal_id: str
    episode_id: str | None
    source_head_sha: str | None
    head_sha: str | None
    related_paths: tuple[str, ...]
    created_at: str


def materialize_session(
    root: str | os.PathLike[str],
    document: object,
    *,
    mode: AdmissionMode,
    head_sha: str | None,
    dry_run: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """Turn a transcript into captured artifacts.

    Args:
        root: the repository's root.
        document: `{goal, episode{id,title}?, turns[{turnId,role,content,createdAt?}], toolTraces[{traceId,title,
            command?,output?,error?,createdAt?}]?, relatedPaths?, sourceHeadSha?, createdAt?}`.
        mode: admission mode.
        head_sha: HEAD's commit; None while there is none.
        dry_run: say what would be captured and write nothing.
        now: the clock.

    Raises:
        CommandError: `INPUT_INVALID` or `WRITE_FAILED`.
    """
    given = InputObject(document, SESSION_MEMBERS)
    frame = _frame(given, head_sha, now)
    admission = _Admission(mode, "session materialize", "session")
    turns, kept_turns = _turns(given, admission)
    traces, kept_traces = _traces(given, admission)
    session = session_id(frame.goal, frame.created_at)
    records = [_session_record(draft, frame, session) for draft in extract(turns, traces)]
    created, present = _split_known(root, records)
    data: dict[str, Any] = {
        "dryRun": dry_run,
        "sessionId": session,
        "goalId": frame.goal_id,
        "episodeId": frame.episode_id,
        "artifacts": [_shown(record) for record in records],
        "created": [record.artifact_id for record in created],
        "unchanged": [record.artifact_id for record in present],
        "admission": admission.report.to_json(),
    }
    if not dry_run:
        _write_transcript(root, session, [*kept_turns, *kept_traces])
        _write_records(root, created)
        record_admission(root, admission.report.to_json()["items"], now=now())
        data["eventId"] = record_event(
            root,
            "session.materialize",
            f"{len(created)} artifact(s) captured from a session",
            key=f"{session}\0{','.join(sorted(record.artifact_id for record in records))}",
            now=now(),
            goal_id=frame.goal_id,
            episode_id=frame.episode_id,
            session_id=session,
            source_head_sha=frame.source_head_sha,
            artifact_ids=[record.artifact_id for record in created],
            related_paths=frame.related_paths,
            open_loops=[record.title for record in records if record.kind == "openLoop"][:20],
        )
    return Outcome(data, admission.warnings())


def capture_harness(
    root: str | os.PathLike[str],
    document: object,
    *,
    mode: AdmissionMode,
    head_sha: str | None,
    dry_run: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """Capture one artifact of the harness.

    Args:
        root: the repository's root.
        document: `{goal, kind, title, text, summary?, episode{id,title}?, evidence[{excerpt, turnIds?, toolTraceIds?}]?,
            relatedPaths?, tags?, confidence?, sourceHeadSha?, createdAt?, payload?}`.
        mode: admission mode.
        head_sha: HEAD's commit; None while there is none.
        dry_run: say what would be captured and write nothing.
        now: the clock.

    Raises:
        CommandError: `INPUT_INVALID` or `WRITE_FAILED`.
    """
    given = InputObject(document, HARNESS_MEMBERS)
    frame = _frame(given, head_sha, now)
    admission = _Admission(mode, "harness capture", "harness")
    kind = given.choice("kind", HARNESS_KINDS)
    title = admission.text("title", given.text("title", limit=_MAX_LINE))
    text = admission.text("text", given.text("text", limit=MAX_TEXT))
    summary = given.optional_text("summary", limit=_MAX_LINE)
    summary = title if summary is None else admission.text("summary", summary)
    evidence = tuple(
        EvidenceRef(
            evidence_id(kind, title, excerpt),
            entry.texts("turnIds", limit=_MAX_NAME, items=_MAX_PATHS),
            entry.texts("toolTraceIds", limit=_MAX_NAME, items=_MAX_PATHS),
            excerpt,
        )
        for index, entry in enumerate(
            given.objects("evidence", ("excerpt", "turnIds", "toolTraceIds"), items=_MAX_PATHS)
        )
        if (excerpt := admission.text(f"evidence[{index}]", entry.text("excerpt", limit=MAX_EXCERPT)))
    )
    payload = given.json_object("payload")
    record = _record(
        frame,
        scope="harness",
        kind=kind,
        title=title,
        summary=summary,
        text=text,
        actor="harness",
        operation="harness capture",
        authority="assistant_inferred",
        confidence=given.fraction("confidence", default=0.5),
        evidence=evidence,
        session=None,
        tags=tuple(masked_text(tag).text for tag in given.texts("tags", limit=_MAX_NAME, items=100)),
        payload=None if payload is None else masked_reply(payload).value,
    )
    created, present = _split_known(root, [record])
    data: dict[str, Any] = {
        "dryRun": dry_run,
        "goalId": frame.goal_id,
        "episodeId": frame.episode_id,
        "artifact": _shown(record),
        "created": [entry.artifact_id for entry in created],
        "unchanged": [entry.artifact_id for entry in present],
        "admission": admission.report.to_json(),
    }
    if not dry_run:
        _write_records(root, created)
        record_admission(root, admission.report.to_json()["items"], now=now())
        data["eventId"] = record_event(
            root,
            "harness.capture",
            f"{kind} captured: {title}",
            key=record.artifact_id,
            now=now(),
            goal_id=frame.goal_id,
            episode_id=frame.episode_id,
            source_head_sha=frame.source_head_sha,
            artifact_ids=[record.artifact_id],
            related_paths=frame.related_paths,
        )
    return Outcome(data, admission.warnings())


def review_artifact(
    root: str | os.PathLike[str],
    document: object,
    *,
    dry_run: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """Change the status of an artifact; a change that is none of the contract's is a warning and changes nothing.

    Args:
        root: the repository's root.
        document: `{artifactId, status, note?}`.
        dry_run: say what would change and write nothing.
        now: the clock.

    Raises:
        CommandError: `INPUT_INVALID` or `WRITE_FAILED`.
        ArtifactError: `ARTIFACT_NOT_FOUND`.
    """
    given = InputObject(document, REVIEW_MEMBERS)
    wanted = given.text("artifactId", limit=_MAX_NAME)
    status = given.choice("status", STATUSES)
    note = given.optional_text("note", limit=_MAX_LINE)
    record = read_artifacts(root).find(wanted)
    if record is None:
        raise ArtifactError("ARTIFACT_NOT_FOUND", "There is no artifact with this id.")
    allowed = status in TRANSITIONS.get(record.status, frozenset())
    data: dict[str, Any] = {
        "dryRun": dry_run,
        "artifactId": record.artifact_id,
        "path": record.path,
        "previousStatus": record.status,
        "status": status if allowed else record.status,
        "changed": allowed,
    }
    if not allowed:
        return Outcome(
            data, (f"An artifact that is {record.status} does not become {status}; nothing was changed.",)
        )
    if not dry_run:
        reviewed_harness = status == "reviewed" and record.artifact_scope == "harness"
        changed = dataclasses.replace(
            record,
            status=status,
            authority="reviewed_harness" if reviewed_harness else record.authority,
            updated_at=iso_time(now()),
        )
        write_file(root, changed.path, changed.file_text())
        data["eventId"] = record_event(
            root,
            "artifact.review",
            f"{record.status} to {status}",
            key=f"{record.artifact_id}\0{record.status}\0{status}",
            now=now(),
            goal_id=record.goal_id,
            episode_id=record.episode_id,
            session_id=record.source_session_id,
            source_head_sha=record.source_head_sha,
            artifact_ids=[record.artifact_id],
            metadata=None if note is None else {"note": note},
        )
    return Outcome(data)


def bind_pending(
    root: str | os.PathLike[str],
    commit: str,
    *,
    is_ancestor: Callable[[str], bool],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> list[str]:
    """Bind the artifacts that wait for a commit, after it was indexed.

    An artifact is bound to the first indexed commit that its own commit leads to, that commit included.

    Args:
        root: the repository's root.
        commit: the commit that was indexed.
        is_ancestor: whether a commit is `commit` or leads to it.
        now: the clock.

    Returns:
        The ids of the artifacts that were bound.

    Raises:
        CommandError: `WRITE_FAILED`.
    """
    bound: list[str] = []
    answers: dict[str, bool] = {}
    for record in read_artifacts(root).records:
        if record.binding_status != "pending":
            continue
        source = record.source_head_sha or record.capture_head_sha or commit
        if source not in answers:
            answers[source] = source == commit or is_ancestor(source)
        if answers[source]:
            changed = dataclasses.replace(
                record, binding_status="bound", bound_head_sha=commit, updated_at=iso_time(now())
            )
            write_file(root, changed.path, changed.file_text())
            bound.append(record.artifact_id)
    return bound


def _frame(given: InputObject, head_sha: str | None, now: Callable[[], datetime]) -> _Frame:
    goal = given.text("goal", limit=_MAX_GOAL)
    episode = given.nested("episode", ("id", "title"))
    if episode is not None:
        episode.optional_text("title", limit=_MAX_LINE)
    source = given.optional_text("sourceHeadSha", limit=64)
    if source is not None and not (len(source) in {40, 64} and set(source) <= set("0123456789abcdef")):
        raise input_invalid("sourceHeadSha", "must be the full id of a commit, in lower case")
    return _Frame(
        goal=goal,
        # The id is of the goal as it was given; its words are not kept.
        goal_id=goal_id(goal),
        episode_id=None if episode is None else masked_text(episode.text("id", limit=_MAX_NAME)).text,
        source_head_sha=source or head_sha,
        head_sha=head_sha,
        related_paths=tuple(
            masked_text(show_path(path)).text
            for path in given.texts("relatedPaths", limit=4096, items=_MAX_PATHS)
        ),
        created_at=iso_time(given.moment("createdAt") or now()),
    )


def _turns(given: InputObject, admission: _Admission) -> tuple[list[Turn], list[dict[str, Any]]]:
    turns: list[Turn] = []
    kept: list[dict[str, Any]] = []
    members = ("turnId", "role", "content", "createdAt")
    for entry in given.objects("turns", members, items=_MAX_TURNS, required=True):
        name = masked_text(entry.text("turnId", limit=_MAX_NAME)).text
        role = entry.choice("role", _ROLES)
        stored, seen = admission.said(name, entry.text("content", limit=_MAX_TURN))
        turns.append(Turn(name, role, seen))  # type: ignore[arg-type]  # `choice` answers one of the roles
        kept.append({
            "turnId": name,
            "role": role,
            "content": stored,
            "createdAt": _time(entry),
        })
    return turns, kept


def _traces(given: InputObject, admission: _Admission) -> tuple[list[ToolTrace], list[dict[str, Any]]]:
    traces: list[ToolTrace] = []
    kept: list[dict[str, Any]] = []
    members = ("traceId", "title", "command", "output", "error", "createdAt")
    for entry in given.objects("toolTraces", members, items=_MAX_TURNS):
        name = masked_text(entry.text("traceId", limit=_MAX_NAME)).text
        title, _ = admission.said(name, entry.text("title", limit=_MAX_LINE))
        texts = {
            member: admission.said(name, entry.optional_text(member, limit=_MAX_TURN))
            for member in ("command", "output", "error")
        }
        traces.append(ToolTrace(name, title or "", texts["output"][1], texts["error"][1]))
        kept.append({
            "traceId": name,
            "title": title,
            **{member: stored for member, (stored, _) in texts.items()},
            "createdAt": _time(entry),
        })
    return traces, kept


def _time(entry: InputObject) -> str | None:
    moment = entry.moment("createdAt")
    return None if moment is None else iso_time(moment)


def _session_record(draft: Draft, frame: _Frame, session: str) -> ArtifactRecord:
    evidence = EvidenceRef(
        evidence_id(session, draft.kind, *draft.turn_ids, *draft.trace_ids, draft.excerpt),
        draft.turn_ids,
        draft.trace_ids,
        draft.excerpt,
    )
    return _record(
        frame,
        scope="session",
        kind=draft.kind,
        title=draft.title,
        summary=draft.title,
        text=draft.text[:MAX_TEXT],
        actor=draft.actor,
        operation="session materialize",
        authority="user_asserted" if draft.actor == "user" else "assistant_inferred",
        confidence=draft.confidence,
        evidence=(evidence,),
        session=session,
        tags=(),
        payload=None,
    )


def _record(
    frame: _Frame,
    *,
    scope: str,
    kind: str,
    title: str,
    summary: str,
    text: str,
    actor: str,
    operation: str,
    authority: str,
    confidence: float,
    evidence: tuple[EvidenceRef, ...],
    session: str | None,
    tags: tuple[str, ...],
    payload: Mapping[str, Any] | None,
) -> ArtifactRecord:
    provenance = Provenance(
        actor=actor,
        producer="ragit",
        producer_version=__version__,
        operation=operation,
        input_refs=() if session is None else (session,),
        output_refs=(),
        evidence_refs=tuple(entry.evidence_id for entry in evidence),
        content_hash=content_hash(kind, title, summary, text, (entry.excerpt for entry in evidence)),
    )
    return ArtifactRecord(
        artifact_id=artifact_id(scope, kind, session or frame.goal_id, title, text),
        artifact_scope=scope,
        kind=kind,
        tier="candidate",
        status="captured",
        title=title,
        summary=summary,
        text=text,
        goal_id=frame.goal_id,
        episode_id=frame.episode_id,
        source_session_id=session,
        source_head_sha=frame.source_head_sha,
        capture_head_sha=frame.head_sha,
        bound_head_sha=None,
        binding_status="local_only" if frame.head_sha is None else "pending",
        authority=authority,
        confidence=confidence,
        search_policy=scope,
        related_paths=frame.related_paths,
        tags=tags,
        supersedes=(),
        evidence_refs=evidence,
        provenance=provenance,
        created_at=frame.created_at,
        updated_at=frame.created_at,
        payload=payload,
    )


def _split_known(
    root: str | os.PathLike[str], records: Iterable[ArtifactRecord]
) -> tuple[list[ArtifactRecord], list[ArtifactRecord]]:
    """The records that are new, and those that are kept already (as they are kept)."""
    known = {record.artifact_id: record for record in read_artifacts(root).records}
    created: dict[str, ArtifactRecord] = {}
    present: dict[str, ArtifactRecord] = {}
    for record in records:
        if record.artifact_id in known:
            present[record.artifact_id] = known[record.artifact_id]
        else:
            created.setdefault(record.artifact_id, record)
    return list(created.values()), list(present.values())


def _write_records(root: str | os.PathLike[str], records: Iterable[ArtifactRecord]) -> None:
    for record in records:
        write_file(root, record.path, record.file_text())


def _write_transcript(root: str | os.PathLike[str], session: str, entries: Iterable[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n" for entry in entries)
    write_file(root, f"{_TRANSCRIPTS}/{session}.jsonl", lines)


def _shown(record: ArtifactRecord) -> dict[str, Any]:
    return {
        "artifactId": record.artifact_id,
        "artifactScope": record.artifact_scope,
        "kind": record.kind,
        "status": record.status,
        "title": record.title,
        "bindingStatus": record.binding_status,
        "path": record.path,
    }

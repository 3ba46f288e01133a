"""The record of an artifact: members, ids, and the changes of status that a review may make (contract A16)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

__all__ = [
    "HARNESS_KINDS",
    "KINDS",
    "SESSION_KINDS",
    "STATUSES",
    "TRANSITIONS",
    "ArtifactRecord",
    "EvidenceRef",
    "Provenance",
    "artifact_id",
    "artifact_path",
    "content_hash",
    "evidence_id",
    "goal_id",
    "session_id",
]

SESSION_KINDS: Final = ("feedback", "constraint", "failure", "insight", "openLoop")
HARNESS_KINDS: Final = (
    "case",
    "oracle",
    "failure",
    "fixture",
    "golden",
    "checker",
    "rubric",
    "promptTemplate",
    "trace",
    "envAssumption",
    "suite",
)
KINDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "session": SESSION_KINDS,
    "harness": HARNESS_KINDS,
})
STATUSES: Final = ("captured", "reviewed", "promoted", "superseded", "retracted", "archived")
TIERS: Final = ("candidate", "durable")
BINDINGS: Final = ("pending", "bound", "local_only")
AUTHORITIES: Final = ("user_asserted", "assistant_inferred", "reviewed_harness", "promoted_durable")
SEARCH_POLICIES: Final = ("none", "session", "harness", "evidence")

#: From a status to those that a review may make of it.
TRANSITIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "captured": frozenset({"reviewed", "retracted", "archived"}),
    "reviewed": frozenset({"superseded", "retracted", "archived"}),
    "promoted": frozenset({"superseded", "archived"}),
})

MAX_EXCERPT: Final = 240
MAX_TEXT: Final = 64 * 1024
_MAX_SHORT: Final = 4096
_MAX_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """Where an artifact's claim comes from.

    Attributes:
        evidence_id: its id.
        turn_ids: turns of the session.
        tool_trace_ids: tool runs of the session.
        excerpt: at most `MAX_EXCERPT` characters of what was said (masked).
    """

    evidence_id: str
    turn_ids: tuple[str, ...]
    tool_trace_ids: tuple[str, ...]
    excerpt: str

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "evidenceId": self.evidence_id,
            "turnIds": list(self.turn_ids),
            "toolTraceIds": list(self.tool_trace_ids),
            "excerpt": self.excerpt,
        }


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who made an artifact, from what.

    Attributes:
        actor: `user`, `assistant` or `harness`.
        producer: the program.
        producer_version: its version.
        operation: the command.
        input_refs: what went in.
        output_refs: what came out.
        evidence_refs: ids of its evidence.
        content_hash: of what it says; the version that a citation names.
    """

    actor: str
    producer: str
    producer_version: str
    operation: str
    input_refs: tuple[str, ...]
    output_refs: tuple[str, ...]
    evidence_refs: tuple[str, ...]
    content_hash: str

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "actor": self.actor,
            "producer": self.producer,
            "producerVersion": self.producer_version,
            "operation": self.operation,
            "inputRefs": list(self.input_refs),
            "outputRefs": list(self.output_refs),
            "evidenceRefs": list(self.evidence_refs),
            "contentHash": self.content_hash,
        }


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """One artifact.

    Attributes:
        artifact_id: `art_<scope>_<kind>_<16 hexadecimal digits>`.
        artifact_scope: `session` or `harness`.
        kind: one of `KINDS[artifact_scope]`.
        tier: `candidate` or `durable`.
        status: one of `STATUSES`.
        title: one line.
        summary: a sentence.
        text: what it says; what is searched.
        goal_id: `goal_<12 hexadecimal digits>` of the goal it was made under.
        episode_id: part of the work, if the session named one.
        source_session_id: the session.
        source_head_sha: commit that the session was about.
        capture_head_sha: HEAD when it was captured.
        bound_head_sha: commit whose ingest bound it.
        binding_status: `pending`, `bound`, or `local_only` where there was no commit.
        authority: how far its word goes.
        confidence: 0 to 1.
        search_policy: scope in which it may be searched; `none` for not at all.
        related_paths: repository paths it is about.
        tags: words to find it by.
        supersedes: ids of artifacts it replaces.
        evidence_refs: where it comes from.
        provenance: who made it.
        created_at: ISO time.
        updated_at: ISO time of the last change.
        payload: further members of its kind; JSON.
    """

    artifact_id: str
    artifact_scope: str
    kind: str
    tier: str
    status: str
    title: str
    summary: str
    text: str
    goal_id: str
    episode_id: str | None
    source_session_id: str | None
    source_head_sha: str | None
    capture_head_sha: str | None
    bound_head_sha: str | None
    binding_status: str
    authority: str
    confidence: float
    search_policy: str
    related_paths: tuple[str, ...]
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    evidence_refs: tuple[EvidenceRef, ...]
    provenance: Provenance
    created_at: str
    updated_at: str
    payload: Mapping[str, Any] | None = None

    @property
    def path(self) -> str:
        """Repository path of its file."""
        return artifact_path(self.artifact_scope, self.kind, self.artifact_id)

    @property
    def source_sha(self) -> str | None:
        """The commit that a citation names: bound, else source, else capture."""
        return self.bound_head_sha or self.source_head_sha or self.capture_head_sha

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        value: dict[str, Any] = {
            "artifactId": self.artifact_id,
            "artifactScope": self.artifact_scope,
            "kind": self.kind,
            "tier": self.tier,
            "status": self.status,
            "title": self.title,
            "summary": self.summary,
            "text": self.text,
            "goalId": self.goal_id,
            "episodeId": self.episode_id,
            "sourceSessionId": self.source_session_id,
            "sourceHeadSha": self.source_head_sha,
            "captureHeadSha": self.capture_head_sha,
            "boundHeadSha": self.bound_head_sha,
            "bindingStatus": self.binding_status,
            "authority": self.authority,
            "confidence": self.confidence,
            "searchPolicy": self.search_policy,
            "relatedPaths": list(self.related_paths),
            "tags": list(self.tags),
            "supersedes": list(self.supersedes),
            "evidenceRefs": [evidence.to_json() for evidence in self.evidence_refs],
            "provenance": self.provenance.to_json(),
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }
        if self.payload is not None:
            value["payload"] = dict(self.payload)
        return value

    def file_text(self) -> str:
        """Content of its file."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, value: object) -> ArtifactRecord:
        """Read a kept record.

        Raises:
            ValueError: it is none; the argument names the member.
        """
        if not isinstance(value, dict):
            raise ValueError("root")
        member = _Members(value)
        scope = member.choice("artifactScope", KINDS)
        kind = member.choice("kind", KINDS[scope])
        provenance = member.mapping("provenance")
        confidence = value.get("confidence")
        if (
            isinstance(confidence, bool)
            or not isinstance(confidence, int | float)
            or not 0 <= confidence <= 1
        ):
            raise ValueError("confidence")
        payload = value.get("payload")
        if payload is not None and not isinstance(payload, dict):
            raise ValueError("payload")
        return cls(
            artifact_id=member.artifact_id("artifactId", scope, kind),
            artifact_scope=scope,
            kind=kind,
            tier=member.choice("tier", TIERS),
            status=member.choice("status", STATUSES),
            title=member.text("title"),
            summary=member.text("summary"),
            text=member.text("text", MAX_TEXT),
            goal_id=member.text("goalId"),
            episode_id=member.optional("episodeId"),
            source_session_id=member.optional("sourceSessionId"),
            source_head_sha=member.optional("sourceHeadSha"),
            capture_head_sha=member.optional("captureHeadSha"),
            bound_head_sha=member.optional("boundHeadSha"),
            binding_status=member.choice("bindingStatus", BINDINGS),
            authority=member.choice("authority", AUTHORITIES),
            confidence=float(confidence),
            search_policy=member.choice("searchPolicy", SEARCH_POLICIES),
            related_paths=member.texts("relatedPaths"),
            tags=member.texts("tags"),
            supersedes=member.texts("supersedes"),
            evidence_refs=tuple(_evidence(entry) for entry in member.array("evidenceRefs")),
            provenance=_provenance(provenance),
            created_at=member.text("createdAt"),
            updated_at=member.text("updatedAt"),
            payload=payload,
        )


class _Members:
    """Takes members out of a JSON object, or says which one is wrong."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    def text(self, name: str, limit: int = _MAX_SHORT) -> str:
        found = self._value.get(name)
        if not isinstance(found, str) or len(found) > limit:
            raise ValueError(name)
        return found

    def optional(self, name: str) -> str | None:
        return None if self._value.get(name) is None else self.text(name)

    def choice(self, name: str, choices: Iterable[str]) -> str:
        found = self._value.get(name)
        if not isinstance(found, str) or found not in choices:
            raise ValueError(name)
        return found

    def array(self, name: str) -> list[Any]:
        found = self._value.get(name)
        if not isinstance(found, list) or len(found) > _MAX_ITEMS:
            raise ValueError(name)
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.array(name)
        if not all(isinstance(entry, str) and len(entry) <= _MAX_SHORT for entry in found):
            raise ValueError(name)
        return tuple(found)

    def mapping(self, name: str) -> Mapping[str, Any]:
        found = self._value.get(name)
        if not isinstance(found, dict):
            raise ValueError(name)
        return found

    def artifact_id(self, name: str, scope: str, kind: str) -> str:
        found = self.text(name)
        head = f"art_{scope}_{kind}_"
        digits = found.removeprefix(head)
        if not found.startswith(head) or len(digits) != 16 or not set(digits) <= set("0123456789abcdef"):
            raise ValueError(name)
        return found


def _evidence(value: object) -> EvidenceRef:
    if not isinstance(value, dict):
        raise ValueError("evidenceRefs")
    member = _Members(value)
    return EvidenceRef(
        member.text("evidenceId"),
        member.texts("turnIds"),
        member.texts("toolTraceIds"),
        member.text("excerpt", MAX_EXCERPT),
    )


def _provenance(value: Mapping[str, Any]) -> Provenance:
    member = _Members(value)
    return Provenance(
        actor=member.text("actor"),
        producer=member.text("producer"),
        producer_version=member.text("producerVersion"),
        operation=member.text("operation"),
        input_refs=member.texts("inputRefs"),
        output_refs=member.texts("outputRefs"),
        evidence_refs=member.texts("evidenceRefs"),
        content_hash=member.text("contentHash"),
    )


def artifact_path(scope: str, kind: str, identifier: str) -> str:
    """Repository path of an artifact's file (A5)."""
    middle = f"harness/{kind}" if scope == "harness" else scope
    return f".ragit/artifacts/{middle}/{identifier}.json"


def goal_id(goal: str) -> str:
    """Id of a goal, from its words."""
    return f"goal_{_sha1(goal)[:12]}"


def session_id(goal: str, created_at: str) -> str:
    """`YYYYMMDDTHHMMSSZ-<8 hexadecimal digits of the goal>`; `created_at` is an ISO time in UTC."""
    digits = "".join(character for character in created_at[:19] if character.isdigit())
    return f"{digits[:8]}T{digits[8:14]}Z-{_sha1(goal)[:8]}"


def artifact_id(scope: str, kind: str, *parts: str) -> str:
    """Id of an artifact, the same for the same parts: to materialise a session twice makes nothing new."""
    return f"art_{scope}_{kind}_{_sha1(scope, kind, *parts)[:16]}"


def evidence_id(*parts: str) -> str:
    """Id of a piece of evidence."""
    return f"evid_{_sha1(*parts)[:12]}"


def content_hash(kind: str, title: str, summary: str, text: str, excerpts: Iterable[str]) -> str:
    """SHA-256 of what an artifact says, in hexadecimal."""
    canonical = json.dumps([kind, title, summary, text, list(excerpts)], ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _sha1(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()

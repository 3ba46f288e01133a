from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.artifacts import artifact_passages, read_artifacts
from ragit_mcp.artifacts.capture import bind_pending, review_artifact
from ragit_mcp.artifacts.records import STATUSES, TRANSITIONS, ArtifactRecord, goal_id
from ragit_mcp.errors import RagitError
from ragit_mcp.ledger import summarise_events
from ragit_mcp.safety import BLOCKED_TEXT, AdmissionMode

HEAD = "a" * 40
SECRET = "ghp_" + "a1B2c3D4" * 5

KEY_LINE = "MIIEpAIBAAKCAQEA7bq0l5x9mQ3vZk2nF8sR1tYwXcVbNhJgKdLpOiUyTrEwQaSd"
KEY = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *[KEY_LINE] * 4, "-----END RSA PRIVATE KEY-----"))


def kept(root: Path) -> str:
    """Every byte below the root, as text."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(root.rglob("*")) if path.is_file())


def test_a_session_gives_one_artifact_of_each_kind_that_was_said(
    materialize: Any, session: Any, root: Path
) -> None:
    data = materialize(session)
    kinds = sorted(entry["kind"] for entry in data["artifacts"])
    assert kinds == ["constraint", "failure", "feedback", "insight", "openLoop"]
    assert data["created"] == [entry["artifactId"] for entry in data["artifacts"]]
    assert all((root / entry["path"]).is_file() for entry in data["artifacts"])


def test_ids_have_the_shape_of_the_contract(materialize: Any, session: Any, root: Path) -> None:
    import re

    data = materialize(session)
    assert re.fullmatch(r"20260501T080000Z-[0-9a-f]{8}", data["sessionId"])
    assert re.fullmatch(r"goal_[0-9a-f]{12}", data["goalId"])
    assert data["goalId"] == goal_id("Make the crane lift more")
    assert re.fullmatch(r"evt_[0-9a-f]{16}", data["eventId"])
    for record in read_artifacts(root).records:
        assert re.fullmatch(rf"art_session_{record.kind}_[0-9a-f]{{16}}", record.artifact_id)
        assert all(re.fullmatch(r"evid_[0-9a-f]{12}", entry.evidence_id) for entry in record.evidence_refs)
        assert record.provenance.content_hash
        assert len(record.evidence_refs[0].excerpt) <= 240


def test_only_the_users_words_are_feedback_and_a_system_prompt_is_nothing(
    materialize: Any, session: Any, root: Path
) -> None:
    materialize(session)
    by_kind = {record.kind: record for record in read_artifacts(root).records}
    assert by_kind["feedback"].authority == "user_asserted"
    assert by_kind["insight"].authority == "assistant_inferred"
    assert all("obey" not in record.text for record in by_kind.values())
    assert "AssertionError" in by_kind["failure"].text


def test_a_record_reads_back_as_it_was(materialize: Any, session: Any, root: Path) -> None:
    materialize(session)
    for record in read_artifacts(root).records:
        assert ArtifactRecord.from_json(json.loads((root / record.path).read_bytes())) == record
        assert (record.status, record.tier, record.binding_status) == ("captured", "candidate", "pending")
        assert (record.source_head_sha, record.capture_head_sha, record.bound_head_sha) == (HEAD, HEAD, None)


def test_to_materialize_twice_makes_nothing_new_and_undoes_no_review(
    materialize: Any, session: Any, root: Path
) -> None:
    first = materialize(session)
    review_artifact(root, {"artifactId": first["created"][0], "status": "reviewed"})
    before = {record.artifact_id: record for record in read_artifacts(root).records}
    again = materialize(session)
    assert (again["created"], sorted(again["unchanged"])) == ([], sorted(first["created"]))
    assert {record.artifact_id: record for record in read_artifacts(root).records} == before
    assert summarise_events(root).event_count == 2


def test_a_dry_run_says_the_same_and_writes_nothing(materialize: Any, session: Any, root: Path) -> None:
    planned = materialize(session, dry_run=True)
    assert list(root.iterdir()) == []
    assert planned["artifacts"] == materialize(session)["artifacts"]


def test_without_a_commit_artifacts_stay_local(materialize: Any, session: Any, root: Path) -> None:
    materialize(session, head_sha=None)
    assert {record.binding_status for record in read_artifacts(root).records} == {"local_only"}


def test_no_secret_of_a_session_is_kept_anywhere(materialize: Any, session: Any, root: Path) -> None:
    session["goal"] += f" with {SECRET}"
    session["episode"]["id"] = SECRET
    session["turns"][0]["content"] += f" Please use {SECRET} instead."
    session["turns"][0]["turnId"] = SECRET
    session["toolTraces"][0]["error"] = f"error: {SECRET}"
    session["toolTraces"][0]["title"] = f"curl {SECRET}"
    session["relatedPaths"] = [f"docs/{SECRET}.md"]
    data = materialize(session)
    assert SECRET not in kept(root)
    assert SECRET not in json.dumps(data)


def test_a_text_that_admission_holds_back_leaves_a_mark_and_no_artifact(
    materialize: Any, session: Any, root: Path
) -> None:
    session["turns"] = [{"turnId": "t1", "role": "user", "content": f"You must use this:\n{KEY}"}]
    session["toolTraces"] = []
    data = materialize(session)
    transcript = (root / ".ragit" / "log" / "transcripts" / f"{data['sessionId']}.jsonl").read_text(
        encoding="utf-8"
    )
    assert json.loads(transcript)["content"] == BLOCKED_TEXT
    assert (data["artifacts"], data["admission"]["blocked"]) == ([], 1)
    assert KEY_LINE not in kept(root)


def test_report_only_keeps_such_a_text_masked(materialize: Any, session: Any, root: Path) -> None:
    session["turns"] = [{"turnId": "t1", "role": "user", "content": f"You must use this:\n{KEY}"}]
    data = materialize(session, mode=AdmissionMode.REPORT_ONLY)
    assert "constraint" in {entry["kind"] for entry in data["artifacts"]}
    assert KEY_LINE not in kept(root)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"goal": None}, "goal"),
        ({"goal": "a\u0007b"}, "goal"),
        ({"turns": None}, None),
        ({"turns": "x"}, "turns"),
        ({"turns": [{"turnId": "t", "role": "robot", "content": "x"}]}, "turns[0].role"),
        ({"turns": [{"turnId": "t", "role": "user", "content": 5}]}, "turns[0].content"),
        ({"turns": [{"turnId": "t", "role": "user", "content": "x", "more": 1}]}, "turns[0]"),
        ({"episode": {"id": ""}}, "episode.id"),
        ({"episode": {"id": "x", "name": "y"}}, "episode"),
        ({"sourceHeadSha": "HEAD"}, "sourceHeadSha"),
        ({"createdAt": "yesterday"}, "createdAt"),
        ({"relatedPaths": [""]}, "relatedPaths[0]"),
        ({"unknown": 1}, "the document"),
    ],
)
def test_a_wrong_member_is_named_and_nothing_is_written(
    materialize: Any, session: Any, root: Path, change: dict[str, Any], field: str | None
) -> None:
    document = {**session, **change}
    if field is None:
        del document["turns"]
        field = "turns"
    with pytest.raises(RagitError) as caught:
        materialize(document)
    assert (caught.value.code, caught.value.details["field"]) == ("INPUT_INVALID", field)
    assert list(root.iterdir()) == []


def test_a_piece_of_the_harness_is_captured(capture: Any, case: Any, root: Path) -> None:
    data = capture(case)
    (record,) = read_artifacts(root).records
    assert record.artifact_id == data["artifact"]["artifactId"]
    assert record.path == f".ragit/artifacts/harness/case/{record.artifact_id}.json"
    assert (record.artifact_scope, record.search_policy, record.payload) == (
        "harness",
        "harness",
        {"input": {"tons": 2}},
    )
    assert capture(case)["unchanged"] == [record.artifact_id]


def test_no_secret_of_a_harness_document_is_kept(capture: Any, case: Any, root: Path) -> None:
    case["text"] += f" {SECRET}"
    case["title"] += f" {SECRET}"
    case["tags"] = [SECRET]
    case["payload"] = {"token": "hunter2hunter2", "deep": [SECRET]}
    case["evidence"] = [{"excerpt": SECRET}]
    capture(case)
    assert SECRET not in kept(root)
    assert "hunter2hunter2" not in kept(root)


@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("after", STATUSES)
def test_a_review_makes_the_changes_of_the_contract_and_no_others(
    capture: Any, case: Any, root: Path, before: str, after: str
) -> None:
    data = capture(case)
    path = root / data["artifact"]["path"]
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "status": before}), encoding="utf-8")
    content = path.read_bytes()
    outcome = review_artifact(root, {"artifactId": data["created"][0], "status": after})
    allowed = after in TRANSITIONS.get(before, ())
    assert outcome.data["changed"] is allowed
    assert bool(outcome.warnings) is not allowed
    assert json.loads(path.read_bytes())["status"] == (after if allowed else before)
    assert (path.read_bytes() == content) is not allowed


def test_a_reviewed_piece_of_the_harness_has_the_authority_of_one(
    capture: Any, case: Any, root: Path
) -> None:
    data = capture(case)
    review_artifact(root, {"artifactId": data["created"][0], "status": "reviewed", "note": "seen"})
    assert read_artifacts(root).records[0].authority == "reviewed_harness"


def test_an_artifact_that_does_not_exist_cannot_be_reviewed(root: Path) -> None:
    with pytest.raises(RagitError) as caught:
        review_artifact(root, {"artifactId": "../../etc/passwd", "status": "reviewed"})
    assert caught.value.code == "ARTIFACT_NOT_FOUND"


def test_pending_artifacts_are_bound_to_the_commit_that_their_own_leads_to(
    materialize: Any, session: Any, root: Path
) -> None:
    materialize(session)
    assert bind_pending(root, "b" * 40, is_ancestor=lambda _: False) == []
    bound = bind_pending(root, "b" * 40, is_ancestor=lambda source: source == HEAD)
    assert len(bound) == 5
    assert {record.bound_head_sha for record in read_artifacts(root).records} == {"b" * 40}
    assert {record.source_sha for record in read_artifacts(root).records} == {"b" * 40}
    assert bind_pending(root, "c" * 40, is_ancestor=lambda _: True) == []


def test_captured_artifacts_are_served_only_as_evidence(materialize: Any, session: Any, root: Path) -> None:
    materialize(session)
    records = read_artifacts(root).records
    assert artifact_passages(records, "durable") == artifact_passages(records, "session") == []
    assert {passage.scope for passage in artifact_passages(records, "all")} == {"evidence"}
    (passage, *_) = artifact_passages(records, "evidence")
    assert (passage.section_title, passage.source_type) == ("Evidence", "evidence")
    assert passage.source_id.startswith(f"{passage.record.artifact_id}:evid_")
    assert passage.source_version == passage.record.provenance.content_hash


def test_reviewed_artifacts_are_served_in_their_own_scope(
    materialize: Any, session: Any, capture: Any, case: Any, root: Path
) -> None:
    first = materialize(session)["created"][0]
    second = capture(case)["created"][0]
    for artifact in (first, second):
        review_artifact(root, {"artifactId": artifact, "status": "reviewed"})
    records = read_artifacts(root).records
    assert [passage.source_id for passage in artifact_passages(records, "session")] == [first]
    assert [passage.source_id for passage in artifact_passages(records, "harness")] == [second]
    assert [passage.scope for passage in artifact_passages(records, "all")][:2] == ["session", "harness"]


@pytest.mark.parametrize("status", ["superseded", "retracted", "archived"])
def test_what_was_taken_back_is_served_nowhere(capture: Any, case: Any, root: Path, status: str) -> None:
    artifact = capture(case)["created"][0]
    review_artifact(root, {"artifactId": artifact, "status": "reviewed"})
    review_artifact(root, {"artifactId": artifact, "status": status})
    assert artifact_passages(read_artifacts(root).records, "all") == []


def test_a_search_policy_of_none_is_served_nowhere(capture: Any, case: Any, root: Path) -> None:
    data = capture(case)
    path = root / data["artifact"]["path"]
    value = {**json.loads(path.read_bytes()), "status": "reviewed", "searchPolicy": "none"}
    path.write_text(json.dumps(value), encoding="utf-8")
    assert artifact_passages(read_artifacts(root).records, "all") == []


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", "{" * 50_000, '{"artifactId": 5}'])
def test_a_file_that_is_no_artifact_is_left_out_and_counted(
    capture: Any, case: Any, root: Path, content: str
) -> None:
    capture(case)
    (root / ".ragit" / "artifacts" / "harness" / "case" / "bad.json").write_text(content, encoding="utf-8")
    found = read_artifacts(root)
    assert (len(found.records), found.unreadable) == (1, 1)


def test_an_artifact_under_another_name_is_left_out(capture: Any, case: Any, root: Path) -> None:
    data = capture(case)
    path = root / data["artifact"]["path"]
    path.with_name("art_harness_case_0000000000000000.json").write_bytes(path.read_bytes())
    assert read_artifacts(root).unreadable == 1


@pytest.mark.parametrize(
    "member",
    sorted(("status", "kind", "confidence", "title", "evidenceRefs", "provenance", "tags", "artifactId")),
)
def test_a_member_of_another_type_makes_a_file_unreadable(
    capture: Any, case: Any, root: Path, member: str
) -> None:
    data = capture(case)
    path = root / data["artifact"]["path"]
    for wrong in (None, True, [1], {"a": 1}, "x" * 100_000, -1):
        path.write_text(json.dumps({**json.loads(path.read_bytes()), member: wrong}), encoding="utf-8")
        assert read_artifacts(root).records == ()


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_nothing_is_read_or_written_through_a_link(
    materialize: Any, session: Any, root: Path, tmp_path: Path
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (root / ".ragit").mkdir()
    (root / ".ragit" / "artifacts").symlink_to(far)
    assert read_artifacts(root).records == ()
    with pytest.raises(RagitError) as caught:
        materialize(session)
    assert caught.value.code == "WRITE_FAILED"
    assert list(far.iterdir()) == []

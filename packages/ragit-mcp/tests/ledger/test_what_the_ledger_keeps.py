from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.ingest import ingest
from ragit_mcp.ledger import read_audit_state, summarise_events, summarise_security
from ragit_mcp.ledger.audit import audit
from ragit_mcp.ledger.reading import count_recent_blocked
from ragit_mcp.ledger.writing import record_admission, record_audit, record_event
from ragit_mcp.workspace_files import append_line, make_directories, write_file

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
SECRET = "ghp_" + "a1B2c3D4" * 5


def test_events_are_summarised_latest_first(tmp_path: Path) -> None:
    assert summarise_events(tmp_path).to_json() == {
        "eventCount": 0,
        "lastRecordedAt": None,
        "latestEpisodeId": None,
        "latestGoalId": None,
        "latestSessionId": None,
    }
    record_event(
        tmp_path,
        "session.materialize",
        "a",
        key="1",
        now=NOW,
        goal_id="goal_1",
        session_id="s1",
        episode_id="e1",
    )
    record_event(tmp_path, "artifact.review", "b", key="2", now=NOW + timedelta(days=1), goal_id="goal_2")
    assert summarise_events(tmp_path).to_json() == {
        "eventCount": 2,
        "lastRecordedAt": "2026-05-02T09:30:00.000Z",
        "latestEpisodeId": "e1",
        "latestGoalId": "goal_2",
        "latestSessionId": "s1",
    }


def test_an_event_has_the_members_of_the_contract(tmp_path: Path) -> None:
    name = record_event(tmp_path, "ingest.completed", "done", key="k", now=NOW, metadata={"chunks": 3})
    (line,) = (
        (tmp_path / ".ragit" / "log" / "events" / "2026-05-01.jsonl").read_text(encoding="utf-8").splitlines()
    )
    value = json.loads(line)
    assert list(value) == [
        "version",
        "eventId",
        "eventType",
        "recordedAt",
        "goalId",
        "episodeId",
        "sessionId",
        "sourceHeadSha",
        "summary",
        "artifactIds",
        "relatedPaths",
        "openLoops",
        "nextActions",
        "provenance",
        "metadata",
    ]
    assert (value["eventId"], value["version"]) == (name, 1)


def test_the_same_event_is_written_once_a_day(tmp_path: Path) -> None:
    names = {record_event(tmp_path, "artifact.review", "x", key="k", now=NOW) for _ in range(3)}
    assert (len(names), summarise_events(tmp_path).event_count) == (1, 1)
    record_event(tmp_path, "artifact.review", "x", key="other", now=NOW)
    assert summarise_events(tmp_path).event_count == 2


def test_an_event_of_an_unknown_type_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        record_event(tmp_path, "nonsense", "x", key="k")


def test_no_secret_reaches_a_log(tmp_path: Path) -> None:
    record_event(
        tmp_path,
        "artifact.review",
        f"see {SECRET}",
        key="k",
        now=NOW,
        open_loops=[SECRET],
        metadata={"note": SECRET},
    )
    record_admission(tmp_path, [{"sourceRef": SECRET, "action": "block"}], now=NOW)
    for path in tmp_path.rglob("*.jsonl"):
        assert SECRET not in path.read_text(encoding="utf-8")


def test_admission_decisions_are_counted(tmp_path: Path) -> None:
    items = [{"action": "block"}, {"action": "quarantine"}, {"action": "quarantine"}]
    record_admission(tmp_path, items, now=NOW)
    found = summarise_security(tmp_path)
    assert (found.blocked_entries, found.quarantined_entries, found.quarantine_entries) == (1, 2, 2)
    assert found.last_admission_at == "2026-05-01T09:30:00.000Z"
    assert count_recent_blocked(tmp_path, since=NOW) == 1
    assert count_recent_blocked(tmp_path, since=NOW + timedelta(seconds=1)) == 0


def test_what_an_ingest_logs_is_counted_too(project: Any) -> None:
    project.write("docs/leak.md", f"# Leak\n\nThe token is {SECRET}.\n")
    project.commit()
    ingest(project.root, environ=project.env)
    found = summarise_security(project.root)
    assert (found.quarantined_entries, found.quarantine_entries) == (1, 1)
    assert found.last_admission_at is not None


def test_the_outcome_of_an_audit_is_kept(tmp_path: Path) -> None:
    assert read_audit_state(tmp_path).last_audit_at is None
    time = record_audit(tmp_path, unsafe=True, now=NOW)
    state = read_audit_state(tmp_path)
    assert (state.last_audit_at, state.legacy_unsafe_state) == (time, True)
    record_audit(tmp_path, unsafe=False, now=NOW)
    assert read_audit_state(tmp_path).legacy_unsafe_state is False


def test_an_audit_finds_secrets_in_records_and_names_only_place_and_kind(tmp_path: Path) -> None:
    write_file(tmp_path, ".ragit/memory/sessions/old.json", json.dumps({"note": SECRET}))
    write_file(tmp_path, f".ragit/log/{SECRET}.jsonl", "clean\n")
    outcome = audit(tmp_path, "all")
    (found,) = outcome.findings
    assert (found.path, found.count, found.kinds) == (".ragit/memory/sessions/old.json", 1, found.kinds)
    assert outcome.unsafe
    assert SECRET not in json.dumps(outcome.to_json())


def test_an_audit_of_a_fresh_index_finds_nothing_though_documents_held_secrets(project: Any) -> None:
    project.write("docs/leak.md", f"# {SECRET}\n\nThe token is {SECRET}.\n")
    project.commit()
    ingest(project.root, environ=project.env)
    outcome = audit(project.root, "all")
    assert outcome.findings == ()
    assert outcome.scanned_chunks == 3
    assert outcome.scanned_files >= 3


def test_an_audit_looks_only_where_it_was_sent(tmp_path: Path) -> None:
    write_file(tmp_path, ".ragit/memory/old.json", SECRET)
    write_file(tmp_path, ".ragit/cache/old.json", SECRET)
    write_file(tmp_path, ".ragit/security/quarantine/old.jsonl", SECRET)
    paths = {
        target: {finding.path for finding in audit(tmp_path, target).findings}
        for target in ("cache", "quarantine", "store")
    }
    assert paths == {
        "cache": {".ragit/cache/old.json"},
        "quarantine": {".ragit/security/quarantine/old.jsonl"},
        "store": set(),
    }


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("link", [".ragit", ".ragit/log", ".ragit/log/events"])
def test_nothing_is_appended_through_a_link(tmp_path: Path, link: str) -> None:
    root, far = tmp_path / "root", tmp_path / "far"
    far.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(far)
    with pytest.raises(RagitError) as caught:
        record_event(root, "artifact.review", "x", key="k", now=NOW)
    assert caught.value.code == "WRITE_FAILED"
    assert list(far.rglob("*")) == []


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_day_file_that_is_a_link_is_not_appended_to(tmp_path: Path) -> None:
    root, target = tmp_path / "root", tmp_path / "target"
    target.write_text("precious\n", encoding="utf-8")
    root.mkdir()
    make_directories(root, ".ragit/log/events")
    (root / ".ragit" / "log" / "events" / "2026-05-01.jsonl").symlink_to(target)
    with pytest.raises(RagitError) as caught:
        record_event(root, "artifact.review", "x", key="k", now=NOW)
    assert caught.value.code == "WRITE_FAILED"
    assert target.read_text(encoding="utf-8") == "precious\n"


def test_lines_of_many_threads_do_not_mix(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    lines = [json.dumps({"n": n, "x": "y" * 500}) for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: append_line(tmp_path, ".ragit/log/x.jsonl", line), lines))
    written = (tmp_path / ".ragit" / "log" / "x.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(written) == sorted(lines)


@pytest.mark.parametrize("way", ["directory", "file"])
def test_a_failing_write_has_a_code_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    write_file(tmp_path, ".ragit/x.json", "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "mkdir" if way == "directory" else "write", full)
    with pytest.raises(RagitError) as caught:
        write_file(tmp_path, ".ragit/new/y.json" if way == "directory" else ".ragit/x.json", "new")
    assert caught.value.code == "WRITE_FAILED"
    monkeypatch.undo()
    assert (tmp_path / ".ragit" / "x.json").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in (tmp_path / ".ragit").iterdir()) == ["x.json"]

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ragit_mcp.ingest import ingest


@pytest.fixture
def run(project: Any) -> Any:
    """Runs ragit as a process in the project; exit code and envelope."""

    def call(*arguments: str, stdin: str = "") -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ragit_mcp.cli", *arguments, "--format", "json"],
            cwd=project.root,
            env=project.env,
            input=stdin.encode(),
            capture_output=True,
            check=False,
            timeout=100,
        )
        assert done.stderr == b""
        return done.returncode, json.loads(done.stdout)

    return call


def test_from_a_transcript_to_an_answer(run: Any, project: Any, session: Any) -> None:
    ingest(project.root, environ=project.env)
    code, reply = run("session", "materialize", "--input", "-", stdin=json.dumps(session))
    assert code == 0
    (insight,) = (entry for entry in reply["data"]["artifacts"] if entry["kind"] == "insight")
    code, reply = run("query", "why does the brake slip", "--scope", "session")
    assert (code, reply["data"]["hits"]) == (0, [])
    code, reply = run("artifact", "review", insight["artifactId"], "--status", "reviewed")
    assert (code, reply["data"]["status"], reply["warnings"]) == (0, "reviewed", [])
    code, reply = run("query", "why does the brake slip", "--scope", "session")
    (hit,) = reply["data"]["hits"]
    assert (hit["artifactId"], hit["scope"], hit["originType"]) == (
        insight["artifactId"],
        "session",
        "artifact",
    )
    code, reply = run("query", "why does the brake slip", "--scope", "evidence")
    assert {hit["scope"] for hit in reply["data"]["hits"]} == {"evidence"}


def test_an_ingest_binds_what_waits_for_its_commit(run: Any, project: Any, case: Any) -> None:
    project.write("case.json", json.dumps(case))
    assert (
        run("harness", "capture", "--input", "case.json")[1]["data"]["artifact"]["bindingStatus"] == "pending"
    )
    assert run("status")[1]["data"]["knowledge"]["pendingBindings"] == 1
    code, reply = run("ingest")
    assert (code, len(reply["data"]["boundArtifactIds"])) == (0, 1)
    data = run("status")[1]["data"]
    assert (data["knowledge"]["pendingBindings"], data["knowledge"]["harnessArtifactCount"]) == (0, 1)
    assert data["events"]["eventCount"] == 2


def test_a_change_of_status_that_is_not_allowed_is_a_warning(run: Any, project: Any, case: Any) -> None:
    project.write("case.json", json.dumps(case))
    artifact = run("harness", "capture", "--input", "case.json")[1]["data"]["created"][0]
    code, reply = run("artifact", "review", artifact, "--status", "superseded")
    assert (code, reply["ok"], reply["data"]["changed"], len(reply["warnings"])) == (0, True, False, 1)


@pytest.mark.parametrize(
    "line",
    [("session", "materialize"), ("harness", "capture"), ("artifact", "review"), ("artifact", "review", "x")],
)
def test_a_command_without_its_request_is_refused(run: Any, line: tuple[str, ...]) -> None:
    code, reply = run(*line)
    assert (code, reply["error"]["code"]) == (1, "CLI_USAGE")

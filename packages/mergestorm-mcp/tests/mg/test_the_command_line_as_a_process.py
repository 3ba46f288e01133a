"""`mg` in a process of its own: one document on stdout, no key anywhere, and a reader that goes away is no crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

KEY = "msk_live_canary_0123456789abcdef"
JOBS = {
    "items": [
        {"job_id": f"job-{number}", "status": "completed", "summary": "x" * 4000} for number in range(50)
    ]
}


def started(service: Any, folders: dict[str, str], *words: str, **variables: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    homes = {"HOME": folders["home"], "USERPROFILE": folders["home"]}
    own = {"MERGESTORM_API_URL": service.base, "MERGESTORM_API_KEY": KEY, **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "mergestorm_mcp.mg.main", *words],
        env={**kept, **homes, **own},
        cwd=folders["work"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def route(path: str, status: int, body: Any, **query: str) -> dict[str, Any]:
    match = {"method": "GET", "path": f"/api/v1/{path}", "query": query}
    return {"match": match, "respond": {"status": status, "body": body}}


def test_a_result_is_one_document_on_stdout(service: Any, folders: dict[str, str]) -> None:
    service.play(routes=[route("reviews", 200, JOBS, limit="10")])
    child = started(service, folders, "jobs", "--json")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert len(json.loads(out)["items"]) == 50


@pytest.mark.parametrize("status", [200, 401, 403, 500])
def test_the_key_is_in_no_output_even_if_the_service_echoes_it(
    service: Any, folders: dict[str, str], status: int
) -> None:
    echo = {"status": "completed", "summary": f"Bearer {KEY}", "error": KEY, "message": f"bad key {KEY}"}
    service.play(routes=[route("reviews/j1", status, echo)])
    for words in (("status", "j1"), ("status", "j1", "--json")):
        child = started(service, folders, *words)
        out, err = child.communicate(timeout=60)
        assert child.returncode == {200: 0, 401: 6}.get(status, 1)
        assert KEY not in out + err
        assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_crash(service: Any, folders: dict[str, str]) -> None:
    service.play(routes=[route("reviews", 200, JOBS, limit="10")])
    child = started(service, folders, "jobs", "--json")
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait(timeout=60) == 1
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_an_address_that_may_not_be_used_is_a_usage_error(service: Any, folders: dict[str, str]) -> None:
    child = started(service, folders, "jobs", "--json", MERGESTORM_API_URL="http://169.254.169.254")
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, json.loads(out)["error"]["code"]) == (2, "usage")

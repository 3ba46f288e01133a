"""Reviews of diffs: submitted once, charged once, found by real rules, kept apart by account."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.local_reviews.jobs import MAX_DIFF_BYTES

from .conftest import OTHER_KEY, LocalService

DIFF = """\
diff --git a/app.py b/app.py
index 1111111..2222222 100644
--- a/app.py
+++ b/app.py
@@ -1,2 +1,5 @@
 import os
+value = eval(os.environ["X"])
+# FIXME later
+done = True
 print(value)
"""
CLEAN = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"


def submission(**changes: Any) -> dict[str, Any]:
    return {
        "thread": "local/topic",
        "branch": "topic",
        "base_label": "main",
        "head_label": "HEAD",
        "diff": DIFF,
        "files": [{"path": "app.py", "content": "import os\n"}],
    } | changes


def finished(client: httpx.Client, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        row: dict[str, Any] = client.get(f"/api/v1/reviews/{job}").json()
        if row["status"] not in {"queued", "in_progress"}:
            return row
    raise TimeoutError(job)


def test_a_review_is_queued_and_then_names_what_is_wrong_where(service: LocalService) -> None:
    client = service.client()
    reply = client.post("/api/v1/reviews", json=submission(repo="acme/app"))
    assert reply.status_code == 202
    queued = reply.json()
    assert (queued["status"], queued["thread_slug"], queued["thread_job_number"]) == (
        "queued",
        "local/topic",
        1,
    )
    assert queued["findings"] is None
    done = finished(client, queued["job_id"])
    assert (done["status"], done["verdict"], done["router_mode"]) == (
        "completed",
        "request_changes",
        "standard",
    )
    inline = {(each["path"], each["line"], each["severity"]) for each in done["findings"]["inline"]}
    assert {("app.py", 2, "error"), ("app.py", 3, "warning")} <= inline
    assert done["specialists_run"] == done["findings"]["specialists_run"] == ["architecture", "security"]
    assert done["finished_at"] >= done["created_at"]
    with service.world.store.read() as connection:
        [line] = [row["text"] for row in connection.execute("SELECT text FROM events WHERE kind = 'review'")]
    assert "HEAD against main" in line
    me = client.get("/api/v1/me").json()
    assert me["usage"]["standard"] == {"used": 1, "limit": 100, "remaining": 99}


def test_a_clean_diff_is_approved(service: LocalService) -> None:
    client = service.client()
    done = finished(
        client, client.post("/api/v1/reviews", json=submission(diff=CLEAN, files=[])).json()["job_id"]
    )
    assert (done["verdict"], done["findings"]["inline"]) == ("approve", [])


def test_a_text_that_is_no_diff_fails_and_costs_nothing(service: LocalService) -> None:
    client = service.client()
    done = finished(client, client.post("/api/v1/reviews", json=submission(diff="hello")).json()["job_id"])
    assert (done["status"], done["verdict"], done["findings"]) == ("failed", None, None)
    assert done["error"]
    assert done["credits"] == {"standard": 0}
    assert client.get("/api/v1/me").json()["usage"]["standard"]["used"] == 0


@pytest.mark.parametrize(
    ("router", "specialists", "run"),
    [("off", [], []), ("manual", ["tests", "api"], ["api", "tests"]), (None, ["data"], ["data"])],
)
def test_the_router_says_which_specialists_run(
    service: LocalService, router: str | None, specialists: list[str], run: list[str]
) -> None:
    client = service.client()
    asked = submission(specialists=specialists) | ({} if router is None else {"router_mode": router})
    done = finished(client, client.post("/api/v1/reviews", json=asked).json()["job_id"])
    assert done["specialists_run"] == run
    assert done["specialists_requested"] == specialists


def test_the_same_key_is_the_same_job_at_whatever_speed_it_arrives(service: LocalService) -> None:
    asked = submission(idempotency_key="once")

    def send(_: int) -> httpx.Response:
        return service.client().post("/api/v1/reviews", json=asked)

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(send, range(16)))
    assert {reply.status_code for reply in replies} == {202}
    assert len({reply.json()["job_id"] for reply in replies}) == 1
    client = service.client()
    assert len(client.get("/api/v1/reviews").json()["items"]) == 1
    assert client.get("/api/v1/me").json()["usage"]["standard"]["used"] == 1
    other = client.post("/api/v1/reviews", json=asked | {"diff": CLEAN})
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_key_reused")
    sam = service.client(OTHER_KEY).post("/api/v1/reviews", json=asked)
    assert sam.json()["job_id"] != replies[0].json()["job_id"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"diff": "x" * (MAX_DIFF_BYTES + 1)}, 413, "diff_too_large"),
        ({"diff": "é" * (MAX_DIFF_BYTES // 2 + 1)}, 413, "diff_too_large"),
        ({"specialists": ["seam"]}, 400, "invalid_specialists"),
        ({"specialists": ["governance"], "router_mode": "manual"}, 400, "invalid_specialists"),
        ({"router_mode": "manual"}, 400, "invalid_specialists"),
        ({"router_mode": "off", "specialists": ["tests"]}, 400, "invalid_specialists"),
        ({"router_mode": "full"}, 400, "invalid_input"),
        ({"specialists": ["tests"] * 6}, 400, "invalid_input"),
        ({"thread": "-x"}, 400, "invalid_input"),
        ({"thread": "x" * 121}, 400, "invalid_input"),
        ({"repo": "no slash"}, 400, "invalid_input"),
        ({"repo": None}, 400, "invalid_input"),
        ({"diff": ""}, 400, "invalid_input"),
        ({"files": [{"path": "a", "content": ""}] * 41}, 400, "invalid_input"),
        ({"files": [{"path": "a", "content": "", "mode": 1}]}, 400, "invalid_input"),
        ({"context": "x" * 60_001}, 400, "invalid_input"),
        ({"idempotency_key": "k" * 129}, 400, "invalid_input"),
        ({"webhook_url": "http://example.com"}, 400, "invalid_input"),
        ({"surprise": 1}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_reviewed_is_refused_and_costs_nothing(
    untouched: LocalService, changes: dict[str, Any], status: int, code: str
) -> None:
    client = untouched.client()
    reply = client.post("/api/v1/reviews", json=submission(**changes))
    assert (reply.status_code, reply.json()["error"]) == (status, code)
    assert client.get("/api/v1/reviews").json()["items"] == []
    assert client.get("/api/v1/me").json()["usage"]["standard"]["used"] == 0


def test_a_refusal_names_the_field_and_never_its_value(untouched: LocalService) -> None:
    reply = untouched.client().post("/api/v1/reviews", json=submission(idempotency_key="canary" * 30))
    assert reply.json()["fields"] == [{"field": "idempotency_key", "problem": "string_too_long"}]
    assert "canary" not in reply.text


def test_a_diff_of_the_greatest_size_is_taken(service: LocalService) -> None:
    head = CLEAN + "@@ -0,0 +5 @@\n+"
    diff = head + "x" * (MAX_DIFF_BYTES - len(head) - 1) + "\n"
    assert service.client().post("/api/v1/reviews", json=submission(diff=diff)).status_code == 202


def test_when_the_month_is_used_up_the_bonus_is_and_then_nothing_more(service: LocalService) -> None:
    with service.world.store.write() as connection:
        connection.execute("UPDATE accounts SET credits_limit = 1, bonus_credits = 1 WHERE login = 'rivka'")
    client = service.client()
    first = client.post("/api/v1/reviews", json=submission(idempotency_key="a"))
    assert [first.status_code, client.post("/api/v1/reviews", json=submission()).status_code] == [202, 202]
    refused = client.post("/api/v1/reviews", json=submission())
    assert (refused.status_code, refused.json()["error"]) == (402, "quota_exceeded")
    usage = client.get("/api/v1/me").json()["usage"]
    assert (usage["standard"]["remaining"], usage["bonus"]["remaining"]) == (0, 0)
    assert len(client.get("/api/v1/reviews").json()["items"]) == 2
    again = client.post("/api/v1/reviews", json=submission(idempotency_key="a"))
    assert (again.status_code, again.json()["job_id"]) == (202, first.json()["job_id"])
    assert service.client(OTHER_KEY).post("/api/v1/reviews", json=submission()).status_code == 202


def test_jobs_submitted_at_once_cannot_overdraw_the_account(service: LocalService) -> None:
    with service.world.store.write() as connection:
        connection.execute("UPDATE accounts SET credits_limit = 3")
    with ThreadPoolExecutor(8) as pool:
        codes = list(
            pool.map(
                lambda _: service.client().post("/api/v1/reviews", json=submission()).status_code, range(8)
            )
        )
    assert sorted(codes) == [202] * 3 + [402] * 5


def test_a_failed_review_of_bonus_credits_gives_them_back(service: LocalService) -> None:
    with service.world.store.write() as connection:
        connection.execute("UPDATE accounts SET credits_limit = 0, bonus_credits = 1 WHERE login = 'rivka'")
    client = service.client()
    finished(client, client.post("/api/v1/reviews", json=submission(diff="?")).json()["job_id"])
    assert client.get("/api/v1/me").json()["usage"]["bonus"]["remaining"] == 1


def test_a_webhook_secret_is_told_once(service: LocalService) -> None:
    client = service.client()
    asked = submission(webhook_url="https://example.com/hook", idempotency_key="h")
    first = client.post("/api/v1/reviews", json=asked).json()
    assert first["webhook_secret"].startswith("whsec_")
    assert client.post("/api/v1/reviews", json=asked).json()["webhook_secret"] is None
    assert client.get(f"/api/v1/reviews/{first['job_id']}").json()["webhook_secret"] is None


def test_jobs_and_threads_are_listed_newest_first(service: LocalService) -> None:
    client = service.client()
    for thread in ("a/b", "local/topic", "a/b"):
        client.post("/api/v1/reviews", json=submission(thread=thread))
    listed = client.get("/api/v1/reviews?limit=2").json()["items"]
    assert [item["thread_slug"] for item in listed] == ["a/b", "local/topic"]
    threads = client.get("/api/v1/threads").json()["items"]
    assert [(item["slug"], item["job_count"]) for item in threads] == [("a/b", 2), ("local/topic", 1)]
    detail = client.get("/api/v1/threads/a%2Fb").json()
    assert [job["thread_job_number"] for job in detail["jobs"]] == [1, 2]
    assert detail["pr_number"] is None
    for limit in ("0", "51", "ten", "1.0", "1_0", " 1", ""):
        assert client.get("/api/v1/reviews", params={"limit": limit}).status_code == 400, limit
    assert client.get("/api/v1/reviews?limit=1&limit=2").status_code == 400


def test_another_accounts_jobs_and_threads_are_as_if_they_were_not(service: LocalService) -> None:
    job = service.client().post("/api/v1/reviews", json=submission()).json()["job_id"]
    sam = service.client(OTHER_KEY)
    for path, code in (
        (f"/api/v1/reviews/{job}", "review_not_found"),
        ("/api/v1/reviews/nothing", "review_not_found"),
        ("/api/v1/threads/local%2Ftopic", "thread_not_found"),
    ):
        reply = sam.get(path)
        assert (reply.status_code, reply.json()["error"]) == (404, code)
    assert sam.get("/api/v1/reviews").json() == sam.get("/api/v1/threads").json() == {"items": []}


def test_the_diff_is_forgotten_once_it_was_reviewed_and_files_are_never_kept(service: LocalService) -> None:
    client = service.client()
    asked = submission(files=[{"path": "app.py", "content": "canary-content"}])
    finished(client, client.post("/api/v1/reviews", json=asked).json()["job_id"])
    with service.world.store.read() as connection:
        row = connection.execute("SELECT * FROM review_jobs").fetchone()
    assert row["diff"] is None
    assert "canary-content" not in str(tuple(row))


def test_a_scenario_gives_the_reviewer_its_pace_and_its_findings(service: LocalService) -> None:
    with service.world.store.write() as connection:
        knobs.set_dial(connection, "local_review.queued_seconds", 0)
        knobs.set_dial(connection, "local_review.seconds", 0)
        knobs.set_dial(
            connection,
            "local_review.reviewer",
            {
                "built_in": False,
                "findings": [{"text": "done", "title": "Done", "severity": "warning", "where": "off_diff"}],
            },
        )
    client = service.client()
    done = finished(client, client.post("/api/v1/reviews", json=submission()).json()["job_id"])
    assert (done["verdict"], done["findings"]["inline"]) == ("comment", [])
    assert [each["title"] for each in done["findings"]["off_diff"]] == ["Done"]

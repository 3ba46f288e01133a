"""`mg review`, `mg status` and `mg pr`: what they wait for, what they print and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio
HEAD = "f949f133ee44f52d4a451b455b5bb8fe8d21d63a"
Exchange = Callable[..., dict[str, Any]]
DONE = {
    "job_id": "j1",
    "status": "completed",
    "verdict": "request_changes",
    "summary": "One thing.",
    "findings": {
        "inline": [{"path": "a.py", "line": 3, "severity": "high", "title": "Leak", "body": "It leaks."}]
    },
    "credits": {"standard": 2},
}


@pytest.fixture
def submitted(service: Any, exchange: Exchange) -> Callable[..., Any]:
    """Plays a service that answers a submission, and then these reads of the job."""

    def playing(answer: Any, *rows: Any, status: int = 202) -> Any:
        posted = exchange("POST", "reviews", answer, status=status)
        routes = [{"match": {**posted["expect"], "body": {}}, "respond": posted["respond"], "times": 1}]
        script = service.play(routes=routes)
        remaining = list(rows)

        def told(request: dict[str, Any]) -> Any:
            if request["method"] == "POST":
                script.sent = request["json"]
                return posted["respond"]
            row = remaining.pop(0) if len(remaining) > 1 else remaining[0]
            return {"status": 200, "body": row, "headers": {}}

        script.answer = told
        return script

    return playing


@pytest.fixture
def changed(checkout: Any) -> Any:
    """The checkout with one commit to review."""
    checkout.commit({"a.py": b"x = 1\n"})
    return checkout


async def test_a_review_is_waited_for_and_shown(mg: Any, changed: Any, submitted: Any) -> None:
    script = submitted({"job_id": "j1", "status": "queued"}, {"status": "in_progress"}, DONE)
    ran = await mg("review")
    assert ran.code == 0
    assert ran.out.splitlines() == ["j1 · completed · request_changes", "One thing.", "  high  a.py:3  Leak"]
    assert (script.sent["branch"], script.sent["head_label"]) == ("topic", "HEAD")


async def test_json_is_one_document_and_everything_else_is_on_stderr(
    mg: Any, changed: Any, submitted: Any
) -> None:
    submitted({"job_id": "j1", "status": "queued", "webhook_secret": "s"}, DONE)
    ran = await mg("review", "--json", "--webhook-url", "https://hooks.example.invalid/x")
    assert ran.document["status"] == "completed"
    assert ran.document["webhook_secret"] == "s"  # told once, with the submission


async def test_without_waiting_the_job_is_named_at_once(mg: Any, changed: Any, submitted: Any) -> None:
    script = submitted({"job_id": "j1", "status": "queued"}, DONE)
    ran = await mg("review", "main", "topic", "--no-wait", "--specialists", "api,tests", "--context", "-", "--json",
                   given="Look at the tides.")  # fmt: skip
    assert (ran.code, ran.document["status"], ran.document["job_id"]) == (0, "queued", "j1")
    assert (script.sent["specialists"], script.sent["router_mode"]) == (["api", "tests"], "manual")
    assert script.sent["context"] == "Look at the tides."


@pytest.mark.parametrize(
    ("status", "answer", "code", "said"),
    [
        (402, {"error": "quota"}, 3, "quota_exceeded"),
        (429, {}, 7, "rate_limited"),
        (413, {}, 4, "failed"),
        (202, {"job_id": "j1", "status": "failed"}, 4, "failed"),
    ],
)
async def test_how_a_submission_ends_is_the_exit_code(
    mg: Any, changed: Any, submitted: Any, status: int, answer: Any, code: int, said: str
) -> None:
    submitted(answer, DONE, status=status)
    ran = await mg("review", "--json")
    assert (ran.code, ran.document["status"]) == (code, said)


async def test_a_review_that_outlasts_the_wait_is_exit_5(mg: Any, changed: Any, submitted: Any) -> None:
    submitted({"job_id": "j1", "status": "queued"}, {"status": "in_progress"})
    ran = await mg("review", "--timeout", "60", "--json")
    assert (ran.code, ran.document["status"], ran.document["job_id"]) == (5, "in_progress", "j1")


async def test_nothing_to_review_is_no_failure(mg: Any, checkout: Any, service: Any) -> None:
    script = service.play([])
    assert (await mg("review", "--json")).document["status"] == "no_changes"
    assert (await mg("review")).code == 0
    assert script.leftovers() == []


async def test_a_review_from_a_folder_below_the_top_covers_the_repository(
    mg: Any, changed: Any, submitted: Any, runtime: Runtime
) -> None:
    changed.commit({"deep/er/b.py": b"y = 2\n"})
    runtime.environment = replace(runtime.environment, working_directory=str(changed.path / "deep" / "er"))
    script = submitted({"job_id": "j1", "status": "queued"}, DONE)
    assert (await mg("review", "--no-wait")).code == 0
    assert {item["path"] for item in script.sent["files"]} == {"a.py", "deep/er/b.py"}


async def test_outside_of_a_checkout_a_review_is_a_usage_error(mg: Any, service: Any) -> None:
    service.play([])
    ran = await mg("review", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (2, "not_a_repo")


async def test_a_refused_key_is_exit_6_for_reviews(
    mg: Any, changed: Any, service: Any, exchange: Exchange
) -> None:
    service.play([exchange("GET", "reviews/j1", status=401)])
    ran = await mg("status", "j1", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (6, "auth_invalid")


async def test_a_missing_key_is_exit_6_for_reviews_and_1_elsewhere(mg: Any, runtime: Runtime) -> None:
    runtime.environment = replace(runtime.environment, variables={})
    assert [(await mg(*words)).code for words in (("review",), ("status",), ("jobs",), ("pr", "a/b#1"))] == [
        6,
        6,
        1,
        1,
    ]


async def test_the_newest_job_is_the_one_that_is_meant(mg: Any, service: Any, exchange: Exchange) -> None:
    script = service.play([
        exchange("GET", "reviews", {"items": [DONE]}, query={"limit": "1"}),
        exchange("GET", "reviews/j1", DONE),
        exchange("GET", "reviews", {"items": []}, query={"limit": "1"}),
    ])
    assert (await mg("status", "--json")).document["job_id"] == "j1"
    assert script.problems == []
    assert (await mg("status")).code == 1


async def test_a_job_is_waited_for(mg: Any, service: Any, exchange: Exchange) -> None:
    service.play([exchange("GET", "reviews/j1", {"status": "queued"}), exchange("GET", "reviews/j1", DONE)])
    assert (await mg("status", "j1", "--wait", "--json")).document["verdict"] == "request_changes"


PULL = {"owner": "ada", "repo": "engine", "pr_number": "64"}


def review(**fields: Any) -> dict[str, Any]:
    return {
        "id": "r",
        "status": "completed",
        "verdict": "approve",
        "head_sha": HEAD,
        "pass": 2,
        "findings": None,
        **fields,
    }


async def test_a_pull_request_s_review_is_json_when_piped_and_text_on_a_terminal(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    service.play(routes=[{"match": exchange("GET", "stacks/pr-review", query=PULL)["expect"],
                          "respond": {"status": 200, "body": review()}}])  # fmt: skip
    assert (await mg("pr", "ada/engine#64")).document == review()
    line = f"ada/engine#64 · completed · approve · head {HEAD[:12]} · pass 2\n"
    assert (await mg("pr", "ada/engine", "64", "--pretty")).out == line
    assert (await mg("pr", "ada/engine#64", tty=True)).out == line
    assert (await mg("pr", "ada/engine#64", "--json", tty=True)).document == review()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (404, {}, 4),
        (429, {}, 7),
        (401, {}, 1),
        (200, review(status="failed"), 4),
        (200, review(status="quota_exceeded"), 3),
        (200, review(status="skipped"), 0),
        (200, review(status="in_progress"), 0),
    ],
)
async def test_how_a_pull_request_s_review_stands_is_the_exit_code(
    mg: Any, service: Any, exchange: Exchange, status: int, body: Any, code: int
) -> None:
    service.play([exchange("GET", "stacks/pr-review", body, status=status, query=PULL)])
    assert (await mg("pr", "ada/engine#64")).code == code


async def test_a_review_of_the_pushed_head_is_waited_for(mg: Any, service: Any, exchange: Exchange) -> None:
    query = {**PULL, "after_sha": HEAD[:9], "after_pass": "1"}
    script = service.play([
        exchange("GET", "stacks/pr-review", review(head_sha="0" * 40), query=query),
        exchange("GET", "stacks/pr-review", review(), query=query),
    ])
    words = ("pr", "ada/engine#64", "--after-sha", HEAD[:9], "--after-pass", "1")
    assert (await mg(*words, "--wait")).document["head_sha"] == HEAD
    assert script.leftovers() == []
    assert (await mg(*words)).code == 2  # a head to wait for needs --wait


async def test_a_review_nobody_saw_is_exit_5(mg: Any, service: Any, exchange: Exchange) -> None:
    service.play(routes=[{"match": exchange("GET", "stacks/pr-review", query=PULL)["expect"],
                          "respond": {"status": 404, "body": {}}}])  # fmt: skip
    ran = await mg("pr", "ada/engine#64", "--timeout", "30")
    assert (ran.code, ran.document["status"]) == (5, "none")


async def test_messages_name_commands_where_the_server_s_name_tools(
    mg: Any, changed: Any, submitted: Any
) -> None:
    submitted({"status": "queued"}, DONE)  # accepted without an id
    ran = await mg("review")
    assert ran.code == 1
    assert "`mg jobs`" in ran.err
    assert "review_list" not in ran.err

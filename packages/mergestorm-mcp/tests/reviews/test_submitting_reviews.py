"""One submission: what is checked, what is sent, and what the answer or its absence means."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.reviews.admission import ALLOW_SECRETS, refuse_secrets
from mergestorm_mcp.reviews.collect import MAX_DIFF_BYTES
from mergestorm_mcp.reviews.submit import ReviewRequest, prepare_submission, send_submission

DIFF = "diff --git a/tide.txt b/tide.txt\n--- a/tide.txt\n+++ b/tide.txt\n@@ -1 +1 @@\n-low\n+high\n"
SECRET = "ghp_" + "x9Kq2LmT7vR4bN8cW3sZ6yH1pD5f"


def body_of(environment: Environment, **request: Any) -> dict[str, Any]:
    body = prepare_submission(environment, ReviewRequest(**request)).body
    assert body is not None
    return body


def refused(environment: Environment, **request: Any) -> str | None:
    with pytest.raises(CommandError) as error:
        prepare_submission(environment, ReviewRequest(**request))
    assert error.value.exit_code == 2
    return error.value.code


def test_a_given_diff_needs_no_checkout_and_may_stand_outside(
    environment: Environment, folders: dict[str, str]
) -> None:
    body = body_of(environment, diff=DIFF, cwd=folders["outside"])
    assert body == {
        "thread": "local/diff-386ca074121a",
        "branch": "local",
        "base_label": "main",
        "head_label": "HEAD",
        "diff": DIFF,
        "files": [],
    }


def test_a_given_diff_takes_its_base_s_name_from_the_checkout(
    checkout: Any, environment: Environment
) -> None:
    checkout.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    assert body_of(environment, diff=DIFF)["base_label"] == "develop"
    assert body_of(environment, diff=DIFF, base="release", head="mine")["base_label"] == "release"


def test_a_given_diff_is_limited_in_bytes(environment: Environment) -> None:
    assert len(body_of(environment, diff="é" * (MAX_DIFF_BYTES // 2))["diff"]) == MAX_DIFF_BYTES // 2
    assert refused(environment, diff="é" * (MAX_DIFF_BYTES // 2) + "x") == "usage"


def test_a_blank_diff_means_the_checkout_s(checkout: Any, environment: Environment) -> None:
    checkout.commit({"a": b"1\n"})
    assert body_of(environment, diff=" \n")["branch"] == "topic"


def test_specialists_are_chosen_by_hand(environment: Environment) -> None:
    body = body_of(environment, diff=DIFF, specialists=["api", "tests", "api"])
    assert (body["router_mode"], body["specialists"]) == ("manual", ["api", "tests"])
    assert body_of(environment, diff=DIFF, router="max")["router_mode"] == "max"
    assert body_of(environment, diff=DIFF, router="max", specialists=["api"])["router_mode"] == "max"


@pytest.mark.parametrize(
    "request_",
    [
        {"specialists": ["governance"]},
        {"specialists": ["seam"]},
        {"router": "manual"},
        {"router": "off", "specialists": ["api"]},
        {"thread": "-x"},
        {"thread": "a b"},
        {"thread": "a" * 121},
        {"thread": "a\n"},
        {"context": " - "},
        {"context": "  "},
        {"webhook_url": "http://example.invalid/hook"},
        {"webhook_url": "https://"},
        {"webhook_url": "https://[x"},
    ],
)
def test_arguments_that_mean_nothing_are_usage(environment: Environment, request_: dict[str, Any]) -> None:
    assert refused(environment, diff=DIFF, **request_) == "usage"


def test_a_command_line_s_webhook_is_sent_along(environment: Environment) -> None:
    address = "https://example.invalid/hook"
    assert body_of(environment, diff=DIFF, webhook_url=f" {address} ")["webhook_url"] == address


def test_where_nothing_changed_context_is_not_read(checkout: Any, environment: Environment) -> None:
    submission = prepare_submission(environment, ReviewRequest(context_files=["nowhere"], context=" "))
    assert submission.body is None


@pytest.mark.parametrize("place", ["diff", "context", "file", "context file"])
def test_a_secret_is_refused_unless_the_host_allows_it(
    checkout: Any, environment: Environment, place: str
) -> None:
    line = f'token = "{SECRET}"\n'
    (checkout.path / "notes").write_text(line if place == "context file" else "notes\n", encoding="utf-8")
    request: dict[str, Any] = {"context_files": ["notes"], "context": line if place == "context" else "none"}
    if place == "diff":
        request["diff"] = DIFF + "+" + line
    checkout.commit({"a": line.encode() if place == "file" else b"1\n"})
    with pytest.raises(CommandError) as error:
        prepare_submission(environment, ReviewRequest(**request))
    assert (error.value.code, error.value.exit_code) == ("usage", 2)
    assert SECRET not in error.value.message
    allowed = Environment(
        {**environment.variables, ALLOW_SECRETS: "1"}, environment.home, environment.working_directory
    )
    assert prepare_submission(allowed, ReviewRequest(**request)).body is not None


def test_values_that_documentation_shows_are_no_secrets(environment: Environment) -> None:
    refuse_secrets(
        environment, [("x", "postgres://user:password@localhost/db"), ("y", "commit " + "a1" * 20)]
    )


def test_a_cancelled_submission_is_not_looked_through(environment: Environment) -> None:
    refuse_secrets(environment, [("x", SECRET)], lambda: True)


@pytest.mark.anyio
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("lost", [None, httpx.ReadError("gone"), httpx.ConnectError("no")])
async def test_a_lost_answer_is_an_error_and_the_post_is_not_repeated(
    environment: Environment, simulated: Any, keyed: bool, lost: Any
) -> None:
    submission = prepare_submission(
        environment, ReviewRequest(diff=DIFF, idempotency_key="once" if keyed else None)
    )
    api, _, transport = simulated(lambda _: (0, lost))
    with pytest.raises(CommandError) as error:
        await send_submission(api, submission)
    assert error.value.code == ("api_timeout" if lost is None else None)
    assert ("idempotency_key" if keyed else "review_list") in error.value.message
    assert len(transport.requests) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "answer", "shown", "failed"),
    [
        (202, {"job_id": "j"}, ("queued", None), False),
        (200, {"id": "j", "status": "completed"}, ("completed", None), False),
        (402, {}, ("quota_exceeded", ...), False),
        (402, {"message": "used up"}, ("quota_exceeded", "used up"), False),
        (429, {"retry_after_seconds": 0}, ("rate_limited", ...), False),
        (413, "<html>413</html>", ("failed", ...), True),
        (413, {"message": "too big"}, ("failed", ...), True),
        (400, {"error": "invalid_specialists"}, ("failed", ...), True),
        (500, "plain words", ("failed", "Failed (HTTP 500): plain words"), True),
        (503, "<!DOCTYPE html>", ("failed", ...), True),
        (503, ["odd"], ("failed", ...), True),
    ],
)
async def test_every_answer_is_an_envelope(
    environment: Environment, simulated: Any, status: int, answer: Any, shown: Any, failed: bool
) -> None:
    submission = prepare_submission(environment, ReviewRequest(diff=DIFF))
    api, _, _ = simulated(lambda _: (0, (status, answer, {})))
    envelope, failure = await send_submission(api, submission)
    assert (envelope["status"], failure) == (shown[0], failed)
    if shown[1] is ...:
        assert envelope["error"]
        assert "<" not in envelope["error"]
    else:
        assert envelope["error"] == shown[1]
    assert envelope["thread"]["slug"] == "local/diff-386ca074121a"
    if status == 413:
        assert "No job was created" in envelope["error"]


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [{}, {"job_id": ""}, {"job_id": 5}, "text", []])
async def test_an_accepted_job_without_an_id_is_an_error(
    environment: Environment, simulated: Any, answer: Any
) -> None:
    submission = prepare_submission(environment, ReviewRequest(diff=DIFF))
    api, _, _ = simulated(lambda _: (0, (202, answer, {})))
    with pytest.raises(CommandError) as error:
        await send_submission(api, submission)
    assert (error.value.code, error.value.exit_code) == (None, 1)


async def submitted(server: Any, service: Any, arguments: dict[str, Any], *then: dict[str, Any]) -> Any:
    post = {"match": {"method": "POST", "path": "/api/v1/reviews", "body": {"diff": DIFF, "thread": "local/diff-386ca074121a",
            "branch": "local", "base_label": "main", "head_label": "HEAD", "files": []}},
            "respond": {"status": 202, "body": {"job_id": "j/1", "status": "queued"}}, "times": 1}  # fmt: skip
    reads = [
        {"match": {"method": "GET", "path": "/api/v1/reviews/j%2F1"}, "respond": answer} for answer in then
    ]
    script = service.play(routes=[post, *reads])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("review_submit", {"diff": DIFF, **arguments})
    assert script.leftovers() == []
    return outcome


@pytest.mark.anyio
async def test_a_submission_that_waits_ends_with_what_it_saw_last(
    server: Any, service: Any, environment: Environment
) -> None:
    running = {"status": 200, "body": {"status": "in_progress", "router_mode": "max"}}
    outcome = await submitted(server, service, {"wait": True, "timeout_s": 9}, running)
    assert outcome.result["isError"] is False
    assert (outcome.structured["job_id"], outcome.structured["status"]) == ("j/1", "in_progress")
    assert outcome.structured["thread"]["slug"] == "local/diff-386ca074121a"
    assert outcome.structured["error"]


@pytest.mark.anyio
async def test_a_wait_that_fails_says_that_the_job_is_there(server: Any, service: Any) -> None:
    outcome = await submitted(server, service, {"wait": True}, {"status": 403, "body": {}})
    assert outcome.result["isError"] is True
    assert outcome.structured["error"]["code"] == "review_failed"
    assert "j/1" in outcome.structured["error"]["message"]


@pytest.mark.anyio
async def test_a_wait_that_is_rate_limited_is_no_failure(server: Any, service: Any) -> None:
    limited = {"status": 429, "body": {}, "headers": {"Retry-After": "99"}}
    outcome = await submitted(server, service, {"wait": True}, limited)
    assert outcome.result["isError"] is False
    assert (outcome.structured["job_id"], outcome.structured["status"]) == ("j/1", "rate_limited")
    assert outcome.structured["retry_after_seconds"] == 99


@pytest.mark.anyio
async def test_what_was_left_out_is_told(
    checkout: Any, server: Any, simulated: Any, service: Any, environment: Environment
) -> None:
    checkout.commit({"binary": b"a\0b"})
    body = body_of(environment)
    service.play([
        {
            "expect": {"method": "POST", "path": "/api/v1/reviews", "body": body},
            "respond": {"status": 202, "body": {"job_id": "j"}},
        }
    ])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("review_submit", {})
    assert len(outcome.result["content"][0]["text"].splitlines()) == 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    "arguments",
    [
        {"timeout_s": 0},
        {"timeout_s": 301},
        {"router": "x"},
        {"specialists": ["api"] * 6},
        {"webhook_url": "https://x"},
    ],
)
async def test_what_the_schema_refuses_is_invalid_input(
    server: Any, service: Any, arguments: dict[str, Any]
) -> None:
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("review_submit", {"diff": DIFF, **arguments})
    assert outcome.structured["error"]["code"] == "invalid_input"
    assert script.leftovers() == []

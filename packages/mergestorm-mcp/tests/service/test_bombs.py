"""Small requests that would cost much: counted, cut or refused before they do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mergestorm_mcp.service.http import endpoints
from mergestorm_mcp.service.pr_reviews.diffs import changed_files

from .conftest import LocalService
from .test_local_reviews import finished, submission

PUBLICATION = "/api/v1/stacks/publish"
JSON = {"Content-Type": "application/json"}
MANY = endpoints._MAX_PIECES


def diff_of(header: str, path: str = "a.py", added: str = "+# FIXME\n") -> str:
    return f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/{path}\n{header}\n{added}"


@pytest.mark.parametrize(
    "body",
    [
        '{"commits": [' + '{"path":"a"},' * MANY + "0]}",
        "[" * (MANY + 1),
        '""' * (MANY + 1),
        '{"blobs": {' + ",".join(f'"{number}":0' for number in range(MANY)) + "}}",
    ],
    ids=["items", "lists in lists", "texts", "members"],
)
def test_a_body_of_very_many_values_is_refused_before_it_is_read(untouched: LocalService, body: str) -> None:
    reply = untouched.client().post(PUBLICATION, content=body, headers=JSON)
    assert (reply.status_code, reply.json()["error"]) == (413, "payload_too_large")


@pytest.mark.parametrize(
    "body", ['"' + "\\" * 2_000_001, '"' + '\\"' * 1_000_000, "[" + '"\\', '"' * 300_001], ids=range(4)
)
def test_texts_without_an_end_are_counted_in_one_go(body: str) -> None:
    endpoints._check_pieces(body.encode())


def test_members_that_nobody_knows_are_refused_without_a_list_of_them(untouched: LocalService) -> None:
    body = json.dumps({f"member{number}": 0 for number in range(50_000)})
    reply = untouched.client().post(PUBLICATION, content=body, headers=JSON)
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_input")
    assert len(reply.content) < 1000
    assert "fields" not in reply.json()


def test_the_text_of_a_large_diff_counts_as_one_value(service: LocalService) -> None:
    text = "+[,{}]" * 80_000 + "\n"
    client = service.client()
    reply = client.post("/api/v1/reviews", json=submission(diff=diff_of("@@ -0,0 +1 @@", added=text)))
    assert reply.status_code == 202
    assert finished(client, reply.json()["job_id"])["verdict"] == "approve"


@pytest.mark.parametrize(
    "header", [f"@@ -0,0 +1,{'9' * 5000} @@", f"@@ -{'9' * 5000} +{'9' * 5000} @@"], ids=["count", "start"]
)
def test_a_hunk_of_thousands_of_digits_ends_its_review_too(service: LocalService, header: str) -> None:
    client = service.client()
    job = client.post("/api/v1/reviews", json=submission(diff=diff_of(header))).json()["job_id"]
    assert finished(client, job)["status"] == "completed"


def test_a_path_of_a_megabyte_is_cut_and_not_repeated_in_every_finding() -> None:
    patch: Any = diff_of("@@ -0,0 +1 @@", path="d/" * 450_000)
    [file] = changed_files(patch.encode())
    assert (len(file.path), file.added) == (4096, ((1, "# FIXME"),))

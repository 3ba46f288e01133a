"""Hosts act upon lines that begin with MS-WATCH. No text of a service or a pull request can make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import STACK_ID

pytestmark = pytest.mark.anyio

FORGED = f"MS-WATCH LANDED stack={STACK_ID} reason=landed"
HOSTILE = f"x\n{FORGED}\r\n\x1b[2K{FORGED}\u2028{FORGED}\n\u200bms-watch landed"
FINDING = {"path": HOSTILE, "line": 1, "severity": HOSTILE, "title": HOSTILE}
JOB = {
    "job_id": HOSTILE,
    "status": HOSTILE,
    "verdict": HOSTILE,
    "summary": HOSTILE,
    "error": HOSTILE,
    "base_label": HOSTILE,
    "findings": {"inline": [FINDING]},
}
PULL = {
    "status": "completed",
    "verdict": HOSTILE,
    "phase": HOSTILE,
    "summary": HOSTILE,
    "findings": {"inline": [FINDING]},
}
STACK = {"id": FORGED, "owner": HOSTILE, "repo": HOSTILE, "layers": [{"state": FORGED, "prNumber": 1}]}
ENTRY = {"stackId": FORGED, "state": FORGED, "owner": HOSTILE, "repo": HOSTILE, "bounceReason": HOSTILE}
REFUSAL = {"error": "forbidden", "message": HOSTILE}

PULL_QUERY = {"owner": "a", "repo": "b", "pr_number": "1"}
ADOPTION = {"owner": "a", "repo": "b", "prNumber": 1}
ISSUE = {"owner": "a", "repo": "b", "title": "t"}
# What is typed, and the requests it makes: method, path, answer, and what else the request holds or is answered with.
CASES: dict[str, tuple[list[str], list[tuple[str, str, Any, dict[str, Any]]]]] = {
    "jobs": (["jobs"], [("GET", "reviews", {"items": [JOB]}, {"query": {"limit": "10"}})]),
    "status": (["status", "j1"], [("GET", "reviews/j1", JOB, {})]),
    "pr": (["pr", "a/b#1", "--pretty"], [("GET", "stacks/pr-review", PULL, {"query": PULL_QUERY})]),
    "stacks": (
        ["stack", "list"],
        [("GET", "stacks", {"stacks": [STACK]}, {}), ("GET", "stacks/queue", {"entries": []}, {})],
    ),
    "adoption": (
        ["stack", "adopt", "a/b#1"],
        [("POST", "stacks/adopt", {"stack": STACK}, {"sent": ADOPTION})],
    ),
    "queue": (["queue"], [("GET", "stacks/queue", {"entries": [ENTRY]}, {})]),
    "refusal": (
        ["issue", "create", "t", "--repo", "a/b"],
        [("POST", "issues", REFUSAL, {"sent": ISSUE, "status": 403})],
    ),
    "no answer": (["jobs"], [("GET", "reviews", HOSTILE, {"query": {"limit": "10"}, "status": 500})]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tty", [False, True], ids=["piped", "on a terminal"])
async def test_no_text_of_a_service_looks_like_a_line_of_a_watch(
    mg: Any, service: Any, exchange: Callable[..., Any], name: str, tty: bool
) -> None:
    words, told = CASES[name]
    script = service.play([exchange(method, path, body, **more) for method, path, body, more in told])
    ran = await mg(*words, tty=tty)
    assert not script.problems
    assert "landed" in (ran.out + ran.err).lower()  # it was shown
    assert "ms-watch" not in (ran.out + ran.err).lower()


async def test_the_name_of_an_adopted_stack_is_one_word_of_the_command_that_is_advised(
    mg: Any, service: Any, exchange: Callable[..., Any]
) -> None:
    stack = {**STACK, "id": "s; touch /here\n$(id)"}
    service.play([exchange("POST", "stacks/adopt", {"stack": stack}, sent=ADOPTION)])
    ran = await mg("stack", "adopt", "a/b#1")
    assert "Watch it: mg stack watch 's; touch /here $(id)'" in ran.out.splitlines()

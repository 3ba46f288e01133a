"""What `review_dismiss` says about the service's answers beyond the recorded cases."""

from __future__ import annotations

from typing import Any

import pytest

from mcpkit.testing import connect_memory

pytestmark = pytest.mark.anyio

ARGUMENTS: dict[str, Any] = {
    "owner": "kestrel-labs",
    "repo": "tidepool",
    "pr_number": 64,
    "head_sha": "a" * 40,
    "review_id": 9001,
    "scope": "review",
    "reason": "the handle is closed by the caller, checked at this head",
}
STACK = "055b4896-3791-5897-bc9e-1ea93c330ec2"


async def dismissed(server: Any, service: Any, status: int, body: Any) -> Any:
    service.play([
        {
            "expect": {"method": "POST", "path": "/api/v1/stacks/pr-review/dismiss", "body": ARGUMENTS},
            "respond": {"status": status, "body": body},
        }
    ])
    async with connect_memory(server()) as client:
        await client.initialize()
        return (await client.call("review_dismiss", ARGUMENTS)).result


def result(**changes: Any) -> dict[str, Any]:
    return {
        "status": "dismissed",
        "dismissed": [],
        "already_dismissed": [],
        "remaining": [],
        "all_dismissed": True,
        "gate": {"seam": None, "vortex": None, "other_gates": "unchanged"},
        "stack_id": None,
        **changes,
    }


async def test_a_stack_s_pull_request_brings_the_next_wait(server: Any, service: Any) -> None:
    shown = await dismissed(server, service, 200, result(stack_id=STACK))
    watch = shown["structuredContent"]["watch"]
    assert (watch["done"], watch["reason"]) == (False, "unread")
    assert watch["next"]["args"] == {"stack_id": STACK, "timeout_s": 45}
    assert shown["content"][0]["text"].startswith(watch["message"])


@pytest.mark.parametrize(
    ("seam", "word"),
    [
        ({"state": "findings", "cleared": True, "blocking": False}, "cleared"),
        ({"state": "findings", "cleared": False, "blocking": True}, "still blocking (findings)"),
        ({"state": "approved", "cleared": False, "blocking": False}, "not blocking"),
    ],
)
async def test_the_seam_gate_is_told(server: Any, service: Any, seam: dict[str, Any], word: str) -> None:
    gate = {"seam": seam, "vortex": None, "other_gates": "unchanged"}
    shown = await dismissed(server, service, 200, result(gate=gate))
    assert f"Seam gate: {word}" in shown["content"][0]["text"]


@pytest.mark.parametrize(
    ("vortex", "line"),
    [
        ({"cleared": True}, "Vortex gate: cleared"),
        ({"cleared": False, "reason": "review_running", "message": "one runs"}, "Vortex gate: one runs"),
        ({"cleared": False, "reason": "review_findings_open", "message": "still open"}, None),
        (None, None),
    ],
)
async def test_the_vortex_gate_is_told_unless_open_findings_say_it(
    server: Any, service: Any, vortex: Any, line: str | None
) -> None:
    gate = {"seam": None, "vortex": vortex, "other_gates": "unchanged"}
    text = (await dismissed(server, service, 200, result(gate=gate)))["content"][0]["text"]
    assert (line in text) if line else ("Vortex gate" not in text)


@pytest.mark.parametrize("code", ["stale_head", "forbidden", "a_code_of_tomorrow"])
async def test_a_refusal_keeps_the_service_s_code_and_status(server: Any, service: Any, code: str) -> None:
    shown = await dismissed(server, service, 409, {"error": code, "message": "no"})
    assert shown["isError"] is True
    assert shown["structuredContent"] == {"error": {"code": code, "message": "no", "status": 409}}


@pytest.mark.parametrize("body", [{}, [], None, {"status": None}, {"$text": "gateway"}])
async def test_an_answer_that_is_no_result_is_a_failure(server: Any, service: Any, body: Any) -> None:
    shown = await dismissed(server, service, 200, body)
    assert shown["structuredContent"]["error"]["code"] == "review_failed"
    assert shown["structuredContent"]["error"]["exit_code"] == 4

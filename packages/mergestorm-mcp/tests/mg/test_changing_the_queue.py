"""`mg queue add` and `mg queue rm`: one write each, never repeated, and what the service's refusals become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
Exchange = Callable[..., dict[str, Any]]


def entry(state: str, entry_id: str = "entry-7") -> dict[str, Any]:
    return {"id": entry_id, "stackId": ID, "owner": "ada", "repo": "engine", "state": state, "position": 1}


@pytest.mark.parametrize("status", [200, 201])
async def test_a_stack_is_put_in_the_queue(mg: Any, service: Any, exchange: Exchange, status: int) -> None:
    answer = {"entry": entry("queued"), "duplicate": False}
    script = service.play([exchange("POST", f"stacks/{ID}/enqueue", answer, status=status, sent={})])
    ran = await mg("queue", "add", ID.upper(), "--json")
    assert (ran.code, ran.document) == (0, answer)
    assert script.leftovers() == []


@pytest.mark.parametrize(
    ("status", "body", "code", "exit_code"),
    [
        (404, {"error": "stack_not_found"}, "stack_not_found", 1),
        (409, {"error": "ci_failed", "message": "CI is red."}, "ci_failed", 1),
        (503, {"error": "github_unreadable"}, "github_unreadable", 1),
        (
            403,
            {"error": "cyclone_not_installed", "reason": "surge_not_installed"},
            "cyclone_not_installed",
            1,
        ),
        (429, {}, "rate_limited", 7),
        (500, {"error": "oops"}, None, 1),
    ],
)
async def test_a_stack_that_is_refused(
    mg: Any, service: Any, exchange: Exchange, status: int, body: Any, code: str | None, exit_code: int
) -> None:
    script = service.play([exchange("POST", f"stacks/{ID}/enqueue", body, status=status, sent={})])
    ran = await mg("queue", "add", ID, "--json")
    assert (ran.code, ran.document["error"].get("code")) == (exit_code, code)
    assert script.leftovers() == []


async def test_an_entry_is_taken_out_by_its_stack(mg: Any, service: Any, exchange: Exchange) -> None:
    listed = {"entries": [entry("bounced", "entry-6"), entry("waiting")]}
    script = service.play([
        exchange("GET", "stacks/queue", listed, query={"stackId": ID}),
        exchange("POST", "stacks/queue/entry-7/cancel", {"cancelRequested": True}, sent={}),
    ])
    ran = await mg("queue", "rm", ID, "--json")
    assert (ran.code, ran.document) == (0, {"entry_id": "entry-7", "cancelRequested": True})
    assert script.leftovers() == []


async def test_an_entry_is_taken_out_by_its_own_id(mg: Any, service: Any, exchange: Exchange) -> None:
    cancelled = {"cancelRequested": True}
    script = service.play([
        exchange("POST", "stacks/queue/entry-7/cancel", cancelled, sent={}),
        exchange("GET", "stacks/queue", {"entries": []}, query={"stackId": ID}),
        exchange("POST", f"stacks/queue/{ID}/cancel", {"error": "entry_not_found"}, status=404, sent={}),
    ])
    assert (await mg("queue", "rm", "entry-7")).code == 0
    missing = await mg("queue", "rm", ID, "--json")
    assert (missing.code, missing.document["error"]["code"]) == (1, "queue_entry_not_found")
    assert script.leftovers() == []


async def test_a_stack_that_bounced_is_not_in_the_queue(mg: Any, service: Any, exchange: Exchange) -> None:
    script = service.play([
        exchange("GET", "stacks/queue", {"entries": [entry("bounced")]}, query={"stackId": ID})
    ])
    ran = await mg("queue", "rm", ID, "--json")
    assert (ran.code, ran.document["error"]["code"]) == (1, "queue_entry_not_found")
    assert script.leftovers() == []


@pytest.mark.parametrize(
    "words", [("add",), ("rm",), ("add", "entry-7"), ("list", ID), ("add", ID, "--stack", ID)], ids=" ".join
)
async def test_what_to_add_or_remove_has_to_be_named(mg: Any, service: Any, words: tuple[str, ...]) -> None:
    script = service.play([])
    assert (await mg("queue", *words)).code == 2
    assert script.leftovers() == []

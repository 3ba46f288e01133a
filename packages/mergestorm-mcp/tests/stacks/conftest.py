"""Stacks as the service sends them, built in few words, and what is made of them.

A layer is clean, green and reviewed unless a test says otherwise; times are given as minutes ago.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment, stack_blockers
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.model import Stack, read_entries

STACK_ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
NOW = 1_790_000_000.0


def head_of(number: int) -> str:
    """A commit id that belongs to a pull request."""
    return f"{number:08x}" * 5


def ago(minutes: float = 0, now: float = NOW) -> str:
    return datetime.fromtimestamp(now - minutes * 60, UTC).isoformat().replace("+00:00", "Z")


def layer(number: int = 11, **fields: Any) -> dict[str, Any]:
    made = {
        "branch": f"b{number}",
        "parentBranch": "main",
        "prNumber": number,
        "position": number,
        "state": "clean",
        "ciStatus": "success",
        "reviewStatus": "approved",
        "checks": None,
        "vortexStatus": None,
        "cycloneStatus": None,
        "mergeable": True,
        "mergeableState": "clean",
        "headSha": head_of(number),
        "mergeableHeadSha": head_of(number),
    }
    return {**made, **fields}


def stack(*layers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = {
        "id": STACK_ID,
        "owner": "ada",
        "repo": "engine",
        "trunkBranch": "main",
        "landTarget": "main",
        "archivedAt": None,
        "layers": list(layers),
    }
    return {**made, **fields}


def unit(*members: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = {
        "id": "u",
        "uNumber": 5,
        "state": "growing",
        "branch": "mg-stack-5",
        "landTarget": "main",
        "members": list(members),
        "landPrNumber": None,
        "landingBlockReason": None,
        "landPr": None,
    }
    return {**made, **fields}


def member(number: int, state: str = "none", *, promoted: bool = False, **fields: Any) -> dict[str, Any]:
    made = {
        "prNumber": number,
        "branch": f"b{number}",
        "position": number,
        "seamState": state,
        "seamReviewedSha": None,
        "promotedHeadSha": head_of(number) if promoted else None,
    }
    return {**made, **fields}


def entry(state: str = "bounced", kind: str | None = None, **fields: Any) -> dict[str, Any]:
    """A queue entry; a bounce of a kind is about the head of layer 11, two minutes old."""
    made: dict[str, Any] = {
        "id": "e1",
        "stackId": STACK_ID,
        "owner": "ada",
        "repo": "engine",
        "state": state,
        "position": 0 if state == "bounced" else 1,
        "waitReason": None,
        "bounceReason": None,
        "bounceDetail": {"kind": kind, "headSha": head_of(11)} if kind is not None else None,
        "enqueuedAt": ago(9),
        "claimedAt": None,
        "finishedAt": ago(2) if state == "bounced" else None,
        "landedPrNumbers": [],
        "verifyHeadSha": None,
    }
    return {**made, **fields}


def review(status: str, number: int = 11, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    made = {"status": status, "skip_reason": reason, "pass": 1, "head_sha": head_of(number)}
    return {**made, **fields}


def run(
    agent: str, status: str, number: int = 11, started: float | None = None, **fields: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {"agent": agent, "status": status, "sha": head_of(number)}
    if started is not None:
        made["startedAt"] = ago(started)
    return {**made, **fields}


def restack_error(kind: str, detail: str = "", number: int = 11, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "detail": detail, "headSha": head_of(number), "attempts": 1, **fields}


def wait(reason: str, minutes: float = 0, number: int | None = 11, **fields: Any) -> dict[str, Any]:
    """What Auto land waits for, as fields of an armed stack."""
    made: dict[str, Any] = {
        "reason": reason,
        "prNumber": number,
        "headSha": None,
        "since": ago(minutes),
        "attempts": None,
    }
    return {"autoEnqueueWhenReady": True, "autoLandWait": {**made, "detail": None, **fields}}


def assessed(
    raw: dict[str, Any],
    entries: list[dict[str, Any]] | None = None,
    cursor: Cursor | None = None,
    now: float = NOW,
) -> Assessment:
    return stack_blockers(Stack.read(raw), read_entries(entries or [], raw.get("id")), cursor, now)


@pytest.fixture
def make() -> SimpleNamespace:
    """Builders of what the service sends."""
    return SimpleNamespace(
        id=STACK_ID,
        now=NOW,
        ago=ago,
        head=head_of,
        layer=layer,
        stack=stack,
        unit=unit,
        member=member,
        entry=entry,
        review=review,
        run=run,
        restack_error=restack_error,
        wait=wait,
    )


@pytest.fixture
def assess() -> Callable[..., Assessment]:
    """`assess(stack, entries, cursor, now)`: what holds it up."""
    return assessed


@pytest.fixture
def blocker(assess: Callable[..., Assessment]) -> Callable[..., tuple[str, str | None] | None]:
    """`blocker(stack, entries)`: label of the attention and kind of its repair; None where nothing needs attention."""

    def named(
        raw: dict[str, Any], entries: list[dict[str, Any]] | None = None
    ) -> tuple[str, str | None] | None:
        found = assess(raw, entries)
        if found.attention is None:
            return None
        return found.attention.blocker, found.repair["kind"] if found.repair is not None else None

    return named

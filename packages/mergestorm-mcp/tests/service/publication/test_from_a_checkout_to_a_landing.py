"""The whole way with the real tools: publish, see a finding, fix it, publish again, wait until it has landed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergestorm_mcp.service.agents.script import AgentScript
from mergestorm_mcp.service.agents.scripts import set_script

from .conftest import Tidepool

pytestmark = pytest.mark.anyio

_ROUNDS = 40


async def _followed(tool: Callable[..., Any], watch: dict[str, Any]) -> dict[str, Any]:
    """Call stack_wait as every result says until something needs attention or the watch is over."""
    for _ in range(_ROUNDS):
        assert watch["next"]["tool"] == "stack_wait"
        found: dict[str, Any] = await tool("stack_wait", **watch["next"]["args"])
        watch = found["watch"]
        if watch["done"] or found["status"] == "attention":
            return found
    raise AssertionError("nothing came of it")


async def test_a_published_branch_is_held_by_a_finding_and_lands_once_it_is_fixed(
    tool: Callable[..., Any], tidepool: Tidepool, checkout: Any
) -> None:
    with tidepool.world.store.write() as connection:
        set_script(connection, tidepool.repository.id, AgentScript())
    checkout.commit({"moon.py": b"phase = eval(text)\n"}, "Tell the phase of the moon")
    published = await tool("stack_publish")
    assert published["state"] == "registered"
    assert published["stack"] == {**published["stack"], "auto_land": True, "auto_patch": False}

    held = await _followed(tool, published["watch"])
    assert (held["status"], held["blocker"]) == ("attention", "Vortex findings need a person")
    assert held["repair"]["kind"] == "vortex_findings"
    number = published["pull"]["number"]
    where = {"owner": "kestrel-labs", "repo": "tidepool", "pr_number": number}
    review = await tool("review_wait_pr", **where, after_sha=published["head"]["sha"])
    assert [(item["path"], item["line"]) for item in review["findings"]["inline"]] == [("moon.py", 1)]
    preview = await tool(
        "review_dismiss",
        **where,
        head_sha=published["head"]["sha"],
        review_id=int(review["id"]),
        preview=True,
    )
    assert len(preview["remaining"]) == 1

    checkout.commit({"moon.py": b"phase = int(text)\n"}, "Read the phase as a number")
    again = await tool("stack_publish")
    assert (again["resumed"], again["stack"]["id"]) == (True, published["stack"]["id"])
    landed = await _followed(tool, again["watch"])
    assert landed["watch"]["reason"] == "landed"
    main = tidepool.git.head("main")
    assert main is not None
    assert tidepool.git.file(main, "moon.py") == b"phase = int(text)\n"
    queue = await tool("stack_publish_status")
    assert queue["head"]["sha"] == again["head"]["sha"]

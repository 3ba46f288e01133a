"""The script that writes the examples of the tools' page: every tool is called for real, and two runs write the same."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copy
from types import ModuleType
from typing import Any

import anyio
import pytest

from mergestorm_mcp.server import TOOL_ORDER

PAGE = Path(__file__).parents[4] / "docs" / "mergestorm" / "tools.md"
KEY = "msk_live_canary_0123456789abcdef"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy"),
]


def bodies(published: dict[str, Any]) -> dict[str, Any]:
    """Answers of a service whose ids and times are others each time."""
    stack_id, now = str(uuid.uuid4()), datetime.now(UTC).isoformat()
    head = published.get("head_sha", "a" * 40)
    pull = {"owner": "kestrel-labs", "repo": "tidepool", "pr_number": 7}
    layer = {
        "branch": "tide-table",
        "prNumber": 7,
        "state": "clean",
        "position": 0,
        "headSha": head,
        "openedAt": now,
    }
    stack = {
        "id": stack_id,
        "owner": "kestrel-labs",
        "repo": "tidepool",
        "layers": [layer] * 5,
        "archivedAt": None,
    }
    state = {
        "state": "registered", "owner": "kestrel-labs", "repo": "tidepool", "branch": "tide-table", "base": "main",
        "head": {"sha": head, "tree": published.get("tree_sha", "b" * 40)}, "commits": [], "resumed": False,
        "created": {"branch": True, "pull": True, "stack": True},
        "pull": {"number": 7, "url": "https://github.com/kestrel-labs/tidepool/pull/7", "draft": False},
        "stack": {"id": stack_id, "auto_patch": False, "auto_land": True, "auto_review": None},
    }  # fmt: skip
    return {
        "GET me": {"key": {"prefix": "msk_live_can", "name": None}, "plan_key": "team", "usage": {"standard": {"used": 1}}},
        "GET settings": {"auto_patch_enabled": True},
        "PATCH settings": {"auto_patch_enabled": True, "auto_land_settle_seconds": 30},
        "GET repo-settings": {"repositories": []},
        "PATCH repo-settings": {"auto_review_enabled": True},
        "POST issues": {"created": True, "number": 5, "url": None},
        "GET reviews": {"items": []},
        "POST reviews": {"job_id": stack_id, "status": "queued", "created_at": now},
        f"GET reviews/{stack_id}": {"job_id": stack_id, "status": "completed", "summary": "x" * 1000, "created_at": now},
        "POST stacks/publish": state,
        "GET stacks/publish": state,
        "GET stacks": {"stacks": [stack]},
        "GET stacks/enrich": {"stacks": [stack]},
        "GET stacks/queue": {"entries": []},
        f"PATCH stacks/{stack_id}": {"id": stack_id},
        "GET stacks/pr-review": {**pull, "id": 3, "status": "completed", "head_sha": head, "pass": 1, "finding_count": 0},
        "POST stacks/pr-review/dismiss": {"status": "preview", **pull, "remaining": [], "gate": {"seam": None}},
        "POST stacks/adopt": {"stack": {"id": stack_id}, "chain": []},
    }  # fmt: skip


@pytest.mark.slow
async def test_every_tool_is_called_and_two_runs_write_the_same_page(
    raw_service: Any,
    answer: Callable[..., bytes],
    make_checkout: Callable[..., Any],
    tmp_path: Path,
    examples: ModuleType,
) -> None:
    origin = make_checkout(tmp_path / "origin")
    origin.commit({"README.md": b"# Tidepool\n"}, "first")

    async def write(page: Path) -> None:
        told: dict[str, Any] = {}
        made = bodies({})

        async def handler(stream: Any, number: int) -> None:
            nonlocal made
            method, target, _ = service.requests[number - 1].split(" ", 2)
            name = f"{method} {target.partition('?')[0].removeprefix('/api/v1/')}"
            if name == "POST stacks/publish":
                told.update(json.loads(service.bodies[number - 1]))
                made = bodies(told)
            await stream.send(answer(200, json.dumps(made[name]).encode()))

        async with raw_service(handler) as service:
            words = ["--url", service.base, "--key", KEY, "--repository", "kestrel-labs/tidepool"]
            words += ["--origin", str(origin.path)]
            assert await anyio.to_thread.run_sync(examples.main, words, page) == 0

    pages = [tmp_path / "one.md", tmp_path / "two.md"]
    for page in pages:
        copy(PAGE, page)
        await write(page)
    text, again = (page.read_text(encoding="utf-8") for page in pages)
    assert text == again
    for tool in TOOL_ORDER:
        (section,) = re.findall(rf"<!-- example {tool} -->\n(.*?)<!-- /example -->", text, re.DOTALL)
        request, reply = (
            json.loads(block) for block in re.findall(r"```json title=.*?\n(.*?)\n```", section, re.DOTALL)
        )
        assert request["name"] == tool
        assert "error" not in reply or reply["error"] is None, tool
    assert KEY not in text
    assert str(tmp_path) not in text
    assert '"/checkout"' in text
    assert "… 2 more" in text


def test_what_differs_is_named_alike_wherever_it_stands(examples: ModuleType) -> None:
    steady = examples.Steady({"/place/of/today": "/checkout"})
    first, second = "1" * 40, "2" * 40
    assert steady({"a": [f"{second} at /place/of/today/x"], "b": f"{first} and {second}"}) == {
        "a": [f"{'1' * 40} at /checkout/x"],
        "b": f"{'2' * 40} and {'1' * 40}",
    }
    assert steady("2031-01-02T03:04:05.678Z") == "2026-05-01T08:00:01Z"
    assert steady("http://127.0.0.1:49152/x") == "http://127.0.0.1:8080/x"


def test_a_page_without_a_place_is_not_written(examples: ModuleType) -> None:
    with pytest.raises(ValueError, match="no place"):
        examples.rewritten("# Tools\n", "example", {"whoami": "x"})


def test_examples_need_a_service(examples: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")
    with pytest.raises(SystemExit) as refused:
        examples.main(["--url", "http://127.0.0.1:1"], page)
    assert refused.value.code == 2
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")

"""What a person reads who has only a terminal: failures in one form, flags instead of arguments, ids that can be copied."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mergestorm_mcp
from mergestorm_mcp.mg import words
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio
ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
PULL = {"owner": "ada", "repo": "engine", "pr_number": "64"}
Exchange = Callable[..., dict[str, Any]]
SOURCE = Path(mergestorm_mcp.__file__).parent


@pytest.mark.parametrize(
    "command", ["whoami", "jobs", "status", "stack list", "settings", "stack watch " + ID]
)
async def test_every_command_ends_a_failure_with_its_code_in_brackets(
    mg: Any, runtime: Runtime, command: str
) -> None:
    runtime.environment = replace(runtime.environment, variables={})
    ran = await mg(*command.split())
    assert ran.out == ""
    assert re.fullmatch(r"mg: [^\[\n]+ \[missing_api_key\]\n", ran.err)


async def test_in_a_home_directory_it_is_the_checkout_that_is_missing(
    mg: Any, runtime: Runtime, service: Any
) -> None:
    service.play([])
    runtime.environment = replace(runtime.environment, working_directory=runtime.environment.home)
    for command in (("review",), ("stack", "publish"), ("stack", "publish-status"), ("issue", "create", "x")):
        ran = await mg(*command, "--json")
        assert (ran.code, ran.document["error"]["code"]) == (2, "not_a_repo"), command


async def test_a_repository_that_has_to_be_named_is_asked_for_by_its_flag(
    mg: Any, checkout: Any, service: Any
) -> None:
    service.play([])
    checkout.git("remote", "set-url", "origin", "/srv/tidepool.git")
    checkout.commit({"a": b"1\n"})
    ran = await mg("stack", "publish")
    assert ran.code == 2
    assert "--repo" in ran.err


def test_every_phrase_that_is_told_otherwise_is_one_the_tools_use() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.parent != SOURCE / "mg"
    )
    assert [phrase for phrase in words._PHRASES if phrase not in sources] == []


async def test_ids_are_whole_on_a_narrow_terminal(
    mg: Any, service: Any, exchange: Exchange, red_stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    job = {"job_id": ID, "status": "completed", "verdict": "request_changes", "base_label": "main",
           "head_label": "HEAD", "created_at": "2026-12-01T04:40:44.258Z"}  # fmt: skip
    service.play([
        exchange("GET", "reviews", {"items": [job]}, query={"limit": "10"}),
        exchange("GET", "stacks", {"stacks": [{**red_stack, "repo": "a-repository-of-many-words"}]}),
        exchange("GET", "stacks/queue", {"entries": []}),
    ])
    for command in (("jobs",), ("stack", "list")):
        shown = (await mg(*command, tty=True)).out
        assert ID in shown
        assert any(word in shown for word in ("request_changes", "ada/a-repository-of-many-words"))


async def test_in_a_table_that_is_far_too_wide_everything_but_the_id_is_folded(
    mg: Any, service: Any, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    job = {"job_id": ID, "status": "completed", "base_label": "b" * 150}
    service.play([exchange("GET", "reviews", {"items": [job]}, query={"limit": "10"})])
    shown = (await mg("jobs", tty=True)).out
    assert ID in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("b") >= 150


async def test_a_stack_with_nothing_open_is_listed_as_what_became_of_it(
    mg: Any, service: Any, exchange: Exchange, red_stack: dict[str, Any]
) -> None:
    merged = {**red_stack["layers"][0], "state": "merged", "mergedAt": "2026-12-01T04:36:31.329Z"}
    service.play([
        exchange("GET", "stacks", {"stacks": [{**red_stack, "layers": [merged]}]}),
        exchange("GET", "stacks/queue", {"entries": []}),
    ])
    assert (await mg("stack", "list")).out.splitlines()[1].split("\t")[3] == "merged"


async def test_a_review_shows_the_ids_that_a_dismissal_takes(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    finding = {"id": "2100000001", "path": "a.py", "line": 2, "severity": "error", "title": "Wrong"}
    review = {"id": "7", "status": "completed", "head_sha": "a" * 40, "findings": {"inline": [finding]}}
    service.play([exchange("GET", "stacks/pr-review", review, query=PULL)])
    first, second = (await mg("pr", "ada/engine#64", "--pretty")).out.splitlines()
    assert first.endswith(" · review 7")
    assert second.endswith("[2100000001]")


async def test_findings_that_need_a_person_are_followed_by_the_command_that_shows_them(
    mg: Any, service: Any, exchange: Exchange, green_stack: dict[str, Any]
) -> None:
    layer = {**green_stack["layers"][0], "reviewStatus": "changes_requested", "vortexStatus": "findings"}
    stack = {**green_stack, "layers": [layer], "cyclonePatchOff": "account_auto_patch_off"}
    script = service.play(routes=[])

    def told(request: dict[str, Any]) -> Any:
        body = {"entries": []} if request["path"].endswith("/queue") else {"stacks": [stack]}
        return {"status": 200, "body": body, "headers": {}}

    script.answer = told
    ran = await mg("stack", "status", stack["id"])
    assert ran.code == 0
    assert "mg pr ada/engine#11" in ran.out
    assert "review_dismiss" not in ran.out


async def test_the_person_at_a_terminal_is_told_what_to_do_about_attention(
    mg: Any, service: Any, exchange: Exchange, red_stack: dict[str, Any]
) -> None:
    service.play(routes=[
        {"match": exchange("GET", "stacks")["expect"], "respond": {"status": 200, "body": {"stacks": [red_stack]}}},
        {"match": exchange("GET", "stacks/queue")["expect"], "respond": {"status": 200, "body": {"entries": []}}},
    ])  # fmt: skip
    at_a_terminal, in_the_background = (
        await mg("stack", "watch", ID, tty=True),
        await mg("stack", "watch", ID),
    )
    assert at_a_terminal.code == in_the_background.code == 3
    assert f"mg stack status {ID}" in at_a_terminal.err
    assert in_the_background.err == ""

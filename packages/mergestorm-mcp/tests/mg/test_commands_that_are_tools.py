"""Commands that run a tool of the server: what they send, the document they print, the view for people, the exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
HEAD = "f949f133ee44f52d4a451b455b5bb8fe8d21d63a"
KEY = {"prefix": "msk_live_can", "name": "laptop", "created_at": "2026-01-01T00:00:00Z", "last_used_at": None}
ME = {
    "key": KEY,
    "plan_key": "pro",
    "resets_at": "2026-12-01T00:00:00Z",
    "usage": {"standard": {"used": 3, "limit": 10, "remaining": 7}},
}
Exchange = Callable[..., dict[str, Any]]


def plant(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def test_whoami_and_credits_show_the_account(mg: Any, service: Any, exchange: Exchange) -> None:
    service.play([exchange("GET", "me", ME), exchange("GET", "me", ME), exchange("GET", "me", ME)])
    assert (await mg("whoami", "--json")).document["key_prefix"] == "msk_live_can"
    assert "key_name\tlaptop" in (await mg("whoami")).out.splitlines()
    assert "7 remaining" in (await mg("credits")).out


async def test_jobs_are_a_table(mg: Any, service: Any, exchange: Exchange) -> None:
    job = {
        "job_id": "j1",
        "status": "completed",
        "verdict": "approve",
        "base_label": "main",
        "head_label": "topic",
    }
    service.play([exchange("GET", "reviews", {"items": [job]}, query={"limit": "5"})] * 2)
    assert (await mg("jobs", "5", "--json")).document["items"][0]["job_id"] == "j1"
    assert (await mg("jobs", "5")).out.splitlines() == [
        "job\tstatus\tverdict\tbase\thead\tcreated",
        "j1\tcompleted\tapprove\tmain\ttopic\t-",
    ]


async def test_a_terminal_gets_a_drawn_table_and_colour_unless_it_is_off(
    mg: Any, service: Any, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    job = {"job_id": "j1", "status": "completed", "verdict": "approve"}
    service.play(routes=[{"match": exchange("GET", "reviews", query={"limit": "10"})["expect"],
                          "respond": {"status": 200, "body": {"items": [job]}}}])  # fmt: skip
    plain, coloured = await mg("jobs", tty=True), await mg("jobs", tty=True, colour=True)
    assert "\t" not in plain.out
    assert "\x1b[" not in plain.out
    assert "\x1b[32m" in coloured.out


async def test_what_a_service_says_never_reaches_the_terminal_raw(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2Jmain\r\n\x9b31m\u202e\x7f\ttab"
    job = {"job_id": "j1", "status": "completed", "base_label": nasty, "head_label": nasty}
    route = {
        "match": exchange("GET", "reviews", query={"limit": "10"})["expect"],
        "respond": {"status": 200, "body": {"items": [job]}},
    }
    service.play(routes=[route])
    for ran in (await mg("jobs"), await mg("jobs", tty=True), await mg("jobs", "--json")):
        assert not set("\x1b\x07\r\x9b\u202e\x7f") & set(ran.out + ran.err)
    assert len((await mg("jobs")).out.splitlines()) == 2
    assert (await mg("jobs", "--json")).document["items"][0]["base_label"] == nasty


async def test_settings_are_shown_and_only_named_ones_are_changed(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    stored = {"auto_patch_enabled": False, "auto_land_settle_seconds": 60, "cyclone_connected": True}
    sent = {"auto_patch_enabled": False, "auto_land_settle_seconds": 60}
    script = service.play([
        exchange("GET", "settings", stored),
        exchange("PATCH", "settings", stored, sent=sent),
    ])
    assert (await mg("settings")).out.splitlines()[1] == "auto_patch_enabled\toff"
    changed = await mg("settings", "--auto-patch", "off", "--auto-land-settle", "60", "--json")
    assert (changed.code, changed.document) == (0, stored)
    assert script.leftovers() == []


async def test_ignored_bots_are_edited_in_place(mg: Any, service: Any, exchange: Exchange) -> None:
    def told(*logins: str) -> dict[str, Any]:
        return {"ignored_bot_logins": list(logins)}

    script = service.play([
        exchange("GET", "settings", told("a[bot]", "b[bot]")),
        exchange("PATCH", "settings", told("b[bot]", "c[bot]"), sent=told("b[bot]", "c[bot]")),
        exchange("PATCH", "settings", told("d[bot]"), sent=told("d[bot]")),
    ])
    await mg("settings", "--ignore-bot", "remove", "A[bot]", "--ignore-bot", "add", "c[bot]")
    ran = await mg("settings", "--ignore-bot", "clear", "--ignore-bot", "add", "d[bot]", "--json")
    assert ran.document == told("d[bot]")
    assert script.leftovers() == []
    assert (await mg("settings", "--ignore-bot", "toggle", "x")).code == 2


async def test_ignored_bots_that_cannot_be_read_are_not_overwritten(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    script = service.play([exchange("GET", "settings", status=503)])
    assert (await mg("settings", "--ignore-bot", "add", "c[bot]")).code == 1
    assert script.leftovers() == []


async def test_a_repository_s_setting_is_cleared_with_default(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    sent = {
        "owner": "ada",
        "repo": "engine",
        "auto_land_default": None,
        "auto_patch_enabled": True,
        "merge_queue_lands_alone_paths": ["db/"],
    }
    listed = {"repositories": [{"owner": "ada", "repo": "engine", "auto_patch_enabled": None}]}
    script = service.play([
        exchange("PATCH", "repo-settings", sent, sent=sent),
        exchange("GET", "repo-settings", listed),
        exchange("GET", "repo-settings", listed, query={"owner": "ada", "repo": "engine"}),
    ])
    words = ("--auto-land", "default", "--auto-patch", "on", "--lands-alone", "db/")
    assert (await mg("repo-settings", "ada/engine", *words)).code == 0
    assert (await mg("repo-settings", "--json")).document == listed
    assert "auto_patch_enabled\t-" in (await mg("repo-settings", "ada/engine")).out
    assert script.leftovers() == []
    assert (await mg("repo-settings", "--auto-patch", "on")).code == 2


async def test_findings_are_dismissed_and_a_refusal_is_exit_4(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    place = {"owner": "ada", "repo": "engine", "pr_number": 64, "head_sha": HEAD, "review_id": 9}
    reason = "checked on the live head, the handle is closed in the caller"
    done = {
        **place,
        "status": "dismissed",
        "dismissed": [],
        "already_dismissed": [],
        "remaining": [],
        "stack_id": None,
    }
    sent = {**place, "finding_ids": ["700", "offdiff-2", "701"], "scope": "findings", "reason": reason}
    stale = {"error": "stale_head", "message": "moved"}
    script = service.play([
        exchange("POST", "stacks/pr-review/dismiss", done, sent=sent),
        exchange("POST", "stacks/pr-review/dismiss", stale, status=409, sent={**place, "preview": True}),
    ])
    words = ("dismiss", "ada/engine#64", "--head", HEAD, "--review", "9")
    chosen = ("--finding", "700,offdiff-2", "--finding", "701", "--reason", reason)
    assert (await mg(*words, *chosen, "--json")).document["status"] == "dismissed"
    refused = await mg(*words, "--preview", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (4, "stale_head")
    assert script.leftovers() == []
    assert (await mg(*words, "--reason", reason)).code == 2


async def test_an_issue_is_opened_with_a_body_from_the_input(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    sent = {"owner": "ada", "repo": "engine", "title": "Slow", "body": "It is.\n", "labels": ["bug"]}
    script = service.play([exchange("POST", "issues", {"number": 5, "created": True}, status=201, sent=sent)])
    words = ("--repo", "ada/engine", "--body", "-", "--label", "bug", "--json")
    ran = await mg("issue", "create", "Slow", *words, given="It is.\n")
    assert (ran.code, ran.document["number"]) == (0, 5)
    assert script.leftovers() == []


async def test_an_issue_goes_to_origin_from_a_folder_below_the_top(
    mg: Any, checkout: Any, service: Any, exchange: Exchange, runtime: Any
) -> None:
    checkout.commit({"deep/er/a": b"1\n"})
    runtime.environment = replace(runtime.environment, working_directory=str(checkout.path / "deep" / "er"))
    sent = {"owner": "kestrel-labs", "repo": "tidepool", "title": "Slow"}
    script = service.play([exchange("POST", "issues", {"number": 5, "created": False}, sent=sent)])
    assert (await mg("issue", "create", "Slow", "--json")).document["created"] is False
    assert script.leftovers() == []


async def test_the_queue_is_a_table(mg: Any, service: Any, exchange: Exchange) -> None:
    entry = {"id": "e", "stackId": ID, "owner": "ada", "repo": "engine", "state": "queued", "position": 1}
    script = service.play([
        exchange("GET", "stacks/queue", {"entries": [entry]}),
        exchange("GET", "stacks/queue", {"entries": []}, query={"stackId": ID}),
    ])
    assert (await mg("queue")).out.splitlines()[1] == f"queued\tada/engine\t{ID}\t-\t-"
    missing = await mg("queue", "--stack", ID, "--json")
    assert (missing.code, missing.document["error"]["code"]) == (1, "queue_entry_not_found")
    assert script.leftovers() == []


async def test_stacks_are_listed(
    mg: Any, service: Any, exchange: Exchange, red_stack: dict[str, Any]
) -> None:
    service.play([
        exchange("GET", "stacks", {"stacks": [red_stack]}),
        exchange("GET", "stacks/queue", {"entries": []}),
    ])
    assert (await mg("stack", "list")).out.splitlines()[1] == f"{ID}\tada/engine\t1\tclean\toff"


async def test_the_status_of_a_stack_shows_what_blocks_it_and_its_layers(
    mg: Any, service: Any, exchange: Exchange, red_stack: dict[str, Any]
) -> None:
    service.play([
        exchange("GET", "stacks/enrich", {"stacks": [red_stack]}, query={"stackId": ID}),
        exchange("GET", "stacks/queue", {"entries": []}, query={"stackId": ID}),
        exchange("GET", "stacks/enrich", {"stacks": []}, query={"stackId": ID}),
    ])
    shown = await mg("stack", "status", ID)
    assert shown.code == 0
    assert "#11\tb11\tclean\tfailure\tapproved" in shown.out.splitlines()
    assert "ci_failure" in shown.out
    missing = await mg("stack", "status", ID, "--json")
    assert (missing.code, missing.document["error"]["code"]) == (1, "stack_not_found")


async def test_a_stack_is_adopted_and_its_policy_changed(mg: Any, service: Any, exchange: Exchange) -> None:
    adopted = {"owner": "ada", "repo": "engine", "prNumber": 11, "autoEnqueueWhenReady": True}
    policy = {"autoEnqueueWhenReady": False, "autoPatchOverride": None}
    script = service.play([
        exchange("POST", "stacks/adopt", {"stack": {"id": ID}}, sent=adopted),
        exchange("PATCH", f"stacks/{ID}", {"ok": True}, sent=policy),
        exchange("PATCH", f"stacks/{ID}", {"error": "busy"}, status=429, sent=policy),
    ])
    ran = await mg("stack", "adopt", "ada/engine", "11", "--auto-land", "on")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == f"Watch it: mg stack watch {ID}"
    words = ("stack", "set", ID, "--auto-land", "off", "--auto-patch", "default", "--json")
    assert (await mg(*words)).document["auto_patch"] is None
    assert (await mg(*words)).code == 7
    assert script.leftovers() == []
    assert (await mg("stack", "set", ID)).code == 2


async def test_a_publication_is_read_from_a_linked_worktree(
    mg: Any, checkout: Any, folders: dict[str, str], service: Any, exchange: Exchange, runtime: Any
) -> None:
    tip = checkout.commit({"a": b"1\n"})
    place = f"{folders['outside']}/linked"
    checkout.git("worktree", "add", "--quiet", "-b", "other", place)
    runtime.environment = replace(runtime.environment, working_directory=place)
    asked = {"owner": "kestrel-labs", "repo": "tidepool", "branch": "other"}
    answer = {**asked, "state": "pushed", "head": {"sha": tip, "tree": "e" * 40}, "pull": None, "stack": None}
    script = service.play([exchange("GET", "stacks/publish", answer, query=asked)])
    ran = await mg("stack", "publish-status", "--json")
    assert (ran.code, ran.document.get("in_sync")) == (0, True)
    assert script.leftovers() == []


async def test_a_publication_that_cannot_be_made_is_refused_before_anything_is_sent(
    mg: Any, checkout: Any, service: Any
) -> None:
    script = service.play([])
    ran = await mg("stack", "publish", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (2, "no_commits")
    assert script.leftovers() == []


async def test_a_git_file_that_points_at_a_foreign_repository_is_not_followed(
    mg: Any, make_checkout: Any, folders: dict[str, str], service: Any
) -> None:
    make_checkout(folders["outside"]).commit({"secret": b"1\n"})
    plant(Path(folders["work"], ".git"), f"gitdir: {folders['outside']}/.git\n")
    service.play([])
    ran = await mg("stack", "publish-status", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (2, "outside_sandbox")


async def test_several_repositories_are_a_table(mg: Any, service: Any, exchange: Exchange) -> None:
    first = {"owner": "ada", "repo": "engine", "auto_review_enabled": True, "auto_patch_enabled": None}
    second = {"owner": "ada", "repo": "loom", "auto_review_enabled": None, "auto_land_default": False}
    service.play([
        exchange("GET", "repo-settings", {"repositories": [first, second]}),
        exchange("GET", "repo-settings", {"repositories": []}),
    ])
    assert (await mg("repo-settings")).out.splitlines()[1:] == [
        "ada/engine\ton\taccount\taccount",
        "ada/loom\taccount\taccount\toff",
    ]
    assert (await mg("repo-settings")).code == 0


async def test_paths_that_land_alone_are_cleared_with_default(
    mg: Any, service: Any, exchange: Exchange
) -> None:
    sent = {"owner": "ada", "repo": "engine", "merge_queue_lands_alone_paths": None}
    script = service.play([exchange("PATCH", "repo-settings", sent, sent=sent)])
    assert (await mg("repo-settings", "ada/engine", "--lands-alone", "default")).code == 0
    assert script.leftovers() == []
    mixed = ("--lands-alone", "default", "--lands-alone", "db/")
    assert (await mg("repo-settings", "ada/engine", *mixed)).code == 2


async def test_empty_lists_are_told_in_words(mg: Any, service: Any, exchange: Exchange) -> None:
    empty: list[tuple[str, dict[str, str], dict[str, Any]]] = [
        ("reviews", {"limit": "10"}, {"items": []}),
        ("stacks", {}, {"stacks": []}),
        ("stacks/queue", {}, {"entries": []}),
    ]
    service.play(
        routes=[
            {"match": exchange("GET", path, query=query)["expect"], "respond": {"status": 200, "body": body}}
            for path, query, body in empty
        ]
    )
    for words in (("jobs",), ("stack", "list"), ("queue",)):
        ran = await mg(*words)
        assert ran.code == 0
        assert len(ran.out.splitlines()) == 1
        assert ran.out.startswith("No ")


@pytest.mark.parametrize(
    "words", [("ada/engine",), ("ada/engine#0",), ("engine#1",), ("ada/engine", "1", "2")]
)
async def test_a_pull_request_that_is_not_named_as_one_is_refused(
    mg: Any, service: Any, words: tuple[str, ...]
) -> None:
    script = service.play([])
    assert (await mg("stack", "adopt", *words)).code == 2
    assert (await mg("pr", *words)).code == 2
    assert script.leftovers() == []

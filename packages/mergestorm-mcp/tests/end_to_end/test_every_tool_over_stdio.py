"""All twenty tools as an agent's host runs them: a server over stdio, a service in a process, a checkout in real git.

The first test is one working day: a branch is published, reviewed, mended, watched and landed, and every other tool is
used on the way. The second has every tool refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Hire, Serve
from .processes import OWNER, PATIENCE, REPO, Agent, Service, clone, environment, followed, mg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # many steps, on a busy machine seconds each

SCENARIO = """\
title: A working day
accounts:
  - {login: rivka, credits_limit: null}
  - {login: sam}
repositories:
  - name: kestrel-labs/tidepool
    people: {rivka: admin, sam: read}
    labels: [bug]
    commits:
      - branch: main
        message: Tide tables
        files: {README.md: "# Tidepool\\n"}
      - branch: ebb
        message: Describe the ebb
        files: {ebb.md: "The water goes.\\n"}
      - branch: flood
        message: Describe the flood
        files: {flood.md: "The water comes.\\n"}
    pulls:
      - {head: ebb, title: Describe the ebb, author: rivka}
      - {head: flood, title: Describe the flood, author: rivka}
    stacks:
      - {account: rivka, head: flood, auto_land: false}
    agents:
      queue: {settle_seconds: 15}
  - name: kestrel-labs/harbour
    people: {rivka: write}
    surge: absent
    commits:
      - {branch: main, message: First, files: {README.md: "# Harbour\\n"}}
      - {branch: quay, message: Quay, files: {quay.md: "A quay.\\n"}}
    pulls:
      - {head: quay, title: Quay, author: rivka}
"""
AT = {"owner": OWNER, "repo": REPO}
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def service(serve: Serve, ground: Path) -> Service:
    file = ground / "day.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    return serve(str(file), speed=100)


@pytest.fixture(scope="module")
def agent(hire: Hire, service: Service) -> Agent:
    return hire(**service.variables())


def test_a_working_day_uses_every_tool_and_ends_with_a_landing(
    agent: Agent, service: Service, ground: Path
) -> None:
    assert agent.does("whoami")["key_prefix"] == service.key[:12]
    assert agent.does("credits")["usage"]["standard"]["used"] >= 0
    assert agent.does("settings_set", auto_land_settle_seconds=15)["auto_land_settle_seconds"] == 15
    assert agent.does("settings_get")["auto_land_settle_seconds"] == 15
    assert agent.does("repo_settings_set", **AT, auto_review=True)["auto_review_enabled"] is True
    [stored] = agent.does("repo_settings_get", **AT)["repositories"]
    assert stored["auto_review_enabled"] is True
    issue = agent.does("issue_create", title="Tell the phase of the moon", labels=["bug"], **AT)
    assert issue["created"] is True

    checkout = clone(service, ground / "day")
    checkout.git("checkout", "--quiet", "-b", "moon")
    message = f"Tell the phase of the moon\n\nFixes #{issue['number']}"
    checkout.commit({"moon.py": b"phase = eval(text)\n"}, message)
    here = {"cwd": str(checkout.path)}
    job = agent.does("review_submit", **here, idempotency_key="moon-1")
    assert agent.does("review_submit", **here, idempotency_key="moon-1")["job_id"] == job["job_id"]
    reviewed = agent.does("review_wait", job_id=job["job_id"], timeout_s=60)
    assert (reviewed["status"], reviewed["verdict"]) == ("completed", "request_changes")
    assert [item["job_id"] for item in agent.does("review_list")["items"]] == [job["job_id"]]

    published = agent.does("stack_publish", **here)
    assert (published["state"], published["resumed"]) == ("registered", False)
    assert published["head"] == {
        "sha": checkout.git("rev-parse", "HEAD"),
        "tree": checkout.git("rev-parse", "HEAD^{tree}"),
        "verified": True,
    }
    assert published["watch"]["next"]["tool"] == "stack_wait"
    stack, number = published["stack"]["id"], published["pull"]["number"]
    _held_by_a_finding(agent, published, number, stack)
    checkout.commit({"moon.py": b"phase = int(text)\n"}, "Read the phase as a number")
    again = agent.does("stack_publish", **here)
    assert (again["resumed"], again["pull"]["number"], again["stack"]["id"]) == (True, number, stack)
    variables = environment(ground / "watcher", **service.variables())
    watcher = mg(variables, ground, "stack", "watch", stack)
    try:
        landed = followed(agent, again["watch"])
        assert (landed["watch"]["done"], landed["watch"]["reason"]) == (True, "landed")
        output, errors = watcher.communicate(timeout=PATIENCE)
    finally:
        watcher.kill()
    assert watcher.returncode == 0, output + errors
    assert output.splitlines()[0] == f"MS-WATCH LANDED stack={stack} reason=landed"
    bare = service.repositories[f"{OWNER}/{REPO}"]
    assert checkout.git("--git-dir", bare, "show", "main:moon.py") == "phase = int(text)"
    assert agent.succeeded == set(agent.tools())


def _held_by_a_finding(agent: Agent, published: dict[str, Any], number: int, stack: str) -> None:
    """What the agent does until it knows what to mend: look, ask, tell, and not dismiss what is right."""
    held = followed(agent, published["watch"])
    assert (held["status"], held["prNumber"], held["repair"]["kind"]) == (
        "attention",
        number,
        "vortex_findings",
    )
    head = published["head"]["sha"]
    review = agent.does("review_wait_pr", **AT, pr_number=number, after_sha=head)
    [finding] = review["findings"]["inline"]
    assert (finding["path"], finding["line"], finding["severity"]) == ("moon.py", 1, "error")
    preview = agent.does(
        "review_dismiss",
        **AT,
        pr_number=number,
        head_sha=head,
        review_id=int(review["id"]),
        scope="review",
        preview=True,
    )
    assert [item["finding_id"] for item in preview["remaining"]] == [str(finding["id"])]
    status = agent.does("stack_publish_status", **AT, branch="moon")
    assert (status["state"], status["head"]["sha"], status["stack"]["id"]) == ("registered", head, stack)
    adopted = agent.does("stack_adopt", **AT, pr_number=1, auto_land=False)
    assert adopted["result"]["stack"]["id"] in {item["id"] for item in agent.does("stack_list")["stacks"]}
    assert agent.does("stack_set", stack_id=stack, auto_fix_ci=False)["auto_fix_ci"] is False
    now = agent.does("stack_status", stack_id=stack)
    assert (now["stack"]["autoFixCiOverride"], now["attention"]["prNumber"]) == (False, number)
    assert agent.does("stack_wait", stack_id=stack, timeout_s=0)["status"] == "attention"
    assert agent.does("queue_status")["entries"] == []


def test_every_tool_refuses_with_a_code_and_changes_nothing(
    hire: Hire, service: Service, ground: Path
) -> None:
    agent = hire()
    assert agent.is_refused("credits") == "missing_api_key"
    agent.signs_in(service.url, "msk_live_nobody-has-this-key")
    for tool in ("whoami", "credits", "settings_get", "stack_list"):
        assert agent.is_refused(tool) == "auth_invalid"
    agent.signs_in(service.url, service.key)
    kept = ("stacks", "settings", "reviews", "repo-settings")
    before = [service.get(path) for path in kept]
    [stack] = [item for item in before[0]["stacks"] if item["layers"][0]["branch"] == "flood"]
    dismissal = {
        **AT,
        "pr_number": stack["layers"][0]["prNumber"],
        "head_sha": "0" * 40,
        "review_id": 1,
        "scope": "review",
        "reason": "It is not so, I looked.",
    }
    harbour = {"owner": OWNER, "repo": "harbour", "pr_number": 1}
    away = {"cwd": str(ground.parent)}
    calls: dict[str, tuple[dict[str, Any], str | None]] = {
        "review_list": ({"limit": 51}, "invalid_input"),
        "review_submit": (away, "usage"),
        "review_wait": ({"job_id": NOBODY, "timeout_s": 0}, None),
        "review_wait_pr": ({**AT, "pr_number": 999, "timeout_s": 0}, "not_found"),
        "review_dismiss": (dismissal, "stale_head"),
        "issue_create": ({**AT, "title": "x", "labels": ["no such label"]}, "label_not_found"),
        "stack_adopt": (harbour, "cyclone_not_installed"),
        "stack_publish": (away, "usage"),
        "stack_publish_status": ({"owner": OWNER, "repo": "nowhere", "branch": "moon"}, "not_found"),
        "stack_set": ({"stack_id": NOBODY, "auto_land": True}, None),
        "stack_status": ({"stack_id": NOBODY}, "stack_not_found"),
        "stack_wait": ({"stack_id": NOBODY, "timeout_s": 46}, "invalid_input"),
        "queue_status": ({"stack_id": NOBODY}, "queue_entry_not_found"),
        "settings_set": ({"cyclone_connected": True}, "usage"),
        "repo_settings_set": ({"owner": OWNER, "repo": "nowhere", "auto_land": True}, "not_found"),
        "repo_settings_get": ({"owner": OWNER}, "usage"),
    }
    told = {tool: agent.is_refused(tool, **arguments) for tool, (arguments, _) in calls.items()}
    assert told == {tool: code for tool, (_, code) in calls.items()}
    reason = agent.call("stack_adopt", **harbour).data["error"]["reason"]
    assert reason.startswith("surge_")
    strange = agent.call("stack_wait", stack_id=NOBODY, timeout_s=0)
    assert (strange.data["watch"]["done"], strange.data["watch"]["reason"]) == (True, "not_found")

    agent.signs_in(service.url, service.keys["sam"])
    assert agent.is_refused("review_dismiss", **dismissal) == "forbidden"
    assert agent.is_refused("stack_status", stack_id=stack["id"]) == "stack_not_found"
    assert agent.is_refused("stack_set", stack_id=stack["id"], auto_land=True) is None
    assert agent.does("stack_list")["stacks"] == []
    after = [service.get(path) for path in kept]
    assert after[1:] == before[1:]
    assert [item["id"] for item in after[0]["stacks"]] == [item["id"] for item in before[0]["stacks"]]
    assert agent.refused == set(agent.tools())

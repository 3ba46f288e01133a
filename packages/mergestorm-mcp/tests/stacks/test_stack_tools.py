"""The six stack tools over real HTTP: what is sent, what comes back, and what a refusal or a lost answer does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment

pytestmark = pytest.mark.anyio
Call = Callable[..., Awaitable[dict[str, Any]]]

STACKS, QUEUE, ENRICH = "/api/v1/stacks", "/api/v1/stacks/queue", "/api/v1/stacks/enrich"


@pytest.fixture
async def call(server: Any) -> Call:
    """`call(tool, **arguments)`: the whole result; the second text block must be its structured content."""

    async def made(tool: str, **arguments: Any) -> dict[str, Any]:
        async with connect_memory(server(None)) as client:
            await client.initialize("2025-06-18")
            params = {"name": tool, "arguments": arguments}
            reply = await client.exchange({
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": params,
            })
        result: dict[str, Any] = reply["result"]
        assert json.loads(result["content"][1]["text"]) == result["structuredContent"]
        return result

    return made


def get(path: str, respond: dict[str, Any], **query: str) -> dict[str, Any]:
    expect = {"method": "GET", "path": path, **({"query": query} if query else {})}
    return {"expect": expect, "respond": {"status": 200, **respond}}


def post(path: str, body: dict[str, Any], respond: dict[str, Any], method: str = "POST") -> dict[str, Any]:
    return {"expect": {"method": method, "path": path, "body": body}, "respond": {"status": 200, **respond}}


# stack_adopt
async def test_adopting_tells_to_watch_and_to_check_the_policy(call: Call, service: Any) -> None:
    body = {
        "owner": "ada",
        "repo": "engine",
        "prNumber": 4,
        "autoEnqueueWhenReady": True,
        "autoPatchOverride": None,
    }
    script = service.play([post(f"{STACKS}/adopt", body, {"body": {"stack": {"id": " s1 "}}})])
    result = await call(
        "stack_adopt", owner=" ada ", repo="engine", pr_number=4, auto_land=True, auto_patch=None
    )
    assert script.leftovers() == []
    data = result["structuredContent"]
    assert data["watch"]["next"]["args"]["stack_id"] == "s1"
    assert result["content"][0]["text"].startswith(data["watch"]["message"])


async def test_a_lost_answer_to_an_adoption_is_never_sent_again(call: Call, service: Any) -> None:
    body = {"owner": "ada", "repo": "engine", "prNumber": 4}
    for respond in ({"status": 503, "body": {}}, {"status": 200, "body": {"$text": "<html>"}}):
        script = service.play([post(f"{STACKS}/adopt", body, respond)])
        result = await call("stack_adopt", owner="ada", repo="engine", pr_number=4)
        assert script.leftovers() == []
        assert result["structuredContent"]["error"]["code"] == "stack_adopt_failed"
        assert "watch" not in result["structuredContent"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"owner": "ada", "repo": "engine", "pr_number": "4"}, "pr_number"),
        ({"owner": "ada", "repo": "engine", "pr_number": 4, "auto_land": None}, "auto_land"),
        ({"owner": "ada", "repo": "engine", "pr_number": 4, "auto_review": "yes"}, "auto_review"),
        ({"owner": "ada", "repo": "engine", "pr_number": 4, "draft": True}, "draft"),
        ({"owner": " ", "repo": "engine", "pr_number": 4}, "owner"),
        ({"repo": "engine", "pr_number": 4}, "owner"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_before_any_call(
    call: Call, service: Any, arguments: dict[str, Any], field: str
) -> None:
    script = service.play([])
    error = (await call("stack_adopt", **arguments))["structuredContent"]["error"]
    assert error["code"] == "invalid_input"
    assert field in error["message"]
    assert script.leftovers() == []


# stack_set
async def test_setting_sends_only_what_was_given_and_keeps_null(call: Call, service: Any) -> None:
    body = {"autoReviewOverride": False, "autoFixCiOverride": None}
    script = service.play([post(f"{STACKS}/a%2Fb", body, {"body": {"id": "a/b"}}, "PATCH")])
    result = await call("stack_set", stack_id=" a/b ", auto_review=False, auto_fix_ci=None)
    assert script.leftovers() == []
    data = result["structuredContent"]
    assert {name: data[name] for name in ("stack_id", "auto_review", "auto_fix_ci")} == {
        "stack_id": "a/b",
        "auto_review": False,
        "auto_fix_ci": None,
    }
    assert not {"auto_land", "auto_patch", "auto_resolve_conflicts"} & set(data)
    assert "auto-review off, auto-fix-ci default for stack a/b" in result["content"][0]["text"]


@pytest.mark.parametrize("stack_id", [" ", "s1"])
async def test_setting_nothing_or_nowhere_is_refused(call: Call, service: Any, stack_id: str) -> None:
    script = service.play([])
    arguments = {} if stack_id == "s1" else {"auto_land": True}
    error = (await call("stack_set", stack_id=stack_id, **arguments))["structuredContent"]["error"]
    assert error["code"] == "invalid_input"
    assert script.leftovers() == []


async def test_a_lost_answer_to_a_policy_is_never_sent_again(call: Call, service: Any) -> None:
    body = {"autoEnqueueWhenReady": True}
    for respond in ({"status": 502, "body": {}}, {"body": {"$text": "ok"}}, {"status": 429, "body": {}}):
        script = service.play([post(f"{STACKS}/s1", body, respond, "PATCH")])
        result = await call("stack_set", stack_id="s1", auto_land=True)
        assert result["isError"] is True
        assert script.leftovers() == []


# stack_list and queue_status
async def test_every_stack_is_a_line_with_its_id(call: Call, service: Any, make: SimpleNamespace) -> None:
    red = make.stack(make.layer(ciStatus="failure"))
    odd = {"id": "s2", "owner": "ada", "repo": "loom"}
    service.play([get(STACKS, {"body": {"stacks": [red, odd, "?"]}}), get(QUEUE, {"body": {"entries": []}})])
    result = await call("stack_list")
    lines = result["content"][0]["text"].split("\n")
    assert len(lines) == 2
    assert make.id in lines[0]
    assert "#11 CI failed" in lines[0]
    assert "layers not read" in lines[1]
    assert result["structuredContent"]["stacks"] == [red, odd]


async def test_no_stacks_need_no_queue(call: Call, service: Any) -> None:
    script = service.play([get(STACKS, {"body": {"stacks": []}})])
    assert (await call("stack_list"))["content"][0]["text"] == "No stacks"
    assert script.leftovers() == []


async def test_a_rate_limit_is_told_with_its_delay(call: Call, service: Any) -> None:
    limited = {"status": 429, "headers": {"Retry-After": "3"}, "body": {}}
    for tool, path in (("stack_list", STACKS), ("queue_status", QUEUE)):
        service.play([get(path, limited)])
        error = (await call(tool))["structuredContent"]["error"]
        assert (error["code"], error["retry_after_seconds"]) == ("rate_limited", 3)


async def test_the_queue_s_lines_are_cut_and_its_entries_are_not(
    call: Call, service: Any, make: SimpleNamespace
) -> None:
    entries = [make.entry("queued", id=f"e{number}") for number in range(150)]
    service.play([get(QUEUE, {"body": {"entries": entries}})])
    result = await call("queue_status")
    assert len(result["structuredContent"]["entries"]) == 150
    assert len(result["content"][0]["text"].split("\n")) == 101


# stack_status
async def test_a_status_begins_with_the_obligation_and_ends_with_the_repair(
    call: Call, service: Any, make: SimpleNamespace
) -> None:
    raw = make.stack(make.layer(ciStatus="failure"), more={"kept": None})
    service.play([
        get(ENRICH, {"body": {"stacks": [raw]}}, stackId=make.id),
        get(QUEUE, {"body": {"entries": []}}, stackId=make.id),
    ])
    result = await call("stack_status", stack_id=make.id)
    data, text = result["structuredContent"], result["content"][0]["text"]
    assert data["stack"] == raw
    assert list(data) == [
        "stack",
        "attention",
        "held",
        "issues",
        "currentCandidate",
        "busy",
        "agents",
        "repair",
        "landGatePending",
        "watch",
    ]
    assert text.startswith(data["watch"]["message"] + "\n\nada/engine")
    assert text.split("\n")[-1].startswith("Repair ci_failure")
    assert data["watch"]["next"]["args"]["enrolled_head_sha"] == make.head(11)


async def test_a_stack_that_is_not_there_is_told_without_claiming_a_landing(call: Call, service: Any) -> None:
    service.play([get(ENRICH, {"body": {"stacks": []}}, stackId="s1")])
    result = await call("stack_status", stack_id="s1")
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == "stack_not_found"
    assert result["structuredContent"]["watch"]["reason"] == "not_found"


# stack_wait
async def test_status_and_wait_agree(call: Call, service: Any, make: SimpleNamespace) -> None:
    child = make.layer(12, parentBranch="b11", mergeable=False)
    raw = make.stack(make.layer(cycloneStatus="patching"), child, make.layer(13, ciStatus="failure"))
    exchanges = [
        get(ENRICH, {"body": {"stacks": [raw]}}, stackId=make.id),
        get(QUEUE, {"body": {"entries": []}}, stackId=make.id),
    ]
    service.play(exchanges)
    status = (await call("stack_status", stack_id=make.id))["structuredContent"]
    service.play(exchanges)
    waited = (await call("stack_wait", stack_id=make.id, timeout_s=0))["structuredContent"]
    shared = ("issues", "currentCandidate", "busy", "agents", "repair", "landGatePending")
    assert {name: status[name] for name in shared} == {name: waited[name] for name in shared}
    assert status["attention"]["blocker"] == waited["blocker"]


async def test_a_wait_that_goes_on_tells_the_selectors_of_the_next_call(
    call: Call, service: Any, make: SimpleNamespace
) -> None:
    raw = make.stack(make.layer())
    service.play([
        get(ENRICH, {"body": {"stacks": [raw]}}, stackId=make.id),
        get(QUEUE, {"body": {"entries": []}}, stackId=make.id),
    ])
    result = await call("stack_wait", stack_id=make.id, timeout_s=0, enrolled_head_sha=" x ", bounce_id=None)
    assert 'enrolled_head_sha=" x ", bounce_id=null' in result["content"][0]["text"]
    assert result["structuredContent"]["watch"]["next"]["args"]["enrolled_head_sha"] == " x "


async def test_a_read_that_failed_is_an_envelope_with_an_error(
    call: Call, service: Any, make: SimpleNamespace
) -> None:
    service.play([get(ENRICH, {"status": 429, "headers": {"Retry-After": "9"}, "body": {}}, stackId=make.id)])
    result = await call("stack_wait", stack_id=make.id, timeout_s=0)
    data = result["structuredContent"]
    assert result["isError"] is True
    assert (data["status"], data["retry_after_seconds"], data["error"]["code"]) == (
        "rate_limited",
        9,
        "rate_limited",
    )
    assert "assessment unavailable" in result["content"][0]["text"]


async def test_without_a_key_a_wait_is_a_failed_envelope(
    server: Any, environment: Environment, folders: dict[str, str], make: SimpleNamespace
) -> None:
    bare = Environment(
        {"MERGESTORM_API_URL": environment.variables["MERGESTORM_API_URL"]}, folders["home"], folders["work"]
    )
    async with connect_memory(server(bare)) as client:
        await client.initialize("2025-06-18")
        params = {"name": "stack_wait", "arguments": {"stack_id": make.id, "bounce_id": "b1"}}
        reply = await client.exchange({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    data = reply["result"]["structuredContent"]
    assert (data["status"], data["error"]["code"]) == ("failed", "missing_api_key")
    assert data["cursor"] == {"stackId": make.id, "enrolledHeadSha": None, "bounceId": "b1"}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"timeout_s": 45.5}, "timeout_s"),
        ({"timeout_s": "5"}, "timeout_s"),
        ({"timeout_s": True}, "timeout_s"),
        ({"after_finished_at": 5}, "after_finished_at"),
        ({"cursor": {}}, "cursor"),
    ],
)
async def test_a_wait_with_arguments_that_do_not_fit_reads_nothing(
    call: Call, service: Any, make: SimpleNamespace, arguments: dict[str, Any], field: str
) -> None:
    script = service.play([])
    error = (await call("stack_wait", stack_id=make.id, **arguments))["structuredContent"]["error"]
    assert error["code"] == "invalid_input"
    assert field in error["message"]
    assert script.leftovers() == []


async def test_a_blank_id_is_usage(call: Call) -> None:
    for tool in ("stack_wait", "stack_status", "queue_status"):
        error = (await call(tool, stack_id="  "))["structuredContent"]["error"]
        assert (error["code"], error["exit_code"]) == ("usage", 2)


async def test_cancelling_a_wait_closes_its_request(
    raw_service: Any, answer: Any, server: Any, environment: Environment, make: SimpleNamespace
) -> None:
    stacks = json.dumps({"stacks": [make.stack(make.layer())]}).encode()

    async def handler(stream: Any, number: int) -> None:
        if number <= 2:
            await stream.send(answer(200, stacks if number == 1 else b'{"entries": []}'))
        else:
            await anyio.sleep_forever()  # a held read

    async with raw_service(handler) as held:
        own = Environment(
            {**environment.variables, "MERGESTORM_API_URL": held.base},
            environment.home,
            environment.working_directory,
        )
        async with connect_memory(server(own)) as client:
            await client.initialize("2025-06-18")
            params = {"name": "stack_wait", "arguments": {"stack_id": make.id}}
            await client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
            with anyio.fail_after(10):
                while len(held.requests) < 3:
                    held.asked = anyio.Event()
                    await held.asked.wait()
            await client.send({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2},
            })
            with anyio.fail_after(1):
                await held.gone.wait()
    assert "wait=45" in held.requests[2]

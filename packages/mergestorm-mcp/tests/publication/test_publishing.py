"""What becomes of the service's answer to a publication: verified, refused by code, or unknown and never repeated."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.publication.publish import (
    Publication,
    PublishRequest,
    prepare_publication,
    publish_branch,
)
from mergestorm_mcp.publication.refusals import PublicationRefused

pytestmark = pytest.mark.anyio


@pytest.fixture
def publication(checkout: Any, environment: Environment) -> Publication:
    checkout.commit({"a": b"1\n"})
    return prepare_publication(environment, PublishRequest())


@pytest.fixture
def signed(checkout: Any, environment: Environment) -> Publication:
    """Two commits, the first of them with a signature."""
    tip = checkout.commit({"a": b"1\n"})
    raw = checkout.git_bytes("cat-file", "commit", tip).replace(b"\n\n", b"\ngpgsig x\n y\n\n", 1)
    first = checkout.git("hash-object", "-w", "-t", "commit", "--stdin", data=raw)
    checkout.git("update-ref", "refs/heads/topic", first)
    checkout.commit({"a": b"2\n"})
    return prepare_publication(environment, PublishRequest())


async def test_a_publication_goes_out_once_and_is_verified(
    publication: Publication, published: Any, simulated: Any
) -> None:
    api, _, transport = simulated(lambda _: (1.0, (200, published(publication), {})))
    result = await publish_branch(api, publication)
    [(_, request)] = transport.requests
    assert (request.method, request.url.path) == ("POST", "/api/v1/stacks/publish")
    assert request.extensions["timeout"]["read"] == 120
    head = publication.line.head
    assert result["head"] == {"sha": head.oid, "tree": head.tree, "verified": True}
    assert result["commits"] == [
        {"local_sha": head.oid, "github_sha": head.oid, "tree": head.tree, "signed": False}
    ]
    assert result["pull"] == {
        "number": 7,
        "url": "https://github.com/kestrel-labs/tidepool/pull/7",
        "draft": False,
    }
    assert result["stack"] == {
        "id": "stack-7",
        "auto_patch": False,
        "auto_land": True,
        "auto_review": None,
    }
    assert result["dirty"] is False
    assert result["watch"]["next"]["args"]["stack_id"] == "stack-7"


async def test_a_signed_commit_s_copy_is_verified_by_the_id_it_must_have(
    signed: Publication, published: Any, simulated: Any
) -> None:
    api, _, _ = simulated(lambda _: (0, (200, published(signed), {})))
    result = await publish_branch(api, signed)
    assert result["head"]["verified"] is True
    assert result["head"]["sha"] != signed.line.head.oid
    assert [commit["signed"] for commit in result["commits"]] == [True, False]
    assert all(commit["github_sha"] != commit["local_sha"] for commit in result["commits"])


async def test_the_same_tree_under_another_id_is_not_verified(
    publication: Publication, published: Any, simulated: Any
) -> None:
    other = {"sha": "b" * 40, "tree": publication.line.head.tree}
    api, _, _ = simulated(lambda _: (0, (200, published(publication, head=other, commits=[]), {})))
    result = await publish_branch(api, publication)
    assert result["head"] == {**other, "verified": False}
    assert result["commits"][0]["github_sha"] is None


@pytest.mark.parametrize("where", ["head", "commit"])
async def test_another_tree_is_an_error(
    publication: Publication, published: Any, simulated: Any, where: str
) -> None:
    sha = publication.line.head.oid
    changes: dict[str, Any] = {"head": {"sha": sha, "tree": "c" * 40}}
    if where == "commit":
        changes = {"commits": [{"local_sha": sha, "github_sha": sha, "tree": "c" * 40}]}
    api, _, _ = simulated(lambda _: (0, (200, published(publication, **changes), {})))
    with pytest.raises(PublicationRefused) as refused:
        await publish_branch(api, publication)
    assert refused.value.code == "tree_mismatch"
    assert refused.value.details == {"github_head": sha, "local_head": sha}


@pytest.mark.parametrize("state", ["pushed", "opened"])
async def test_a_publication_that_stopped_on_the_way_is_a_result(
    publication: Publication, published: Any, simulated: Any, state: str
) -> None:
    body = published(publication, state=state, stack=None)
    api, _, _ = simulated(lambda _: (0, (200, body, {})))
    result = await publish_branch(api, publication)
    assert (result["state"], result["stack"], result["watch"]) == (state, None, None)


REFUSALS = [
    "implicit_stack", "forbidden", "busy", "github_unreadable", "not_found", "invalid_input", "tree_mismatch",
    "no_commits", "too_many_commits", "too_many_paths", "file_too_large", "payload_too_large", "submodule",
    "merge_commit", "base_not_found", "unrelated_history", "reserved_branch", "bad_path",
]  # fmt: skip


@pytest.mark.parametrize("code", REFUSALS)
@pytest.mark.parametrize("status", [400, 503])
async def test_a_refusal_of_the_service_keeps_its_code(
    publication: Publication, simulated: Any, code: str, status: int
) -> None:
    body = {"error": code, "message": "because \x1b[31mof this", "reason": "finer"}
    api, _, transport = simulated(lambda _: (0, (status, body, {})))
    with pytest.raises(CommandError) as refused:
        await publish_branch(api, publication)
    error = refused.value
    assert (error.code, error.reason, error.exit_code) == (code, "finer", 1)
    assert error.message == "because of this"
    assert len(transport.requests) == 1


async def test_a_missing_app_keeps_code_and_reason(publication: Publication, simulated: Any) -> None:
    body = {"error": "cyclone_not_installed", "reason": "surge_not_installed", "message": "install it"}
    api, _, _ = simulated(lambda _: (0, (400, body, {})))
    with pytest.raises(CommandError) as refused:
        await publish_branch(api, publication)
    assert (refused.value.code, refused.value.reason) == ("cyclone_not_installed", "surge_not_installed")


async def test_work_on_github_that_is_not_here_names_both_heads(
    publication: Publication, simulated: Any
) -> None:
    body = {"error": "head_changed", "github_head": "D" * 40, "local_head": "x", "message": "no"}
    api, _, _ = simulated(lambda _: (0, (409, body, {})))
    with pytest.raises(PublicationRefused) as refused:
        await publish_branch(api, publication)
    assert refused.value.code == "head_changed"
    assert refused.value.details == {"github_head": "d" * 40, "local_head": publication.line.head.oid}


async def test_a_rate_limit_keeps_the_delay(publication: Publication, simulated: Any) -> None:
    api, _, transport = simulated(lambda _: (0, (429, {}, {"Retry-After": "9"})))
    with pytest.raises(CommandError) as refused:
        await publish_branch(api, publication)
    assert (refused.value.code, refused.value.retry_after_seconds) == ("rate_limited", 9)
    assert len(transport.requests) == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "api_timeout"),
        (httpx.ReadError("gone"), None),
        (httpx.RemoteProtocolError("half"), None),
        ((500, "<html>", {}), None),
        ((502, {"error": "no code of ours"}, {}), None),
        ((408, {}, {}), None),
        ((200, "fine", {}), None),
        ((200, {}, {}), None),
        ((200, {"state": "registered", "head": {"sha": 1, "tree": None}}, {}), None),
        ((200, {"state": "absent", "head": None}, {}), None),
    ],
)
async def test_a_lost_answer_is_unknown_and_the_write_is_not_repeated(
    publication: Publication, simulated: Any, answer: Any, code: str | None
) -> None:
    api, _, transport = simulated(lambda _: (0, answer))
    with pytest.raises(PublicationRefused) as lost:
        await publish_branch(api, publication)
    assert (lost.value.code, lost.value.details) == (code, {"state": "unknown"})
    assert len(transport.requests) == 1


async def test_an_answer_without_meaning_is_an_error_without_a_code(
    publication: Publication, simulated: Any
) -> None:
    api, _, _ = simulated(lambda _: (0, (404, {"detail": "?"}, {})))
    with pytest.raises(CommandError) as refused:
        await publish_branch(api, publication)
    assert (refused.value.code, refused.value.exit_code) == (None, 1)


@pytest.mark.parametrize(
    "odd",
    [
        {"pull": []},
        {"pull": {"number": True}},
        {"stack": {"id": " "}},
        {"stack": "s"},
        {"created": None, "resumed": "yes", "commits": {}},
        {"commits": [None, {"local_sha": 5}, {"local_sha": "z" * 40}]},
        {"pull": {"number": 4, "url": 5}, "stack": {"id": "s", "auto_land": "on"}},
    ],
)
async def test_odd_members_of_an_answer_read_as_absent(
    publication: Publication, published: Any, simulated: Any, odd: dict[str, Any]
) -> None:
    api, _, _ = simulated(lambda _: (0, (200, published(publication, **odd), {})))
    result = await publish_branch(api, publication)
    assert result["pull"] is None or isinstance(result["pull"]["number"], int)
    assert result["stack"] is None or isinstance(result["stack"]["id"], str)


def _exchange(publication: Publication, status: int, body: Any) -> list[dict[str, Any]]:
    expected = {"method": "POST", "path": "/api/v1/stacks/publish", "body": publication.body}
    return [{"expect": expected, "respond": {"status": status, "body": body}}]


async def test_the_tool_says_first_what_is_left_to_do(
    publication: Publication, published: Any, server: Any, service: Any, checkout: Any
) -> None:
    (checkout.path / "forgotten").write_bytes(b"x")
    service.play(_exchange(publication, 200, published(publication)))
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("stack_publish", {})
    assert outcome.result["isError"] is False
    text = outcome.result["content"][0]["text"]
    assert text.startswith(outcome.structured["watch"]["message"])
    assert "PR #7" in text
    assert outcome.structured["dirty"] is True


async def test_the_tool_s_refusal_has_the_heads_beside_the_error(
    publication: Publication, server: Any, service: Any
) -> None:
    service.play(_exchange(publication, 409, {"error": "head_changed", "github_head": "d" * 40}))
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("stack_publish", {})
    assert outcome.result["isError"] is True
    assert set(outcome.structured) == {"error", "github_head", "local_head"}
    assert set(outcome.structured["error"]) == {"message", "code", "exit_code"}
    assert outcome.structured["github_head"] == "d" * 40


async def test_a_refusal_made_here_sends_nothing(checkout: Any, server: Any, service: Any) -> None:
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call("stack_publish", {})
    assert outcome.structured["error"]["code"] == "no_commits"
    assert outcome.structured["error"]["exit_code"] == 2
    assert script.leftovers() == []


async def test_without_a_key_no_repository_is_read(environment: Environment, server: Any) -> None:
    keyless = Environment(
        {"MERGESTORM_API_URL": environment.variables["MERGESTORM_API_URL"]},
        environment.home,
        environment.working_directory,
    )
    async with connect_memory(server(keyless)) as client:
        await client.initialize()
        outcome = await client.call("stack_publish", {"cwd": "/nowhere"})
    assert outcome.structured["error"]["code"] == "missing_api_key"

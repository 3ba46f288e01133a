"""How far a publication got, and whether GitHub and the local branch agree."""

from __future__ import annotations

from typing import Any

import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.publication.publish import (
    PublishRequest,
    StatusRequest,
    prepare_publication,
    publication_status,
)

pytestmark = pytest.mark.anyio

TREE = "e" * 40


def body(sha: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "state": "absent" if sha is None else "registered",
        "owner": "kestrel-labs",
        "repo": "tidepool",
        "branch": "topic",
        "head": None if sha is None else {"sha": sha, "tree": TREE},
        "pull": None if sha is None else {"number": 7, "url": "https://github.com/x", "draft": False},
        "stack": None if sha is None else {"id": "stack-7", "auto_patch": False, "auto_land": True},
        **changes,
    }


async def asked(
    simulated: Any, environment: Environment, answer: Any, status: int = 200, **request: Any
) -> tuple[dict[str, Any], Any]:
    api, _, transport = simulated(lambda _: (0, (status, answer, {})))
    result = await publication_status(api, environment, StatusRequest(**request))
    [(_, sent)] = transport.requests
    return result, sent


async def test_a_branch_that_is_on_github_as_it_is_here_is_in_sync(
    checkout: Any, environment: Environment, simulated: Any
) -> None:
    tip = checkout.commit({"a": b"1\n"})
    result, sent = await asked(simulated, environment, body(tip))
    assert (sent.method, sent.url.path) == ("GET", "/api/v1/stacks/publish")
    assert dict(sent.url.params) == {"owner": "kestrel-labs", "repo": "tidepool", "branch": "topic"}
    assert {name: result[name] for name in ("state", "head", "local_head", "in_sync", "stack")} == {
        "state": "registered",
        "head": {"sha": tip, "tree": TREE},
        "local_head": tip,
        "in_sync": True,
        "stack": {"id": "stack-7", "auto_patch": False, "auto_land": True},
    }
    assert result["watch"]["done"] is False


async def test_a_later_commit_is_not_in_sync(checkout: Any, environment: Environment, simulated: Any) -> None:
    checkout.commit({"a": b"1\n"})
    result, _ = await asked(simulated, environment, body("f" * 40))
    assert result["in_sync"] is False


async def test_the_copy_of_a_signed_branch_is_in_sync(
    checkout: Any, environment: Environment, simulated: Any
) -> None:
    tip = checkout.commit({"a": b"1\n"})
    raw = checkout.git_bytes("cat-file", "commit", tip).replace(b"\n\n", b"\ngpgsig x\n y\n\n", 1)
    checkout.git(
        "update-ref",
        "refs/heads/topic",
        checkout.git("hash-object", "-w", "-t", "commit", "--stdin", data=raw),
    )
    made = prepare_publication(environment, PublishRequest())
    assert made.made[-1].oid == tip
    result, _ = await asked(simulated, environment, body(tip))
    assert result["in_sync"] is True
    assert result["local_head"] != tip


async def test_a_branch_that_was_never_published_is_absent(
    checkout: Any, environment: Environment, simulated: Any
) -> None:
    checkout.commit({"a": b"1\n"})
    result, _ = await asked(simulated, environment, body(None))
    assert (result["state"], result["head"], result["in_sync"], result["watch"]) == (
        "absent",
        None,
        False,
        None,
    )


async def test_a_branch_that_is_not_here_has_no_local_head(
    checkout: Any, environment: Environment, simulated: Any
) -> None:
    result, _ = await asked(simulated, environment, body("f" * 40), branch="elsewhere")
    assert (result["local_head"], result["in_sync"]) == (None, None)


async def test_with_everything_named_no_checkout_is_needed(environment: Environment, simulated: Any) -> None:
    named: dict[str, Any] = {"owner": "kestrel-labs", "repo": "tidepool", "branch": "topic"}
    result, _ = await asked(simulated, environment, body("f" * 40), **named)
    assert (result["local_head"], result["in_sync"]) == (None, None)


async def test_another_repository_s_branch_of_the_same_name_is_not_compared(
    checkout: Any, environment: Environment, simulated: Any
) -> None:
    named: dict[str, Any] = {"owner": "kestrel-labs", "repo": "lagoon", "branch": "topic"}
    result, _ = await asked(simulated, environment, body("f" * 40), **named)
    assert (result["local_head"], result["in_sync"]) == (None, None)
    result, _ = await asked(simulated, environment, body("f" * 40), cwd=".", **named)
    assert result["local_head"] == checkout.git("rev-parse", "topic")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({}, "not_a_repo"),
        ({"owner": "o"}, "usage"),
        ({"cwd": "..", "owner": "o", "repo": "r", "branch": "b"}, "usage"),
        ({"owner": "o", "repo": "r"}, "not_a_repo"),
    ],
)
async def test_a_checkout_that_is_needed_and_missing_is_refused(
    environment: Environment, simulated: Any, request_: dict[str, str], code: str
) -> None:
    api, _, transport = simulated(lambda _: (0, (200, body(None), {})))
    with pytest.raises(CommandError) as refused:
        await publication_status(api, environment, StatusRequest(**request_))
    assert (refused.value.code, refused.value.exit_code) == (code, 2)
    assert transport.requests == []


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        (403, {"error": "forbidden", "message": "no"}, "forbidden"),
        (404, {"error": "not_found"}, "not_found"),
        (404, {}, None),
        (429, {}, "rate_limited"),
        (503, {"error": "github_unreadable"}, "github_unreadable"),
        (500, "oops", None),
        (200, {"state": "somewhere"}, None),
        (200, [], None),
    ],
)
async def test_a_status_that_cannot_be_read_is_an_error(
    checkout: Any, environment: Environment, simulated: Any, status: int, answer: Any, code: str | None
) -> None:
    api, _, _ = simulated(lambda _: (0, (status, answer, {})))
    with pytest.raises(CommandError) as refused:
        await publication_status(api, environment, StatusRequest())
    assert refused.value.code == code

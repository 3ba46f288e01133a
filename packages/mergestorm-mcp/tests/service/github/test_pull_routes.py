"""Pull requests opened by the App over HTTP: once, of branches that are there, for who may write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mergestorm_mcp.service.github.hub import GitHubRepository

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PLACE = {"owner": "kestrel-labs", "repo": "tidepool"}


@pytest.fixture
def tidepool(service: Any) -> GitHubRepository:
    """A private repository that rivka may write and sam may read, with `topic` one commit ahead of `main`."""
    hub = service.world.hub
    with service.world.store.write() as connection:
        repository: GitHubRepository = hub.create_repository(
            connection, "kestrel-labs", "tidepool", private=True
        )
        hub.set_permission(connection, repository.id, "rivka", "write")
        hub.set_permission(connection, repository.id, "sam", "read")
        hub.install_app(connection, repository.id, "surge")
    git = hub.git(repository)
    first = git.commit_files([], {"tide.txt": b"low\n"}, message="first", when=NOON)
    git.move("main", first, None)
    git.move("topic", git.commit_files([first], {"tide.txt": b"high\n"}, message="second", when=NOON), None)
    git.move("lone", git.commit_files([], {"x": b"x\n"}, message="lone", when=NOON), None)
    return repository


def opening(**changes: Any) -> dict[str, Any]:
    return {**PLACE, "head": "topic", "base": "main", "title": "Raise", "body": "", **changes}


def test_a_pull_request_is_opened_once(service: Any, tidepool: GitHubRepository) -> None:
    client = service.client()
    found = client.get("/api/v1/stacks/pulls", params={**PLACE, "head": "topic"})
    assert (found.status_code, found.json()) == (200, {"number": None})
    made = client.post("/api/v1/stacks/pulls", json=opening())
    url = "https://github.com/kestrel-labs/tidepool/pull/1"
    assert (made.status_code, made.json()) == (201, {"number": 1, "url": url, "created": True})
    again = client.post("/api/v1/stacks/pulls", json=opening(title="Other"))
    assert (again.status_code, again.json()) == (200, {"number": 1, "url": url, "created": False})
    found = client.get("/api/v1/stacks/pulls", params={**PLACE, "owner": "Kestrel-LABS", "head": "topic"})
    assert found.json() == {"number": 1}


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"base": "topic"}, 400, "invalid_input"),
        ({"title": " "}, 400, "invalid_input"),
        ({"title": ""}, 400, "invalid_input"),
        ({"head": "nowhere"}, 400, "invalid_input"),
        ({"head": "..", "base": "main"}, 400, "invalid_input"),
        ({"base": "nowhere"}, 400, "invalid_input"),
        ({"head": "main", "base": "topic"}, 400, "no_commits"),
        ({"head": "lone"}, 400, "unrelated_history"),
        ({"repo": "other"}, 404, "not_found"),
        ({"draft": True}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_opened_is_refused_by_code(
    service: Any, tidepool: GitHubRepository, changes: dict[str, Any], status: int, code: str
) -> None:
    reply = service.client().post("/api/v1/stacks/pulls", json=opening(**changes))
    assert (reply.status_code, reply.json()["error"]) == (status, code)
    with service.world.store.read() as connection:
        assert service.world.hub.pulls(connection, tidepool.id) == []


def test_who_may_only_read_opens_nothing(service: Any, tidepool: GitHubRepository) -> None:
    client = service.client("msk_live_key-of-sam")
    for path, body in (
        ("pulls", opening()),
        ("pull-claims", {**PLACE, "heads": ["topic"]}),
    ):
        reply = client.post(f"/api/v1/stacks/{path}", json=body)
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")


def test_a_missing_app_is_named_with_its_reason(service: Any, tidepool: GitHubRepository) -> None:
    with service.world.store.write() as connection:
        service.world.hub.uninstall_app(connection, tidepool.id, "surge")
    client = service.client()
    for reply in (
        client.post("/api/v1/stacks/pulls", json=opening()),
        client.get("/api/v1/stacks/pulls", params={**PLACE, "head": "topic"}),
    ):
        assert reply.status_code == 400
        assert (reply.json()["error"], reply.json()["reason"]) == (
            "cyclone_not_installed",
            "surge_not_installed",
        )


def test_a_branch_is_claimed_by_the_first_who_asks(service: Any, tidepool: GitHubRepository) -> None:
    with service.world.store.write() as connection:
        service.world.hub.set_permission(connection, tidepool.id, "sam", "write")
    claim = {**PLACE, "heads": ["topic", "next", "topic"]}
    for _ in range(2):
        reply = service.client().post("/api/v1/stacks/pull-claims", json=claim)
        assert (reply.status_code, reply.json()) == (200, {"claimed": ["topic", "next"]})
    other = service.client("msk_live_key-of-sam").post(
        "/api/v1/stacks/pull-claims", json={**PLACE, "heads": ["next", "own"]}
    )
    assert other.json() == {"claimed": ["own"]}
    too_many = {**PLACE, "heads": [str(number) for number in range(21)]}
    assert service.client().post("/api/v1/stacks/pull-claims", json=too_many).status_code == 400

"""Settings of accounts and repositories, and issues made for a caller."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mergestorm_mcp.service.accounts.keys import account_named
from mergestorm_mcp.service.settings.values import effective_setting
from mergestorm_mcp.service.world import World

from .conftest import OTHER, OTHER_KEY, OWNER, LocalService, Start, people, starting


def open_shop(world: World) -> None:
    """Rivka may write `acme/shop`, Sam may read it; `acme/vault` is private to Rivka; `acme/bare` has no Surge."""
    people(world)
    with world.store.write() as connection:
        for name, private in (("shop", False), ("vault", True), ("bare", False), ("shut", False)):
            repository = world.hub.create_repository(connection, "acme", name, private=private)
            world.hub.set_permission(connection, repository.id, OWNER, "write")
            if name != "bare":
                world.hub.install_app(connection, repository.id, "surge", may_write=name != "shut")
            world.hub.add_labels(connection, repository.id, ["Bug", "docs"])
            if name == "shop":
                world.hub.set_permission(connection, repository.id, OTHER, "read")


@pytest.fixture
def shop(start_service: Start) -> LocalService:
    """A service with the shop."""
    return start_service(arrange=open_shop)


@pytest.fixture(scope="module")
def untouched_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    """The same, one for all tests that change nothing in it."""
    with starting(tmp_path_factory.mktemp("shop")) as start:
        yield start(arrange=open_shop)


def issue(**changes: Any) -> dict[str, Any]:
    return {"owner": "acme", "repo": "shop", "title": "It breaks"} | changes


def test_settings_begin_with_their_defaults_and_change_one_by_one(service: LocalService) -> None:
    client = service.client()
    before = client.get("/api/v1/settings").json()
    assert (before["auto_review_enabled"], before["auto_land_settle_seconds"]) == (True, 60)
    assert (before["cyclone_connected"], before["github_connected"], before["stacks_ready"]) == (
        True,
        True,
        True,
    )
    changed = client.patch(
        "/api/v1/settings", json={"auto_land_settle_seconds": 15, "ignored_bot_logins": ["bot[bot]"]}
    )
    assert changed.status_code == 200
    assert changed.json() == before | {"auto_land_settle_seconds": 15, "ignored_bot_logins": ["bot[bot]"]}
    assert client.get("/api/v1/settings").json() == changed.json()
    assert service.client(OTHER_KEY).get("/api/v1/settings").json() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"cyclone_connected": True},
        {"github_connected": False, "auto_patch_enabled": True},
        {"stacks_ready": False},
        {"auto_patch_enabled": 1},
        {"auto_patch_enabled": "true"},
        {"auto_patch_enabled": None},
        {"auto_land_settle_seconds": 14},
        {"auto_land_settle_seconds": 301},
        {"auto_land_settle_seconds": 60.0},
        {"merge_queue_batch_size": 1},
        {"merge_queue_batch_size": 9},
        {"ignored_bot_logins": [""]},
        {"ignored_bot_logins": "bot"},
        {"vortex_bot_skip_check": "failure"},
        {"nothing_known": True},
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_nothing_changes(
    untouched: LocalService, body: dict[str, Any]
) -> None:
    client = untouched.client()
    before = client.get("/api/v1/settings").json()
    reply = client.patch("/api/v1/settings", json=body)
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_input")
    assert client.get("/api/v1/settings").json() == before


def test_a_repository_has_settings_of_its_own_until_they_are_cleared(shop: LocalService) -> None:
    client = shop.client()
    listed = client.get("/api/v1/repo-settings").json()["repositories"]
    assert [(each["owner"], each["repo"]) for each in listed] == [
        ("acme", "bare"),
        ("acme", "shop"),
        ("acme", "shut"),
        ("acme", "vault"),
    ]
    assert listed[1]["auto_review_enabled"] is None
    patch = {
        "owner": "ACME",
        "repo": "Shop",
        "auto_review_enabled": False,
        "merge_queue_lands_alone_paths": ["db/*"],
    }
    changed = client.patch("/api/v1/repo-settings", json=patch)
    assert (changed.status_code, changed.json()["auto_review_enabled"], changed.json()["owner"]) == (
        200,
        False,
        "acme",
    )
    assert client.get("/api/v1/repo-settings?owner=acme&repo=shop").json()["repositories"] == [changed.json()]
    with shop.world.store.read() as connection:
        account = account_named(connection, OWNER)
        repository = shop.world.hub.find_repository(connection, "acme", "shop")
        assert account is not None
        assert repository is not None
        which = (connection, account["id"], repository.id)
        assert effective_setting(*which, "auto_review_enabled") is False
        assert effective_setting(*which, "merge_queue_batch_size") == 4
    cleared = client.patch(
        "/api/v1/repo-settings", json={"owner": "acme", "repo": "shop", "auto_review_enabled": None}
    )
    assert cleared.json()["auto_review_enabled"] is None
    assert cleared.json()["merge_queue_lands_alone_paths"] == ["db/*"]


@pytest.mark.parametrize(
    ("key", "body", "status", "code"),
    [
        ("rivka", {"owner": "acme", "repo": "nothing", "auto_patch_enabled": True}, 404, "not_found"),
        ("sam", {"owner": "acme", "repo": "vault", "auto_patch_enabled": True}, 404, "not_found"),
        ("sam", {"owner": "acme", "repo": "bare", "auto_patch_enabled": True}, 404, "not_found"),
        ("sam", {"owner": "acme", "repo": "shop", "auto_patch_enabled": True}, 403, "forbidden"),
        ("rivka", {"owner": "acme", "repo": "shop"}, 400, "invalid_input"),
        ("rivka", {"owner": "acme", "repo": "shop", "merge_queue_batch_size": 9}, 400, "invalid_input"),
        ("rivka", {"owner": "acme", "auto_patch_enabled": True}, 400, "invalid_input"),
        (
            "rivka",
            {"owner": "acme", "repo": "shop", "vortex_findings_check": "neutral"},
            400,
            "invalid_input",
        ),
    ],
)
def test_who_may_not_change_a_repository_changes_nothing(
    untouched_shop: LocalService, key: str, body: dict[str, Any], status: int, code: str
) -> None:
    reply = untouched_shop.client(f"msk_live_key-of-{key}").patch("/api/v1/repo-settings", json=body)
    assert (reply.status_code, reply.json()["error"]) == (status, code)
    with untouched_shop.world.store.read() as connection:
        assert connection.execute("SELECT count(*) FROM repository_settings").fetchone()[0] == 0


def test_one_repository_is_asked_for_by_owner_and_name_only(untouched_shop: LocalService) -> None:
    client = untouched_shop.client()
    assert client.get("/api/v1/repo-settings?owner=acme").json()["error"] == "invalid_input"
    assert client.get("/api/v1/repo-settings?owner=acme&repo=none").status_code == 404
    assert (
        untouched_shop.client(OTHER_KEY).get("/api/v1/repo-settings?owner=acme&repo=vault").status_code == 404
    )


def test_an_issue_is_made_once_while_it_is_open(shop: LocalService) -> None:
    client = shop.client()
    first = client.post(
        "/api/v1/issues", json=issue(title="  It breaks ", body="Every time.", labels=["bug", "BUG"])
    )
    assert first.status_code == 201
    assert first.json() == {
        "created": True,
        "number": 1,
        "url": "https://github.com/acme/shop/issues/1",
        "title": "It breaks",
        "labels": ["Bug"],
        "owner": "acme",
        "repo": "shop",
    }
    again = client.post("/api/v1/issues", json=issue(body="Something else."))
    assert (again.status_code, again.json()) == (200, first.json() | {"created": False})
    with shop.world.store.write() as connection:
        repository = shop.world.hub.find_repository(connection, "acme", "shop")
        assert repository is not None
        made = shop.world.hub.issue(connection, repository.id, 1)
        assert made is not None
        assert "Every time." in made.body
        assert f"@{OWNER}" in made.body
        shop.world.hub.close_issue(connection, repository.id, 1)
    assert client.post("/api/v1/issues", json=issue()).json()["number"] == 2


def test_many_requests_for_one_issue_at_once_make_one(shop: LocalService) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: shop.client().post("/api/v1/issues", json=issue()), range(12)))
    assert sorted(reply.status_code for reply in replies) == [200] * 11 + [201]
    assert {reply.json()["number"] for reply in replies} == {1}


@pytest.mark.parametrize(
    ("key", "body", "status", "code"),
    [
        ("rivka", issue(repo="nothing"), 404, "not_found"),
        ("sam", issue(repo="vault"), 404, "not_found"),
        ("sam", issue(), 403, "forbidden"),
        ("rivka", issue(labels=["Bug", "new"]), 400, "label_not_found"),
        ("rivka", issue(title="   "), 400, "invalid_input"),
        ("rivka", issue(title="x" * 257), 400, "invalid_input"),
        ("rivka", issue(body=None), 400, "invalid_input"),
        ("rivka", issue(assignee="sam"), 400, "invalid_input"),
    ],
)
def test_an_issue_that_is_refused_is_not_made(
    untouched_shop: LocalService, key: str, body: dict[str, Any], status: int, code: str
) -> None:
    reply = untouched_shop.client(f"msk_live_key-of-{key}").post("/api/v1/issues", json=body)
    assert (reply.status_code, reply.json()["error"]) == (status, code)
    with untouched_shop.world.store.read() as connection:
        assert connection.execute("SELECT count(*) FROM issues").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("repo", "code", "reason"),
    [
        ("bare", "cyclone_not_installed", "surge_not_installed"),
        ("shut", "cyclone_permission_missing", "surge_permission_missing"),
    ],
)
def test_without_the_surge_app_a_refusal_says_what_to_install(
    untouched_shop: LocalService, repo: str, code: str, reason: str
) -> None:
    reply = untouched_shop.client().post("/api/v1/issues", json=issue(repo=repo))
    body = reply.json()
    assert (reply.status_code, body["error"], body["reason"]) == (400, code, reason)
    assert body["installUrl"] == "https://github.com/apps/mergestorm-surge/installations/new"

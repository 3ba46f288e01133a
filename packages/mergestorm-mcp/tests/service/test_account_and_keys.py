"""Who asks: keys, `/me`, and what happens to requests without a place."""

from __future__ import annotations

import sqlite3

import httpx
import pytest

from mergestorm_mcp.service.accounts.keys import MAX_KEYS, account_named, add_key
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

from .conftest import OTHER_KEY, OWNER, OWNER_KEY, LocalService


def test_me_shows_the_beginning_of_the_key_and_what_is_left(service: LocalService) -> None:
    reply = service.client().get("/api/v1/me")
    assert reply.status_code == 200
    me = reply.json()
    assert me["key"]["prefix"] == OWNER_KEY[:12]
    assert me["key"]["name"] == "laptop"
    assert me["key"]["last_used_at"] is not None
    assert me["usage"]["standard"] == {"used": 0, "limit": 100, "remaining": 100}
    assert OWNER_KEY not in reply.text
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer msk_live_nobody",
        f"Basic {OWNER_KEY}",
        f"Bearer {OWNER_KEY} x",
        "Bearer sk_other",
    ],
)
def test_every_request_without_a_known_key_is_refused_alike(
    untouched: LocalService, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header}
    reply = untouched.client(None).get("/api/v1/me", headers=headers)
    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")
    assert reply.headers["www-authenticate"] == "Bearer"


def test_two_authorization_headers_are_no_key(untouched: LocalService) -> None:
    reply = untouched.client(None).get(
        "/api/v1/me",
        headers=[("Authorization", f"Bearer {OWNER_KEY}"), ("Authorization", f"Bearer {OTHER_KEY}")],
    )
    assert reply.status_code == 401


def test_the_database_holds_no_key(service: LocalService) -> None:
    service.client().get("/api/v1/me")
    with sqlite3.connect(service.world.store.path) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert OWNER_KEY not in dump
    assert OWNER_KEY[:12] in dump


def test_an_account_has_a_limited_number_of_keys(world: World) -> None:
    with world.store.write() as connection:
        account = account_named(connection, OWNER.upper())
        assert account is not None
        for number in range(MAX_KEYS - 1):
            add_key(world, connection, account["id"], f"key {number}")
        with pytest.raises(Refusal) as refused:
            add_key(world, connection, account["id"], "one too many")
    assert refused.value.error == "key_limit_reached"


def test_an_unknown_address_is_a_404_and_another_method_a_405_that_names_the_right_ones(
    untouched: LocalService,
) -> None:
    client = untouched.client()
    assert client.get("/api/v1/nothing").json()["error"] == "not_found"
    reply = client.post("/api/v1/me")
    assert (reply.status_code, reply.json()["error"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD"


def test_an_unknown_query_parameter_is_refused(untouched: LocalService) -> None:
    reply = untouched.client().get("/api/v1/me?colour=blue")
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_input")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "attacker.example"}, "host_not_allowed"),
        ({"Host": "127.0.0.1:1"}, "host_not_allowed"),
        ({"Host": "127.0.0.1"}, "host_not_allowed"),
        ({"Origin": "https://attacker.example"}, "origin_not_allowed"),
        ({"Origin": "http://127.0.0.1:1"}, "origin_not_allowed"),
        ({"Origin": "null"}, "origin_not_allowed"),
    ],
)
def test_a_web_page_from_elsewhere_gets_nothing(
    untouched: LocalService, headers: dict[str, str], code: str
) -> None:
    reply = untouched.client().get("/api/v1/me", headers=headers)
    assert (reply.status_code, reply.json()["error"]) == (403, code)


def test_the_service_is_called_localhost_too(untouched: LocalService) -> None:
    port = httpx.URL(untouched.url).port
    assert untouched.client().get("/api/v1/me", headers={"Host": f"localhost:{port}"}).status_code == 200

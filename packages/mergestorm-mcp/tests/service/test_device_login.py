"""Logging in with a code: what the program asks, what a person sees, and what a foreign page cannot do."""

from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from mergestorm_mcp.service.accounts import devices
from mergestorm_mcp.service.accounts.keys import MAX_KEYS, account_named, add_key
from mergestorm_mcp.service.pace import ManualClock, Pace
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.world import World

from .conftest import OWNER, LocalService, Start


def begin(service: LocalService) -> dict[str, Any]:
    reply = service.client(None).post("/api/v1/cli/device", json={})
    assert reply.status_code == 200
    return dict(reply.json())


def redeem(service: LocalService, code: str) -> httpx.Response:
    return service.client(None).post("/api/v1/cli/device/token", json={"device_code": code})


def decide(service: LocalService, code: str, **changes: str | None) -> httpx.Response:
    form = {
        "user_code": code,
        "account": OWNER,
        "token": service.world.run_token,
        "decision": "approve",
    } | changes
    sent = {name: value for name, value in form.items() if value is not None}
    return service.client(None).post("/device", data=sent, headers={"Origin": service.url})


def test_an_approved_code_is_worth_one_key_once(service: LocalService) -> None:
    codes = begin(service)
    assert codes["verification_uri_complete"] == f"{service.url}/device?user_code={codes['user_code']}"
    assert redeem(service, codes["device_code"]).json()["error"] == "authorization_pending"
    page = service.client(None).get(codes["verification_uri_complete"])
    assert codes["user_code"] in page.text
    assert service.world.run_token not in page.text
    assert decide(service, codes["user_code"].lower().replace("-", " ")).status_code == 200
    key = redeem(service, codes["device_code"])
    assert key.status_code == 200
    me = service.client(key.json()["api_key"]).get("/api/v1/me").json()
    assert (me["key"]["prefix"], me["key"]["name"]) == (key.json()["api_key"][:12], "mg login")
    again = redeem(service, codes["device_code"])
    assert (again.status_code, again.json()["error"]) == (400, "already_redeemed")
    assert decide(service, codes["user_code"]).status_code == 404


def test_one_code_asked_for_by_many_at_once_gives_one_key(service: LocalService) -> None:
    codes = begin(service)
    decide(service, codes["user_code"])
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: redeem(service, codes["device_code"]), range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] + [400] * 7
    with service.world.store.read() as connection:
        assert connection.execute("SELECT count(*) FROM keys WHERE name = 'mg login'").fetchone()[0] == 1


def test_a_denied_code_gives_no_key(service: LocalService) -> None:
    codes = begin(service)
    assert decide(service, codes["user_code"], decision="deny").status_code == 200
    assert redeem(service, codes["device_code"]).json()["error"] == "access_denied"


def test_a_code_is_nothing_where_nobody_made_it(untouched: LocalService) -> None:
    assert redeem(untouched, "made-up").json()["error"] == "invalid_device_code"
    assert decide(untouched, "AAAA-AAAA").status_code == 404
    assert untouched.client(None).post("/api/v1/cli/device", json={"scope": "all"}).status_code == 400


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"token": "wrong"}, 403),
        ({"token": None}, 403),
        ({"decision": "perhaps"}, 400),
        ({"decision": None}, 400),
        ({"account": "nobody"}, 404),
    ],
)
def test_an_approval_takes_the_token_of_the_run_and_a_real_choice(
    untouched: LocalService, changes: dict[str, str | None], status: int
) -> None:
    codes = begin(untouched)
    reply = decide(untouched, codes["user_code"], **changes)
    assert reply.status_code == status
    assert 'role="alert"' in reply.text
    assert redeem(untouched, codes["device_code"]).json()["error"] == "authorization_pending"


@pytest.mark.parametrize("origin", [None, "null", "https://attacker.example", "http://127.0.0.1:1"])
def test_a_form_from_elsewhere_approves_nothing_even_with_the_token(
    untouched: LocalService, origin: str | None
) -> None:
    codes = begin(untouched)
    form = {
        "user_code": codes["user_code"],
        "account": OWNER,
        "token": untouched.world.run_token,
        "decision": "approve",
    }
    headers = {} if origin is None else {"Origin": origin}
    assert untouched.client(None).post("/device", data=form, headers=headers).status_code == 403
    assert redeem(untouched, codes["device_code"]).json()["error"] == "authorization_pending"


def test_forms_are_short_and_are_forms(untouched: LocalService) -> None:
    client = untouched.client(None)
    origin = {"Origin": untouched.url}
    assert client.post("/device", json={}, headers=origin).status_code == 415
    assert client.post("/device", data={"user_code": "x" * 20_000}, headers=origin).status_code == 413


def test_the_link_of_the_start_spares_typing_the_token(service: LocalService) -> None:
    client = service.client(None)
    assert client.get("/enter?token=wrong").status_code == 403
    entered = client.get(f"/enter?token={service.world.run_token}")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    codes = begin(service)
    shown = client.get("/device").text
    assert 'name="token"' not in shown
    assert f"<option>{OWNER}</option>" in shown
    assert OWNER not in service.client(None).get("/device").text  # not told to whoever has no token
    form = {"user_code": codes["user_code"], "account": OWNER, "decision": "approve"}
    assert client.post("/device", data=form, headers={"Origin": service.url}).status_code == 200


def test_pages_load_nothing_and_escape_what_they_were_given(untouched: LocalService) -> None:
    reply = untouched.client(None).get("/device", params={"user_code": '"><script>x'})
    assert "<script" not in reply.text
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", reply.text)
    labelled = set(re.findall(r'<label for="([^"]+)"', reply.text))
    assert (
        set(re.findall(r'<(?:input|select) id="([^"]+)"', reply.text))
        == labelled
        == {"user_code", "account", "token"}
    )
    assert untouched.client(None).get("/").status_code == 403


def test_codes_are_stored_as_hashes(service: LocalService) -> None:
    codes = begin(service)
    connection = sqlite3.connect(service.world.store.path)
    dump = "\n".join(connection.iterdump())
    connection.close()
    assert codes["device_code"] not in dump
    assert codes["user_code"] in dump


def start_at_human_pace(start_service: Start) -> tuple[LocalService, ManualClock]:
    clock = ManualClock()
    return start_service(pace=Pace(clock)), clock


def test_asking_too_often_is_told_to_slow_down_and_a_code_expires(start_service: Start) -> None:
    service, clock = start_at_human_pace(start_service)
    codes = begin(service)
    assert codes["interval"] == 5
    assert redeem(service, codes["device_code"]).json()["error"] == "authorization_pending"
    hasty = redeem(service, codes["device_code"])
    assert (hasty.status_code, hasty.json()["error"]) == (400, "slow_down")
    assert hasty.json()["retry_after_seconds"] == 5
    assert hasty.headers["retry-after"] == "5"
    clock.advance(5)
    assert redeem(service, codes["device_code"]).json()["error"] == "authorization_pending"
    clock.advance(codes["expires_in"])
    assert redeem(service, codes["device_code"]).json()["error"] == "expired_token"
    assert decide(service, codes["user_code"]).status_code == 404


def test_codes_that_wait_are_limited_in_number(world: World) -> None:
    with world.store.write() as connection:
        for _ in range(50):
            devices.begin(world, connection)
        with pytest.raises(Refusal) as refused:
            devices.begin(world, connection)
        assert (refused.value.status, refused.value.error) == (429, "rate_limited")
        assert refused.value.retry_after_seconds == 600
        clock = world.pace.clock
        assert isinstance(clock, ManualClock)
        clock.advance(601)
        devices.begin(world, connection)


def test_an_account_full_of_keys_gets_none_and_may_try_again(service: LocalService) -> None:
    codes = begin(service)
    decide(service, codes["user_code"])
    with service.world.store.write() as connection:
        account = account_named(connection, OWNER)
        assert account is not None
        for number in range(MAX_KEYS - 1):
            add_key(service.world, connection, account["id"], str(number))
    assert redeem(service, codes["device_code"]).json()["error"] == "key_limit_reached"
    with service.world.store.write() as connection:
        connection.execute("UPDATE keys SET revoked_at = created_at WHERE name = '0'")
    assert redeem(service, codes["device_code"]).status_code == 200

"""`mg login` and `mg logout`: where the key comes from, where it goes, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergestorm_mcp.config import Environment, load_config
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio
KEY = "msk_live_canary_0123456789abcdef"
ME = {
    "key": {"prefix": "msk_live_can", "name": "x", "created_at": "2026-01-01T00:00:00Z", "last_used_at": None}
}
CODE = {
    "device_code": "dev-secret-1",
    "user_code": "ABCD-1234",
    "verification_uri": "https://mergestorm.ai/device",
    "verification_uri_complete": "https://mergestorm.ai/device?code=ABCD-1234",
    "interval": 3,
    "expires_in": 600,
}
Exchange = Callable[..., dict[str, Any]]


@pytest.fixture
def keyless(environment: Environment, runtime: Runtime) -> Environment:
    """An environment that names the service and no key."""
    variables = {"MERGESTORM_API_URL": environment.variables["MERGESTORM_API_URL"]}
    runtime.environment = Environment(variables, environment.home, environment.working_directory)
    return runtime.environment


async def test_a_key_is_read_from_the_input_verified_and_stored(
    mg: Any, keyless: Environment, service: Any, exchange: Exchange
) -> None:
    service.play([exchange("GET", "me", ME)])
    ran = await mg("login", "--key", "--json", given=f"{KEY}\n")
    assert ran.code == 0
    assert ran.document["status"] == "logged_in"
    assert load_config(keyless).api_key == KEY
    assert KEY not in ran.out + ran.err


async def test_a_key_that_the_service_rejects_is_not_stored(
    mg: Any, keyless: Environment, service: Any, exchange: Exchange
) -> None:
    service.play([exchange("GET", "me", status=401)])
    ran = await mg("login", "--key", "--json", given=f"{KEY}\n")
    assert (ran.code, ran.document["error"]["code"]) == (1, "auth_invalid")
    assert load_config(keyless).api_key is None
    assert KEY not in ran.out + ran.err


async def test_a_code_is_shown_and_redeemed(
    mg: Any, keyless: Environment, service: Any, exchange: Exchange
) -> None:
    service.play([
        exchange("POST", "cli/device", CODE, sent={}),
        exchange("POST", "cli/device/token", {"api_key": KEY}, sent={"device_code": "dev-secret-1"}),
    ])
    ran = await mg("login")
    assert ran.code == 0
    assert "ABCD-1234" in ran.err
    assert load_config(keyless).api_key == KEY
    assert "dev-secret-1" not in ran.out + ran.err


async def test_a_login_in_two_steps_is_pending_with_exit_5_until_it_is_approved(
    mg: Any, keyless: Environment, service: Any, exchange: Exchange
) -> None:
    service.play([exchange("POST", "cli/device", CODE, sent={})])
    started = await mg("login", "--start", "--json")
    assert started.code == 0
    assert {name: started.document[name] for name in ("status", "user_code", "verification_uri")} == {
        "status": "pending",
        "user_code": "ABCD-1234",
        "verification_uri": "https://mergestorm.ai/device?code=ABCD-1234",
    }
    token = {"sent": {"device_code": "dev-secret-1"}}
    service.play([
        exchange("POST", "cli/device/token", {"error": "authorization_pending"}, status=400, **token)
    ])
    assert (await mg("login", "--finish", "--timeout", "0")).code == 5
    service.play([exchange("POST", "cli/device/token", {"api_key": KEY}, **token)])
    assert (await mg("login", "--finish", "--json")).document["status"] == "logged_in"
    assert load_config(keyless).api_key == KEY
    assert (await mg("login", "--finish")).code == 1


async def test_logging_out_deletes_the_key_and_is_no_error_without_one(
    mg: Any, keyless: Environment, service: Any, exchange: Exchange
) -> None:
    service.play([exchange("GET", "me", ME)])
    await mg("login", "--key", given=KEY)
    assert (await mg("logout", "--json")).document == {"status": "logged_out", "deleted": True}
    assert load_config(keyless).api_key is None
    again = await mg("logout", "--json")
    assert (again.code, again.document["deleted"]) == (0, False)

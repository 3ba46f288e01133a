"""Logging in with a key, by device code at once and in two steps, against a scripted service; and logging out."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp import auth
from mergestorm_mcp.config import Environment, config_path, load_config
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime

pytestmark = pytest.mark.anyio
KEY = "msk_live_canary_0123456789abcdef"
ME = {
    "key": {"prefix": "msk_live_can", "name": "x", "created_at": "2026-01-01T00:00:00Z", "last_used_at": None}
}


def exchange(path: str, status: int, body: Any, sent: Any = None, **headers: str) -> dict[str, Any]:
    expect: dict[str, Any] = {"method": "GET" if sent is None else "POST", "path": f"/api/v1/{path}"}
    if sent is not None:
        expect["body"] = sent
    return {"expect": expect, "respond": {"status": status, "body": body, "headers": headers}}


def started(**changes: Any) -> dict[str, Any]:
    body = {
        "device_code": "dev-secret-1",
        "user_code": "ABCD-1234",
        "verification_uri": "https://mergestorm.ai/device",
        "verification_uri_complete": "https://mergestorm.ai/device?code=ABCD-1234",
        "interval": 3,
        "expires_in": 600,
        **changes,
    }
    return exchange("cli/device", 200, body, {})


def asked(status: int, body: Any, **headers: str) -> dict[str, Any]:
    return exchange("cli/device/token", status, body, {"device_code": "dev-secret-1"}, **headers)


PENDING = asked(400, {"error": "authorization_pending"})


@pytest.fixture
def keyless(runtime: Runtime, environment: Environment) -> Runtime:
    """A runtime whose environment has no key."""
    runtime.environment = Environment(
        {"MERGESTORM_API_URL": environment.variables["MERGESTORM_API_URL"]},
        environment.home,
        environment.working_directory,
    )
    return runtime


def stored_key(runtime: Runtime) -> str | None:
    return load_config(runtime.environment).api_key


async def test_a_key_is_verified_and_then_stored_with_its_service(keyless: Runtime, service: Any) -> None:
    step = exchange("me", 200, ME)
    step["expect"]["headers"] = {"authorization": f"Bearer {KEY}"}
    script = service.play([step])
    done = await auth.login_with_key(keyless, f" {KEY}\n")
    assert script.leftovers() == []
    assert stored_key(keyless) == KEY
    assert load_config(keyless.environment).api_base == service.base == done.api_base
    assert KEY not in repr(done)
    assert done.overridden is False


async def test_a_login_says_when_the_variable_wins_over_it(runtime: Runtime, service: Any) -> None:
    service.play([exchange("me", 200, ME)])
    assert (await auth.login_with_key(runtime, KEY)).overridden is True


@pytest.mark.parametrize(("status", "code"), [(401, "auth_invalid"), (404, None), (500, None), (429, None)])
async def test_a_key_that_is_not_verified_is_not_stored(
    keyless: Runtime, service: Any, status: int, code: str | None
) -> None:
    service.play([exchange("me", status, {})])
    with pytest.raises(CommandError) as refused:
        await auth.login_with_key(keyless, KEY)
    assert refused.value.code == code
    assert not os.path.exists(config_path(keyless.environment))  # noqa: ASYNC240 - one look


@pytest.mark.parametrize("key", ["", "sk_live_1", "msk_live_", "msk_live_ü", "msk_live_a\x00b"])
async def test_text_that_is_no_key_is_refused_before_any_call(
    keyless: Runtime, service: Any, key: str
) -> None:
    script = service.play([])
    with pytest.raises(CommandError) as refused:
        await auth.login_with_key(keyless, key)
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)
    assert script.leftovers() == []


async def test_a_device_login_polls_at_the_service_s_pace_until_approved(
    keyless: Runtime, service: Any, clock: Any
) -> None:
    slow = asked(429, {"error": "slow_down", "retry_after_seconds": 7})
    script = service.play([started(), PENDING, slow, PENDING, asked(200, {"api_key": KEY})])
    shown: list[auth.PendingLogin] = []
    done = await auth.login(keyless, shown.append)
    assert script.leftovers() == []
    assert clock.slept == [3, 10, 3]
    assert [item.user_code for item in shown] == ["ABCD-1234"]
    assert shown[0].verification_uri == "https://mergestorm.ai/device?code=ABCD-1234"
    assert "dev-secret-1" not in repr(shown[0])
    assert stored_key(keyless) == KEY
    assert done.api_base == service.base


async def test_the_pace_is_never_faster_than_two_seconds(keyless: Runtime, service: Any, clock: Any) -> None:
    service.play([started(interval=0.01), PENDING, asked(200, {"api_key": KEY})])
    await auth.login(keyless, lambda _: None)
    assert clock.slept == [2]


async def test_a_busy_service_is_asked_for_a_code_three_times(
    keyless: Runtime, service: Any, clock: Any
) -> None:
    busy = [exchange("cli/device", 429, {"error": "rate_limited", "retry_after_seconds": 4}, {})]
    slow = [exchange("cli/device", 400, {"error": "slow_down"}, {})]
    script = service.play([*busy, *slow, *busy])
    with pytest.raises(CommandError) as refused:
        await auth.login(keyless, lambda _: None)
    assert (refused.value.code, refused.value.retry_after_seconds) == ("rate_limited", 4)
    assert script.leftovers() == []
    assert clock.slept == [4, 5]


@pytest.mark.parametrize(
    "error", ["key_limit_reached", "expired_token", "already_redeemed", "access_denied", "odd", None]
)
async def test_a_refused_code_ends_the_login(keyless: Runtime, service: Any, error: str | None) -> None:
    script = service.play([started(), asked(400, {"error": error})])
    with pytest.raises(CommandError) as refused:
        await auth.login(keyless, lambda _: None)
    assert refused.value.exit_code == 1
    assert "dev-secret-1" not in refused.value.message
    assert script.leftovers() == []
    assert stored_key(keyless) is None


async def test_a_code_that_nobody_approves_expires(keyless: Runtime, service: Any, clock: Any) -> None:
    service.play(
        routes=[
            {"match": started()["expect"], "respond": started(expires_in=9)["respond"]},
            {"match": PENDING["expect"], "respond": PENDING["respond"]},
        ]
    )
    with pytest.raises(CommandError) as refused:
        await auth.login(keyless, lambda _: None)
    assert refused.value.exit_code == 1
    assert sum(clock.slept) == pytest.approx(9, abs=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"device_code": ""},
        {"user_code": None},
        {"verification_uri": None, "verification_uri_complete": None},
        {"verification_uri_complete": "javascript:alert(1)"},
        {"verification_uri_complete": "http://mergestorm.ai/device"},
        {"verification_uri_complete": "https://mergestorm.ai/\x1b[31m"},
    ],
)
async def test_an_unusable_answer_starts_no_login(
    keyless: Runtime, service: Any, changes: dict[str, Any]
) -> None:
    service.play([started(**changes)])
    with pytest.raises(CommandError):
        await auth.start_login(keyless)
    assert not os.path.exists(auth.pending_path(keyless))  # noqa: ASYNC240 - one look


async def test_a_login_in_two_steps_is_remembered_privately_and_forgotten_when_done(
    keyless: Runtime, service: Any
) -> None:
    service.play([started(), PENDING, asked(200, {"api_key": KEY})])
    await auth.start_login(keyless)
    path = Path(auth.pending_path(keyless))
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600  # noqa: ASYNC240 - one look
    assert json.loads(path.read_text(encoding="utf-8"))["api_base"] == service.base  # noqa: ASYNC240 - one look
    done = await auth.finish_login(keyless)
    assert stored_key(keyless) == KEY
    assert done.api_base == service.base
    assert not os.path.exists(path)  # noqa: ASYNC240 - one look


async def test_the_second_step_gives_up_after_its_time_and_can_be_repeated(
    keyless: Runtime, service: Any, clock: Any
) -> None:
    service.play([started(), PENDING, PENDING, asked(200, {"api_key": KEY})])
    await auth.start_login(keyless)
    with pytest.raises(CommandError) as waiting:
        await auth.finish_login(keyless, 2)
    assert waiting.value.exit_code == 5
    assert sum(clock.slept) <= 2
    await auth.finish_login(keyless, 0)
    assert stored_key(keyless) == KEY


async def test_the_second_step_goes_to_the_service_of_the_first(keyless: Runtime, service: Any) -> None:
    service.play([started(), asked(200, {"api_key": KEY})])
    await auth.start_login(keyless)
    keyless.environment = Environment(
        {"MERGESTORM_API_URL": "https://elsewhere.example"},
        keyless.environment.home,
        keyless.environment.working_directory,
    )
    assert (await auth.finish_login(keyless)).api_base == service.base


async def test_the_second_step_without_a_first_is_an_error(keyless: Runtime, service: Any) -> None:
    script = service.play([])
    with pytest.raises(CommandError) as refused:
        await auth.finish_login(keyless)
    assert refused.value.exit_code == 1
    assert script.leftovers() == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"device_code": "x"}', "[" * 100_000])
async def test_a_damaged_pending_login_is_no_login(keyless: Runtime, text: str) -> None:
    path = Path(auth.pending_path(keyless))
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")  # noqa: ASYNC240 - before anything runs
    with pytest.raises(CommandError) as refused:
        await auth.finish_login(keyless)
    assert refused.value.exit_code == 1


async def test_an_expired_pending_login_is_forgotten_without_a_call(
    keyless: Runtime, service: Any, clock: Any
) -> None:
    script = service.play([started(expires_in=60)])
    await auth.start_login(keyless)
    await clock.sleep(61)
    with pytest.raises(CommandError) as refused:
        await auth.finish_login(keyless)
    assert refused.value.exit_code == 1
    assert script.leftovers() == []
    assert not os.path.exists(auth.pending_path(keyless))  # noqa: ASYNC240 - one look


async def test_no_login_begins_over_a_damaged_configuration(keyless: Runtime, service: Any) -> None:
    path = Path(config_path(keyless.environment))
    path.parent.mkdir()
    path.write_text("{", encoding="utf-8")  # noqa: ASYNC240 - before anything runs
    script = service.play([])
    for begin in (
        auth.start_login(keyless),
        auth.login(keyless, lambda _: None),
        auth.login_with_key(keyless, KEY),
    ):
        with pytest.raises(CommandError) as refused:
            await begin
        assert refused.value.code == "usage"
    assert script.leftovers() == []
    assert path.read_text(encoding="utf-8") == "{"  # noqa: ASYNC240 - one look


async def test_logging_out_forgets_everything_and_may_be_repeated(keyless: Runtime, service: Any) -> None:
    service.play([started(), exchange("me", 200, ME)])
    await auth.start_login(keyless)
    await auth.login_with_key(keyless, KEY)
    assert auth.logout(keyless) is True
    assert auth.logout(keyless) is False
    assert os.listdir(os.path.dirname(config_path(keyless.environment))) == []

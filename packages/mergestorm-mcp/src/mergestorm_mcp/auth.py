"""Logging in and out (contract section 2): with a key at hand, by device code at once, or by device code in two steps.

    login_with_key    verify a key with the service, then store it
    login             device code: show link and code, wait for the approval, store the key
    start_login       the first half: link and code, remembered in a private file
    finish_login      the second half, any time before the code expires
    logout            forget key and pending login

A key is stored with the address of the service that issued it. A damaged configuration file is never overwritten, and
that is found out before anything is asked of the service. Nothing here prints; the command line does.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mcpkit.files import FileAccessError, read_regular
from mergestorm_mcp.config import (
    MAX_CONFIG_BYTES,
    active_base,
    checked_base,
    config_directory,
    delete_config,
    is_loopback,
    key_display,
    require_sound,
    save_config,
    write_private,
)
from mergestorm_mcp.errors import EXIT_TIMEOUT, CommandError, rate_limited, usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line

if TYPE_CHECKING:
    from mergestorm_mcp.api.client import Api, Reply

__all__ = [
    "FINISH_SECONDS",
    "KEY_PREFIX",
    "LoggedIn",
    "PendingLogin",
    "finish_login",
    "login",
    "login_with_key",
    "logout",
    "pending_path",
    "start_login",
]

KEY_PREFIX: Final = "msk_live_"
FINISH_SECONDS: Final = 30.0
"""How long `finish_login` waits for the approval unless told otherwise."""

_STARTS: Final = 3  # tries to get a code
_LONGEST_PAUSE: Final = 60.0  # seconds; a longer one is the person's to wait
_DEFAULT_INTERVAL: Final = 5.0
_SHORTEST_INTERVAL: Final = 2.0
_DEFAULT_LIFE: Final = 600.0
_MAX_SECONDS: Final = 1e12  # since the epoch or from now; nothing beyond is a time
_LONGEST_LIFE: Final = 3600.0
_SLOW: Final = frozenset({"slow_down", "rate_limited"})
_ENDINGS: Final = {
    "key_limit_reached": "The account has as many keys as it may have; delete one on Mergestorm, then log in again.",
    "expired_token": "The code has expired; log in again.",
    "already_redeemed": "The code was used already; log in again.",
    "access_denied": "The login was denied; log in again if that was a mistake.",
}


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A stored login.

    Attributes:
        key_prefix: the beginning of the key, fit to be shown.
        api_base: the service it belongs to.
        config_path: where it is stored.
        overridden: MERGESTORM_API_KEY is set and wins over what was stored.
    """

    key_prefix: str
    api_base: str
    config_path: str
    overridden: bool


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A login that waits for a person's approval.

    Attributes:
        device_code: what the key is redeemed with; a secret, never in the repr.
        user_code: what the person compares.
        verification_uri: the page to approve on, with the code in it where the service offers that.
        interval: seconds between two questions.
        expires_at: end of the code's life, seconds since the epoch.
        api_base: the service.
    """

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    interval: float
    expires_at: float
    api_base: str


async def login_with_key(runtime: Runtime, key: str) -> LoggedIn:
    """Verify a key with the service and store it.

    Raises:
        CommandError: `usage` for text that is no key; `auth_invalid` if the service rejects it; without a code if it
            could not be verified. Nothing is stored then.
    """
    from mergestorm_mcp.api.client import Api
    from mergestorm_mcp.api.me import read_me

    key = key.strip()
    if (
        not key.startswith(KEY_PREFIX)
        or len(key) <= len(KEY_PREFIX)
        or not key.isascii()
        or not key.isprintable()
    ):
        raise usage(f"An API key begins with {KEY_PREFIX}; copy it from Mergestorm's settings page.")
    base = _ready_base(runtime)
    try:
        me = await read_me(Api(runtime.connections, base, key, runtime.clock))
    except CommandError as error:
        if error.code != "auth_invalid":
            raise
        raise CommandError("Mergestorm rejected the key, so it was not saved.", code="auth_invalid") from None
    if me is None:
        raise CommandError(f"The key could not be verified with {base}, so it was not saved; try again.")
    return _store(runtime, key, base)


async def login(runtime: Runtime, show: Callable[[PendingLogin], None]) -> LoggedIn:
    """Log in by device code and wait until the person approves, denies or lets the code expire.

    Args:
        runtime: the outside world.
        show: tells the person where to approve; called once.

    Raises:
        CommandError: without a code, saying how the login ended; `rate_limited`.
    """
    pending = await _request(runtime)
    show(pending)
    return await _redeem(runtime, pending, pending.expires_at - runtime.clock.now())


async def start_login(runtime: Runtime) -> PendingLogin:
    """Get a code and remember it; an earlier pending login is replaced.

    Raises:
        CommandError: as `login`.
    """
    pending = await _request(runtime)
    stored = {
        "device_code": pending.device_code,
        "user_code": pending.user_code,
        "verification_uri_complete": pending.verification_uri,
        "interval": pending.interval,
        "expires_at": pending.expires_at,
        "api_base": pending.api_base,
    }
    write_private(runtime.environment, pending_path(runtime), stored)
    return pending


async def finish_login(runtime: Runtime, seconds: float = FINISH_SECONDS) -> LoggedIn:
    """Redeem the remembered code, waiting a while for the approval.

    Args:
        runtime: the outside world.
        seconds: how long to wait; 0 asks once.

    Raises:
        CommandError: exit 5 while the approval is still missing (the login stays pending); exit 1 if no login is
            pending or the code cannot be redeemed any more (it is forgotten).
    """
    pending = _remembered(runtime)
    require_sound(runtime.environment)
    left = pending.expires_at - runtime.clock.now()
    if left <= 0:
        _forget(runtime)
        raise CommandError("The pending login has expired; start a new one with `mg login --start`.")
    try:
        done = await _redeem(runtime, pending, min(seconds, left))
    except _StillPending:
        raise CommandError(
            "The login is not approved yet. Open the link, approve, then run `mg login --finish` again.",
            exit_code=EXIT_TIMEOUT,
        ) from None
    except _Ended as ended:
        _forget(runtime)
        raise CommandError(ended.message) from None
    _forget(runtime)
    return done


def logout(runtime: Runtime) -> bool:
    """Delete the stored key and any pending login; says whether there was a key.

    Raises:
        CommandError: the file cannot be deleted.
    """
    _forget(runtime)
    return delete_config(runtime.environment)


def pending_path(runtime: Runtime) -> str:
    """Where a login started with `start_login` is remembered."""
    return os.path.join(config_directory(runtime.environment), "pending-login.json")


class _Ended(CommandError):
    """The code cannot be redeemed any more."""


class _StillPending(CommandError):
    """Nobody has approved yet."""


def _ready_base(runtime: Runtime) -> str:
    """The service to log in to, once it is sure that the login could be stored."""
    return active_base(runtime.environment, require_sound(runtime.environment))


def _store(runtime: Runtime, key: str, base: str) -> LoggedIn:
    path = save_config(runtime.environment, api_key=key, api_base=base)
    overridden = bool(runtime.environment.text("MERGESTORM_API_KEY"))
    return LoggedIn(key_display(key), base, path, overridden)


async def _request(runtime: Runtime) -> PendingLogin:
    from mergestorm_mcp.api.device import request_device_code

    base = _ready_base(runtime)
    api = _keyless(runtime, base)
    left = _STARTS
    while True:
        reply = await request_device_code(api)
        left -= 1
        if reply.ok:
            return _pending(reply, base, runtime.clock.now())
        if reply.status != 429 and not (reply.status == 400 and reply.text("error") in _SLOW):
            raise CommandError(f"Mergestorm did not start a login (HTTP {reply.status}); try again.")
        pause = _DEFAULT_INTERVAL if reply.retry_after is None else reply.retry_after
        if not left or pause > _LONGEST_PAUSE:
            raise rate_limited(reply.retry_after)
        await runtime.clock.sleep(pause)


def _pending(reply: Reply, base: str, now: float) -> PendingLogin:
    device_code, user_code = reply.text("device_code"), reply.text("user_code")
    link = reply.text("verification_uri_complete") or reply.text("verification_uri")
    if device_code is None or user_code is None or link is None or not _is_web_link(link):
        raise CommandError("Mergestorm's answer to the login request was incomplete; try again.")
    life = min(_positive(reply.member("expires_in"), _DEFAULT_LIFE), _LONGEST_LIFE)
    interval = _interval(reply.member("interval"))
    return PendingLogin(device_code, one_line(user_code, 100), link, interval, now + life, base)


async def _redeem(runtime: Runtime, pending: PendingLogin, seconds: float) -> LoggedIn:
    from mergestorm_mcp.api.device import redeem_device_code

    api = _keyless(runtime, pending.api_base)
    clock = runtime.clock
    deadline = clock.monotonic() + seconds
    while True:
        reply = await redeem_device_code(api, pending.device_code)
        key = reply.text("api_key")
        if reply.ok and key is not None:
            return _store(runtime, key.strip(), pending.api_base)
        error = reply.text("error")
        pause = pending.interval
        if error in _SLOW or reply.status == 429:
            pause += pending.interval if reply.retry_after is None else min(reply.retry_after, _LONGEST_PAUSE)
        elif error != "authorization_pending":
            ending = _ENDINGS.get(error or "")
            raise _Ended(ending or f"The login failed (HTTP {reply.status}); log in again.")
        if clock.now() >= pending.expires_at:
            raise _Ended(_ENDINGS["expired_token"])
        left = deadline - clock.monotonic()
        if left <= 0:
            raise _StillPending("nobody has approved yet")
        await clock.sleep(min(pause, left))


def _keyless(runtime: Runtime, base: str) -> Api:
    from mergestorm_mcp.api.client import Api

    return Api(runtime.connections, base, None, runtime.clock)


def _remembered(runtime: Runtime) -> PendingLogin:
    nothing = CommandError("No login is pending; start one with `mg login --start`.")
    try:
        stored = json.loads(read_regular(pending_path(runtime), max_bytes=MAX_CONFIG_BYTES))
    except (FileAccessError, ValueError, RecursionError):
        raise nothing from None
    if not isinstance(stored, dict):
        raise nothing
    texts = [str(stored.get(name) or "") for name in ("device_code", "user_code", "api_base")]
    if not all(texts):
        raise nothing
    return PendingLogin(
        device_code=texts[0],
        user_code=texts[1],
        verification_uri=str(stored.get("verification_uri_complete") or ""),
        interval=_interval(stored.get("interval")),
        expires_at=_positive(stored.get("expires_at"), 0.0),
        api_base=checked_base(texts[2]),
    )


def _forget(runtime: Runtime) -> None:
    with contextlib.suppress(OSError):  # gone already, or not ours to delete: it expires by itself
        os.unlink(pending_path(runtime))


def _is_web_link(link: str) -> bool:
    # It is opened in a browser and shown in a terminal.
    if not link.isascii() or not link.isprintable() or " " in link:
        return False
    try:
        parts = urlsplit(link)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(link)))


def _interval(value: Any) -> float:
    return min(max(_positive(value, _DEFAULT_INTERVAL), _SHORTEST_INTERVAL), _LONGEST_PAUSE)


def _positive(value: Any, default: float) -> float:
    fits = (
        # Compared, not converted: a whole number may be larger than any float.
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _MAX_SECONDS
    )
    return float(value) if fits else default

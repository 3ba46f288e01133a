"""`mg login` and `mg logout`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from mergestorm_mcp import auth
from mergestorm_mcp.mg.outcome import Call, Outcome
from mergestorm_mcp.mg.terminal import Terminal

__all__ = ["COMMANDS"]


async def login(call: Call) -> Outcome:
    """Log in one way or another, and say where the key went."""
    values, runtime, terminal = call.values, call.runtime, call.terminal
    if values.get("start"):
        pending = await auth.start_login(runtime)
        document = {
            "status": "pending",
            "verification_uri": pending.verification_uri,
            "user_code": pending.user_code,
            "expires_at": datetime.fromtimestamp(pending.expires_at, UTC).isoformat(timespec="seconds"),
        }
        return Outcome(document, lambda shown: _show_pending(shown.line, pending, finish=True))
    if values.get("finish"):
        with terminal.waiting("Waiting for the approval"):
            return _stored(await auth.finish_login(runtime, values.get("timeout", auth.FINISH_SECONDS)))
    if values.get("key"):
        return _stored(await auth.login_with_key(runtime, terminal.secret("API key: ")))

    def show(pending: auth.PendingLogin) -> None:
        _show_pending(terminal.note, pending, finish=False)
        if terminal.err.isatty():
            _open_browser(pending.verification_uri)

    with terminal.waiting("Waiting for the approval"):
        return _stored(await auth.login(runtime, show))


async def logout(call: Call) -> Outcome:
    """Delete what a login stored."""
    had_key = auth.logout(call.runtime)
    text = "Logged out; the stored key is deleted." if had_key else "There was no stored key."
    if call.runtime.environment.text("MERGESTORM_API_KEY"):
        text += " MERGESTORM_API_KEY is still set and still works."
    return Outcome({"status": "logged_out", "deleted": had_key}, lambda terminal: terminal.line(text))


COMMANDS: Final = {"login": login, "logout": logout}


def _stored(done: auth.LoggedIn) -> Outcome:
    document: dict[str, Any] = {
        "status": "logged_in",
        "key_prefix": done.key_prefix,
        "api_base": done.api_base,
        "config_path": done.config_path,
        "overridden": done.overridden,
    }

    def show(terminal: Terminal) -> None:
        terminal.line(f"Logged in to {done.api_base} with {done.key_prefix}, stored in {done.config_path}.")
        if done.overridden:
            terminal.note("MERGESTORM_API_KEY is set and is used instead of the stored key.")

    return Outcome(document, show)


def _show_pending(say: Any, pending: auth.PendingLogin, *, finish: bool) -> None:
    say(f"Open {pending.verification_uri} and approve code {pending.user_code}.")
    say("Then run: mg login --finish" if finish else "This command waits for it; Ctrl+C gives up.")


def _open_browser(address: str) -> None:
    import webbrowser

    # Some browsers' launchers block; the address is on the screen in any case.
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, webbrowser.open, address)

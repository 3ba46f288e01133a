"""The device login: its two calls without a key, and the page on which a person approves."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any, Literal, cast

from pydantic import StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.accounts import devices
from mergestorm_mcp.service.http.bodies import Body
from mergestorm_mcp.service.http.endpoints import Call, endpoint
from mergestorm_mcp.service.http.pages import Page, Visit, entrance, page
from mergestorm_mcp.service.refusals import Refusal

__all__ = ["routes"]


class _TokenBody(Body):
    device_code: Annotated[str, StringConstraints(min_length=1, max_length=200)]


def routes() -> list[Route]:
    """Logging in with a code."""
    return [
        endpoint("POST", "/api/v1/cli/device", _begin, authenticated=False),
        endpoint("POST", "/api/v1/cli/device/token", _redeem, body=_TokenBody, authenticated=False),
        entrance(),
        page("GET", "/device", _ask),
        page("POST", "/device", _decide),
    ]


def _begin(call: Call) -> dict[str, Any]:
    with call.world.store.write() as connection:
        return devices.begin(call.world, connection)


def _redeem(call: Call) -> dict[str, Any]:
    return devices.redeem(call.world, call.body.device_code)


def _ask(visit: Visit) -> Page:
    return _question(visit, visit.query.get("user_code", ""))


def _decide(visit: Visit) -> Page:
    code, login = visit.form.get("user_code", ""), visit.form.get("account", "")
    decision = visit.form.get("decision", "")
    if not visit.trusted:
        return _question(visit, code, "The run token is not the one of this run.", 403)
    if decision not in {"approve", "deny"}:
        return _question(visit, code, "Approve the login or deny it.", 400)
    try:
        with visit.world.store.write() as connection:
            devices.decide(visit.world, connection, code, cast("Literal['approve', 'deny']", decision), login)
    except Refusal as refusal:
        return _question(visit, code, refusal.message, refusal.status)
    if decision == "deny":
        return Page("Login denied", '<p role="status">The program gets no key.</p>')
    return Page(
        "Login approved",
        f'<p role="status">The program that showed this code gets a key of {escape(login)}.</p>'
        "<p>You can close this page.</p>",
    )


def _question(visit: Visit, code: str, problem: str = "", status: int = 200) -> Page:
    alert = f'<p role="alert">{escape(problem)}</p>\n' if problem else ""
    token = (
        ""
        if visit.trusted
        else '<label for="token">Run token</label>\n'
        '<input id="token" name="token" type="password" required autocomplete="off" aria-describedby="token-help">\n'
        '<p id="token-help">What stands behind <code>token=</code> in the link that <code>mergestorm-local serve</code> printed when it started. Open that link first, and you are not asked.</p>\n'
    )
    return Page(
        "Approve a login",
        f"{alert}<p>A program asks for a key of a local account. Approve only if you see the same code there.</p>\n"
        '<form method="post" action="/device">\n'
        '<label for="user_code">Code</label>\n'
        f'<input id="user_code" name="user_code" value="{escape(code[:32])}" required maxlength="32" autocomplete="off" '
        'autocapitalize="characters" spellcheck="false">\n'
        f'<label for="account">Account</label>\n{_account_field(visit)}\n'
        f"{token}"
        '<button type="submit" name="decision" value="approve">Approve</button>\n'
        '<button type="submit" name="decision" value="deny">Deny</button>\n'
        "</form>",
        status,
    )


def _account_field(visit: Visit) -> str:
    """A choice of the accounts; who has not shown the run token is not told which there are."""
    if not visit.trusted:
        return '<input id="account" name="account" required maxlength="100" autocomplete="off" spellcheck="false">'
    with visit.world.store.read() as connection:
        logins = [row["login"] for row in connection.execute("SELECT login FROM accounts ORDER BY id")]
    choices = "".join(f"<option>{escape(login)}</option>" for login in logins)
    return f'<select id="account" name="account" required>{choices}</select>'

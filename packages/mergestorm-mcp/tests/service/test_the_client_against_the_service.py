"""The package's own command line against the local service, over real HTTP."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp.mg.main import main

from .conftest import OWNER, LocalService

Mg = Callable[..., Any]


@pytest.fixture
def mg(
    service: LocalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Mg]:
    """`mg` with a home of its own, pointed at the service; gives the document it prints."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("MERGESTORM_API_KEY", "MERGESTORM_SANDBOX_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MERGESTORM_API_URL", service.url)
    before = signal.getsignal(signal.SIGTERM)

    def run(*words: str, code: int = 0) -> Any:
        ended = main([*words, "--json"])
        out, errors = capsys.readouterr()
        assert ended == code, errors
        return json.loads(out)

    yield run
    signal.signal(signal.SIGTERM, before)


def test_a_login_by_code_and_what_follows_from_it(service: LocalService, mg: Mg) -> None:
    with service.world.store.write() as connection:
        repository = service.world.hub.create_repository(connection, "acme", "shop")
        service.world.hub.set_permission(connection, repository.id, OWNER, "write")
        service.world.hub.install_app(connection, repository.id, "surge")
    assert mg("whoami", code=1)["error"]["code"] == "missing_api_key"
    begun = mg("login", "--start")
    link = begun["verification_uri"]
    assert link.startswith(service.url)
    form = {
        "user_code": begun["user_code"],
        "account": OWNER,
        "token": service.world.run_token,
        "decision": "approve",
    }
    approved = httpx.post(
        f"{service.url}/device", data=form, headers={"Origin": service.url}, trust_env=False
    )
    assert approved.status_code == 200
    mg("login", "--finish")
    assert mg("whoami")["key_prefix"].startswith("msk_live_")
    assert mg("settings", "--auto-patch", "on")["auto_patch_enabled"] is True
    assert mg("repo-settings", "acme/shop", "--auto-review", "off")["auto_review_enabled"] is False
    made = mg("issue", "create", "Tide table is empty", "--repo", "acme/shop")
    assert (made["created"], made["number"]) == (True, 1)
    assert mg("issue", "create", "Tide table is empty", "--repo", "acme/shop")["created"] is False
    assert mg("credits")["usage"]["standard"]["used"] == 0

"""The package's own command line against the local service, both as real processes or real HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import OWNER, LocalService

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = eval(y)\n"


class Mg:
    """`mg` with a home and a folder of its own."""

    def __init__(self, service: LocalService, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")
        } | {
            "HOME": str(folder / "home"),
            "USERPROFILE": str(folder / "home"),
            "MERGESTORM_API_URL": service.url,
        }
        (folder / "home").mkdir()

    def __call__(self, *words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "mergestorm_mcp.mg.main", *words, "--json"],
            capture_output=True,
            encoding="utf-8",
            cwd=self.folder,
            env=self.environment,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)


@pytest.mark.slow
def test_a_login_by_code_and_what_follows_from_it(service: LocalService, tmp_path: Path) -> None:
    with service.world.store.write() as connection:
        repository = service.world.hub.create_repository(connection, "acme", "shop")
        service.world.hub.set_permission(connection, repository.id, OWNER, "write")
        service.world.hub.install_app(connection, repository.id, "surge")
    mg = Mg(service, tmp_path)
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

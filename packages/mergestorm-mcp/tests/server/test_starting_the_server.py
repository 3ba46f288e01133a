"""The console script in a process of its own: prompt, keyless until a call, and honest over stdio."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from mcpkit.testing import connect_stdio
from mergestorm_mcp import __version__

SERVER = [sys.executable, "-m", "mergestorm_mcp.main"]
HEAVY = ("httpx", "fastmcp", "mcp", "pydantic", "anyio", "asyncio", "rich", "typing", "json.decoder")


def environment_of(service: Any, folders: dict[str, str], **changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    homes = {"HOME": folders["home"], "USERPROFILE": folders["home"]}
    return {**kept, **homes, "MERGESTORM_API_URL": service.base, **changes}


def test_importing_the_script_imports_nothing_heavy() -> None:
    code = "import sys; before = set(sys.modules); import mergestorm_mcp.main; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    loaded = done.stdout.split()
    assert "mergestorm_mcp.main" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_version_is_told() -> None:
    done = subprocess.run(
        [*SERVER, "--version"], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert __version__ in done.stdout


def test_arguments_are_refused() -> None:
    done = subprocess.run([*SERVER, "stray"], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.anyio
async def test_without_a_key_the_tools_are_listed_and_answer_that_it_is_missing(
    service: Any, folders: dict[str, str]
) -> None:
    script = service.play([])
    async with connect_stdio(SERVER, env=environment_of(service, folders), cwd=folders["work"]) as client:
        await client.initialize()
        assert {tool["name"] for tool in await client.tools()} >= {"whoami", "settings_set"}
        outcome = await client.call("whoami")
        assert await client.finish() == 0
    assert outcome.structured["error"]["code"] == "missing_api_key"
    assert outcome.structured["error"]["exit_code"] == 1
    assert script.leftovers() == []


@pytest.mark.anyio
async def test_a_login_takes_effect_without_a_restart(service: Any, folders: dict[str, str]) -> None:
    me = {"key": {"prefix": "msk_live_can", "name": None}, "plan_key": "team"}
    exchange = {
        "expect": {
            "method": "GET",
            "path": "/api/v1/me",
            "headers": {"authorization": "Bearer msk_live_canary_0123456789"},
        },
        "respond": {"status": 200, "body": me},
    }
    service.play([exchange])
    async with connect_stdio(SERVER, env=environment_of(service, folders), cwd=folders["work"]) as client:
        await client.initialize()
        assert (await client.call("whoami")).structured["error"]["code"] == "missing_api_key"
        os.mkdir(os.path.join(folders["home"], ".mergestorm"))
        with open(os.path.join(folders["home"], ".mergestorm", "config.json"), "w", encoding="utf-8") as file:  # noqa: ASYNC230 - a few bytes
            file.write('{"apiKey": "msk_live_canary_0123456789"}')
        outcome = await client.call("whoami")
    assert outcome.structured["key_prefix"] == "msk_live_can"
    assert "canary_0123456789" not in str(outcome.result)

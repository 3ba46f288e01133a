"""A canary key in a real process: on no stdout, stderr, reply, log, repr, traceback or dump, whatever goes wrong."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_memory, connect_stdio
from mergestorm_mcp.api.client import Api, Connections
from mergestorm_mcp.clock import SystemClock
from mergestorm_mcp.config import Access, Environment, StoredConfig, load_config, resolve_access, save_config
from mergestorm_mcp.fault_reports import MaskedReports, mask_reports, masked_report
from mergestorm_mcp.runtime import Runtime

KEY = "msk_live_canary_0123456789abcdef"
SECRET_PART = KEY.removeprefix("msk_live_")
SERVER = [sys.executable, "-m", "mergestorm_mcp.main"]
# The same program with a fault of ours in it, of the worst kind: its words hold the header with the key.
FAULTY = """
import sys
import mergestorm_mcp.api.client as client

async def broken(self, *arguments, **options):
    raise RuntimeError(f"cannot send {{'Authorization': 'Bearer {self._key}'}} with {self._key}")

client.Api.request = broken
from mergestorm_mcp.%s import main
sys.exit(main())
"""
CALLS: dict[str, dict[str, Any]] = {
    "whoami": {},
    "credits": {},
    "review_list": {},
    "review_submit": {"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "base": "main"},
    "review_wait": {"job_id": "j1", "timeout_s": 0},
    "review_wait_pr": {"owner": "o", "repo": "r", "pr_number": 7, "timeout_s": 0},
    "review_dismiss": {"owner": "o", "repo": "r", "pr_number": 7, "head_sha": "a" * 40, "review_id": 3},
    "issue_create": {"title": "t", "owner": "o", "repo": "r"},
    "stack_adopt": {"owner": "o", "repo": "r", "pr_number": 7},
    "stack_list": {},
    "stack_publish": {},
    "stack_publish_status": {"owner": "o", "repo": "r", "branch": "b"},
    "stack_set": {"stack_id": "s", "auto_land": True},
    "stack_status": {"stack_id": "s"},
    "stack_wait": {"stack_id": "s", "timeout_s": 0},
    "queue_status": {},
    "settings_get": {},
    "settings_set": {"auto_land_default": True},
    "repo_settings_get": {},
    "repo_settings_set": {"owner": "o", "repo": "r", "auto_land": True},
}


def environment_of(base: str, folders: dict[str, str], **changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
    homes = {"HOME": folders["home"], "USERPROFILE": folders["home"]}
    # Everything that makes a Python program say more than it should.
    loud = {"PYTHONFAULTHANDLER": "1", "HTTPX_LOG_LEVEL": "trace", "FASTMCP_LOG_LEVEL": "DEBUG"}
    return {**kept, **homes, **loud, "MERGESTORM_API_URL": base, **changes}


async def calls_of(
    command: list[str], environment: dict[str, str], cwd: str, *, rounds: int = 1
) -> tuple[str, str]:
    """Everything a server wrote while each tool was called: stdout's messages and stderr."""
    async with connect_stdio(command, env=environment, cwd=cwd, deadline=60) as client:
        said: list[Any] = [await client.initialize(), await client.tools()]
        for name, arguments in [*CALLS.items()] * rounds:
            params = {"name": name, "arguments": arguments}
            said.append(
                await client.exchange({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params})
            )
        assert await client.finish() == 0
        said += client.strays
        return json.dumps([repr(item) for item in said]), client.process.stderr


@pytest.mark.anyio
@pytest.mark.parametrize("kept_in", ["the environment", "the file"])
async def test_a_service_that_echoes_the_key_makes_no_tool_say_it(
    checkout: Any, folders: dict[str, str], raw_service: Any, answer: Callable[..., bytes], kept_in: str
) -> None:
    checkout.commit({"a": b"1\n"})

    async def handler(stream: Any, number: int) -> None:
        head = service.requests[number - 1]
        seen = dict.fromkeys(
            ("message", "error", "reason", "status", "job_id", "state", "summary", "title"), head
        )
        echo = {
            **seen,
            "items": [seen],
            "stacks": [{"id": KEY, "layers": [seen]}],
            "entries": [seen],
            "key": seen,
        }
        status = (200, 401, 500)[number % 3]
        await stream.send(answer(status, json.dumps(echo).encode(), f"Retry-After: {KEY}"))

    async with raw_service(handler) as service:
        changes = {"MERGESTORM_API_KEY": KEY} if kept_in == "the environment" else {}
        if not changes:
            save_config(Environment({}, folders["home"], ""), api_key=KEY, api_base=service.base)
        environment = environment_of(service.base, folders, **changes)
        out, err = await calls_of(SERVER, environment, folders["work"], rounds=3)
        assert sum(KEY in head for head in service.requests) >= 3 * (len(CALLS) - 1)
    assert SECRET_PART not in out + err
    assert "Traceback" not in err


@pytest.mark.anyio
async def test_a_fault_of_ours_is_told_with_its_place_and_without_the_key(folders: dict[str, str]) -> None:
    environment = environment_of("http://127.0.0.1:1", folders, MERGESTORM_API_KEY=KEY)
    out, err = await calls_of([sys.executable, "-c", FAULTY % "main"], environment, folders["work"])
    assert "internal_error" in out
    assert "RuntimeError" in err
    assert "in broken" in err
    assert SECRET_PART not in out + err


def test_a_fault_of_the_command_line_is_told_without_the_key(folders: dict[str, str]) -> None:
    environment = environment_of("http://127.0.0.1:1", folders, MERGESTORM_API_KEY=KEY)
    done = subprocess.run(
        [sys.executable, "-c", FAULTY % "mg.main", "whoami"],
        env=environment,
        cwd=folders["work"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert SECRET_PART not in done.stdout + done.stderr


def test_no_repr_or_dump_of_what_holds_the_key_shows_it(folders: dict[str, str], tmp_path: Path) -> None:
    environment = Environment({"MERGESTORM_API_KEY": KEY}, folders["home"], folders["work"])
    place = Path(folders["home"], ".mergestorm", "config.json")
    place.parent.mkdir()
    place.write_text(json.dumps({"apiKey": KEY}), encoding="utf-8")
    stored, access = load_config(environment), resolve_access(environment)
    assert (stored.api_key, access.key) == (KEY, KEY)
    api = Api(Connections(), access.base, access.key, SystemClock(), access)
    runtime = Runtime(environment=environment)
    for holder in (environment, stored, access, api, runtime, StoredConfig("p", KEY), Access("b", KEY, "p")):
        assert SECRET_PART not in f"{holder!r} {holder}"
    # Tracebacks of Python and of its fault handler show code and not values.
    with pytest.raises(ValueError, match="on purpose") as raised:
        _fail_with(api, environment, KEY)
    shown = "".join(traceback.TracebackException.from_exception(raised.value).format())
    dump = tmp_path / "dump"
    with dump.open("w", encoding="utf-8") as file:
        faulthandler.dump_traceback(file)
    assert SECRET_PART not in shown + dump.read_text(encoding="utf-8")


def _fail_with(_api: Api, _environment: Environment, _key: str) -> None:
    raise ValueError("on purpose")


def test_a_report_keeps_everything_but_the_key(folders: dict[str, str]) -> None:
    environment = Environment(
        {"MERGESTORM_API_KEY": "odd:key:without:a:form"}, folders["home"], folders["work"]
    )
    error = RuntimeError("seen odd:key:without:a:form and msk_live_another_0123456789 in header")
    assert re.search(
        r"RuntimeError: seen \[key hidden\] and \S*\*\S* in header", masked_report(error, environment)
    )


def test_log_records_are_masked_once(folders: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    environment = Environment({"MERGESTORM_API_KEY": KEY}, folders["home"], folders["work"])
    mask_reports(environment)
    mask_reports(environment)
    logger = logging.getLogger("asyncio")
    assert len([item for item in logger.filters if isinstance(item, MaskedReports)]) == 1
    record = logger.makeRecord("asyncio", logging.ERROR, __file__, 1, "went %s", (KEY,), None)
    assert MaskedReports(environment).filter(record) is True
    assert record.getMessage() == "went [key hidden]"


@pytest.mark.anyio
async def test_debug_logs_of_every_library_are_free_of_it(
    server: Any,
    runtime: Runtime,
    raw_service: Any,
    answer: Callable[..., bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(stream: Any, _number: int) -> None:
        await stream.send(answer(200, b'{"items": [], "entries": []}'))

    for name in ("httpx", "httpcore", "asyncio", "anyio", "fastmcp", "mcp", "mcpkit"):
        caplog.set_level(logging.DEBUG, logger=name)
    async with raw_service(handler) as service:
        own = runtime.environment
        environment = Environment(
            {"MERGESTORM_API_URL": service.base, "MERGESTORM_API_KEY": KEY}, own.home, own.working_directory
        )
        async with connect_memory(server(environment)) as client:
            await client.initialize()
            for name in ("review_list", "queue_status", "whoami"):
                await client.call(name)
        assert KEY in service.requests[0]
    assert "send_request_headers" in caplog.text
    assert SECRET_PART not in caplog.text

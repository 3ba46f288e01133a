"""The ten lines by which an existing FastMCP server, which knows nothing of this workspace, gets the adapter."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpkit import stdio

EXISTING_SERVER = """
from fastmcp import FastMCP

mcp = FastMCP("Weather")

@mcp.tool
def forecast(city: str, days: int = 1) -> str:
    return f"{days} sunny day(s) in {city}"

@mcp.tool
def broken() -> str:
    raise RuntimeError("secret of the server")
"""

RECIPE = """
import sys
from mcpkit import stdio

SURFACE = "surface.json"

if sys.argv[1:] == ["snapshot"]:
    import asyncio, weather
    from mcpkit.surface import generate
    open(SURFACE, "w", encoding="utf-8").write(asyncio.run(generate(weather.mcp)).dump())
else:
    raise SystemExit(stdio.run("weather:mcp", surface=SURFACE))
"""


def test_an_existing_fastmcp_server_gets_the_adapter_in_ten_lines(
    workshop: Any, messages: Any, tmp_path: Path
) -> None:
    assert len([line for line in RECIPE.splitlines() if line.strip()]) <= 10
    workshop.write("weather.py", EXISTING_SERVER)
    main = workshop.write("main.py", RECIPE)
    snapshot = workshop.start_command([sys.executable, str(main), "snapshot"])
    assert snapshot.wait() == 0
    recorded = json.loads((tmp_path / "surface.json").read_text(encoding="utf-8"))

    server = workshop.start_command([sys.executable, str(main)])
    assert server.ask(messages.initialize())["result"] == recorded["initialize"]["2025-11-25"]
    assert server.ask(messages.request(1, "tools/list"))["result"] == recorded["tools/list"]["2025-11-25"]
    good = server.ask(messages.call(2, "forecast", city="Oslo"))["result"]
    assert good["structuredContent"] == {"result": "1 sunny day(s) in Oslo"}
    refused = server.ask(messages.call(3, "forecast", city=["x-secret-x"]))["result"]
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"]["kind"] == "invalid_arguments"
    assert refused["structuredContent"]["error"]["field"] == "city"
    assert "x-secret-x" not in json.dumps(refused)
    masked = server.ask(messages.call(4, "broken"))["error"]
    assert (masked["code"], masked["data"]["kind"]) == (-32603, "internal_error")
    assert "secret of the server" not in json.dumps(masked)
    server.write(b"this is not JSON\n")
    assert server.reply(None)["error"]["code"] == -32700
    assert server.ask(messages.call(5, "forecast", city="Rome", days=2))["result"]["isError"] is False
    assert server.end() == 0


def test_a_target_may_also_be_a_function_that_builds_the_server(workshop: Any, messages: Any) -> None:
    workshop.write("weather.py", EXISTING_SERVER + "\ndef create():\n    return mcp\n")
    main = workshop.write(
        "main.py", "from mcpkit import stdio\nraise SystemExit(stdio.run('weather:create'))\n"
    )
    server = workshop.start_command([sys.executable, str(main)])
    assert server.ask(messages.initialize())["result"]["serverInfo"]["name"] == "Weather"
    assert server.end() == 0


@pytest.mark.parametrize("target", ["weather", "weather:", ":mcp", ""])
def test_a_target_without_module_or_name_is_refused_before_the_streams_are_taken(target: str) -> None:
    before = os.fstat(1)
    with pytest.raises(ValueError):
        stdio.run(target)
    assert os.path.samestat(os.fstat(1), before)


def test_a_hostile_checkout_configures_nothing(workshop: Any, messages: Any) -> None:
    workshop.write(".env", "FASTMCP_PORT=4321\nFASTMCP_MASK_ERROR_DETAILS=false\n")
    workshop.environment["FASTMCP_LOG_LEVEL"] = "DEBUG"
    server = workshop.start(
        """
import fastmcp
app = fastmcp.FastMCP("small", version="1")
@app.tool
def settings() -> dict[str, object]:
    return {"port": fastmcp.settings.port, "log_level": fastmcp.settings.log_level}
"""
    )
    server.ask(messages.initialize())
    found = server.ask(messages.call(1, "settings"))["result"]["structuredContent"]
    assert found == {"port": 8000, "log_level": "INFO"}
    assert server.end() == 0
    assert server.errors() == ""

"""Keep-alive calls per second against FastMCP's own HTTP application, both measured in one run, in turns."""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcpkit.testing import connect_http, start_server

pytestmark = [pytest.mark.anyio, pytest.mark.soak]

HELLO_WORLD = """
import sys
from mcpkit.isolation import seal_settings
seal_settings()
from fastmcp import FastMCP
app = FastMCP("hello")

@app.tool
def echo(text: str = "") -> dict:
    return {"text": text}

app.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), path="/", stateless_http=True,
        json_response=True, show_banner=False, log_level="ERROR", uvicorn_config={"access_log": False})
"""

BODY = json.dumps({
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "x"}},
})
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
ROUNDS, CALLS = 7, 300


def calls_per_second(port: int) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        begun = time.perf_counter()
        for _ in range(CALLS):
            connection.request("POST", "/", BODY, HEADERS)
            response = connection.getresponse()
            assert b'"structuredContent"' in response.read()
        return CALLS / (time.perf_counter() - begun)
    finally:
        connection.close()


@pytest.mark.timeout(300)
async def test_calls_per_second_are_at_least_nine_tenths_of_hello_worlds(
    server_command: Callable[..., list[str]], tmp_path: Path, free_port: int
) -> None:
    script = tmp_path / "hello.py"
    script.write_text(HELLO_WORLD, encoding="utf-8")
    async with (
        start_server([sys.executable, "-P", str(script), str(free_port)]),
        connect_http(server_command()) as ours,
    ):
        port = int(ours.url.removesuffix("/").rpartition(":")[2])
        await until_listening(free_port)
        ratios = []
        for _ in range(ROUNDS):
            theirs = await anyio.to_thread.run_sync(calls_per_second, free_port)
            mine = await anyio.to_thread.run_sync(calls_per_second, port)
            ratios.append(mine / theirs)
            print(f"ours {mine:.0f}/s, hello world {theirs:.0f}/s, ratio {mine / theirs:.2f}")
    print(f"median ratio {statistics.median(ratios):.2f} (at least 0.9)")
    assert statistics.median(ratios) >= 0.9


async def until_listening(port: int) -> None:
    with anyio.fail_after(30):
        while True:
            try:
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
            except OSError:
                await anyio.sleep(0.02)
            else:
                return

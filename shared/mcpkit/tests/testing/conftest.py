"""A small server for the client to drive, as a module and as a script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mcpkit.isolation import seal_settings

seal_settings()

SCRIPT = """
import asyncio, sys
from mcpkit.isolation import seal_settings
seal_settings()

def load():
    from mcpkit import annotations
    from mcpkit.errors import RequestFailure, ToolFailure
    from mcpkit.server import add_tool, create_server
    app = create_server(name="small", version="1", instructions="x")

    async def echo(text: str = "") -> dict:
        return {"text": text}

    async def fail(how: str) -> dict:
        raise (ToolFailure if how == "tool" else RequestFailure)("no", kind="on_purpose")

    async def die(code: int) -> dict:
        import os
        print("dying", file=sys.stderr, flush=True)
        os._exit(code)

    async def hang() -> dict:
        await asyncio.Event().wait()
        return {}

    for function in (echo, fail, die, hang):
        add_tool(app, function, annotations=annotations.CLOSED_READ, title="T", description="D", output_schema={"type": "object"})
    return app

if __name__ == "__main__":
    if sys.argv[1] == "http":
        from mcpkit.http import serve
        raise SystemExit(serve(load, host="127.0.0.1", port=0))
    load().run("stdio", show_banner=False)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def small_app() -> Any:
    names: dict[str, Any] = {"__name__": "small"}
    exec(SCRIPT, names)
    return names["load"]()


@pytest.fixture
def small_command(tmp_path: Path) -> list[str]:
    path = tmp_path / "small.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return [sys.executable, "-P", str(path)]

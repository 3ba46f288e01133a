"""Writes `surface.json`, the snapshot of what the server answers to `initialize` and `tools/list`.

uv run packages/mergestorm-mcp/surface.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcpkit.isolation import seal_settings

seal_settings()

import anyio  # noqa: E402 - after the settings are sealed

from mcpkit.surface import generate, token_estimate  # noqa: E402
from mergestorm_mcp.config import Environment  # noqa: E402
from mergestorm_mcp.main import SURFACE  # noqa: E402
from mergestorm_mcp.runtime import Runtime  # noqa: E402
from mergestorm_mcp.server import create  # noqa: E402

surface = anyio.run(generate, create(Runtime(environment=Environment({}, "", ""))))
Path(SURFACE).write_text(surface.dump(), encoding="utf-8", newline="\n")
sys.stderr.write(f"surface.json: about {token_estimate(surface)} tokens of tools\n")

"""Writes `surface.json`, the snapshot of what the server answers to `initialize` and `tools/list`.

uv run packages/mergeway-mcp/surface.py
"""

from __future__ import annotations

import sys

from mcpkit.isolation import seal_settings

seal_settings()

import anyio  # noqa: E402 - after the settings are sealed

from mcpkit.surface import generate, token_estimate  # noqa: E402
from mergeway_mcp.main import SURFACE  # noqa: E402
from mergeway_mcp.repository import Repository  # noqa: E402
from mergeway_mcp.tools import create  # noqa: E402

surface = anyio.run(generate, create(Repository("nowhere")))
SURFACE.write_text(surface.dump(), encoding="utf-8", newline="\n")
sys.stderr.write(f"{SURFACE.name}: about {token_estimate(surface)} tokens of tools\n")

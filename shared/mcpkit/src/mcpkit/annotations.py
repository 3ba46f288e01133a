"""Presets of the four tool hints, so that no tool is declared with hints left to a client's guess.

Absent hints default to "destructive, not idempotent, open world" (MCP 2025-11-25, schema `ToolAnnotations`), and
clients decide by them which tools to show and which to run without asking. Each preset states all four.
"""

from __future__ import annotations

from typing import Final

from mcp_types import ToolAnnotations

__all__ = [
    "CLOSED_READ",
    "DESTRUCTIVE_WRITE",
    "IDEMPOTENT_DESTRUCTIVE_WRITE",
    "IDEMPOTENT_WRITE",
    "READ",
    "WRITE",
]

READ: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)
"""Reads from the outside world, such as a service."""

CLOSED_READ: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""Reads from a closed world, such as the files below one root."""

WRITE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
"""Adds something; calling it twice adds twice."""

IDEMPOTENT_WRITE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)
"""Adds or sets something; calling it again changes nothing more."""

DESTRUCTIVE_WRITE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""May replace or remove something."""

IDEMPOTENT_DESTRUCTIVE_WRITE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
)
"""May replace or remove something; calling it again changes nothing more."""

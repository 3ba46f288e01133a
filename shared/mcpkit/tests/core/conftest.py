"""Seals the settings before FastMCP is imported, as every server does."""

from __future__ import annotations

import pytest

from mcpkit.isolation import seal_settings

seal_settings()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

"""What the tests of the dialect share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import Timestamp, load_plain


def typed(value: Any) -> Any:
    """A form of plain data that compares by type too: 1, 1.0 and True differ, -0.0 and 0.0 differ, NaN is NaN."""
    if isinstance(value, dict):
        return "map", [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, list):
        return "list", [typed(item) for item in value]
    if isinstance(value, float):
        return "float", "nan" if math.isnan(value) else repr(value)
    if isinstance(value, Timestamp):
        return "timestamp", value.rfc3339()
    return type(value).__name__, value


@pytest.fixture(scope="session")
def as_typed() -> Callable[[Any], Any]:
    return typed


@pytest.fixture(scope="session")
def read_scalar() -> Callable[[str], Any]:
    """Reads what stands behind `a: `, typed."""

    def read(text: str) -> Any:
        value = load_plain(f"a: {text}\n".encode(), json_syntax=False)
        assert isinstance(value, dict)
        return typed(value["a"])

    return read


@pytest.fixture(scope="session")
def vectors() -> Path:
    return Path(__file__).parents[2] / "vectors"

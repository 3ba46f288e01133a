"""Shared by the tests of the pages."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from ..conftest import load_module  # noqa: TID252 - one way to load a file for the whole package

SCRIPT = Path(__file__).parents[4] / "docs" / "mergestorm_examples.py"


@pytest.fixture(scope="session")
def examples() -> ModuleType:
    """The script that writes inputs and examples of the tools' page."""
    return load_module("mergestorm_examples", SCRIPT)

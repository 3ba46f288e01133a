"""Shared by the tests of the pages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[4] / "docs" / "mergestorm_examples.py"


@pytest.fixture(scope="session")
def examples() -> ModuleType:
    """The script that writes inputs and examples of the tools' page."""
    spec = importlib.util.spec_from_file_location("mergestorm_examples", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module

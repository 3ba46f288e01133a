"""The fixtures of `tests/ingest/workbench.py`, which three folders share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_PLACE = Path(__file__).parents[1] / "ingest" / "workbench.py"
_NAME = "ragit_test_workbench"

if _NAME not in sys.modules:
    _spec = importlib.util.spec_from_file_location(_NAME, _PLACE)
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[_NAME] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_NAME])

workbench = sys.modules[_NAME].workbench
make_workbench = sys.modules[_NAME].make_workbench

"""Every recorded case again, through the vectors' own runner: a real process, real stdio, real time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
VECTORS = TESTS / "vectors"
RECORDED = sorted([*VECTORS.glob("*.json"), *(TESTS / "publication" / "recorded").glob("*.json")])


@pytest.mark.slow
@pytest.mark.timeout(900)  # some cases need a process of their own, and the waits are real
@pytest.mark.skipif(sys.platform == "win32", reason="the runner ends its servers by process group")
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_the_process_does_what_was_recorded(recorded: Path) -> None:
    cases = json.loads(recorded.read_text(encoding="utf-8"))["cases"]
    server = [sys.executable, "-m", "mergestorm_mcp.main"]
    command = [sys.executable, str(VECTORS / "run.py"), str(recorded), "--", *server]
    # Without the coverage tracer, which nearly doubles what a start costs: the same cases are measured in memory.
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=untraced, check=False
    )
    assert done.stdout.splitlines() == [f"{len(cases)} of {len(cases)} cases agree"]
    assert done.returncode == 0

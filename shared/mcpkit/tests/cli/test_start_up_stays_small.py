"""`--version` and `--help` must not wait for imports."""

from __future__ import annotations

import subprocess
import sys


def test_the_command_line_needs_a_handful_of_modules_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import mcpkit.cli; print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout.split()
    assert not {
        "argparse",
        "asyncio",
        "dataclasses",
        "inspect",
        "json",
        "logging",
        "socket",
        "fastmcp",
    } & set(loaded)

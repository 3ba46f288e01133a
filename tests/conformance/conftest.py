"""Runs the protocol's own conformance suite against a server over HTTP."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from mcpkit.testing import start_server
from mcpkit.testing.http import listening_url

HERE: Final = Path(__file__).parent
SUITE_SECONDS: Final = 90
START_SECONDS: Final = 60

#: The worst first: a check that ran more than once counts as its worst outcome.
OUTCOMES: Final = ("FAILURE", "WARNING", "SKIPPED", "INFO", "SUCCESS")

Results = Mapping[str, Mapping[str, str]]
"""Scenario to check to outcome."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def suite(npm_install: Callable[[Path], Path]) -> Path:
    """The suite's program."""
    return npm_install(HERE) / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


@pytest.fixture
def measure(node: Path, suite: Path, tmp_path: Path) -> Callable[[list[str], str], Awaitable[Results]]:
    """Starts a server that listens on a port of its choosing and runs what a revision requires against it."""

    outputs = (tmp_path / str(number) for number in count())

    async def run(argv: list[str], revision: str) -> Results:
        output = next(outputs)
        async with start_server([sys.executable, "-P", *argv]) as server:
            await server.wait_for(lambda s: listening_url(s.stderr) is not None, START_SECONDS)
            url = listening_url(server.stderr) or ""
            with anyio.fail_after(SUITE_SECONDS):
                # Its exit code says whether anything failed; what failed is judged here.
                await anyio.run_process(
                    [node, suite, "server", "--url", url, "--requirements", revision, "-o", output],
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            assert server.returncode is None, server.stderr
        return read(output)

    return run


def read(output: Path) -> Results:
    """The suite's results, without the tasks extension, which no revision requires."""
    results: dict[str, dict[str, str]] = {}
    for file in output.glob("server-*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name)
        if scenario.startswith("tasks-"):
            continue
        checks = results.setdefault(scenario, {})
        for check in json.loads(file.read_text(encoding="utf-8")):
            before = checks.get(check["id"], OUTCOMES[-1])
            checks[check["id"]] = min(before, check["status"], key=OUTCOMES.index)
    return results


@pytest.fixture(scope="session")
def expected_failures() -> Mapping[str, Any]:
    """Server to revision to `scenario:check` to the reason why it fails."""
    return tomllib.loads((HERE / "expected-failures.toml").read_text(encoding="utf-8"))

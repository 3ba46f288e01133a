"""The conformance suite of the protocol, run against mergeway-mcp and against a server that offers everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CATALOGUE = HERE.parents[1] / "packages" / "mergeway-mcp" / "examples" / "service-catalogue"
REVISIONS = ("2025-11-25", "2026-07-28")

#: Of the scenarios a revision requires, those that can tell something about a server with tools and nothing else.
TOOLS_ONLY = {
    "2025-11-25": {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"},
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "input-required-result-unsupported-methods",
        "http-header-validation",
    },
}
FAILED = {"FAILURE", "WARNING"}

Results = Mapping[str, Mapping[str, str]]
Measure = Callable[[list[str], str], Awaitable[Results]]

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(400)]


def outcomes(results: Results, *wanted: str) -> set[str]:
    return {f"{s}:{c}" for s, checks in results.items() for c, outcome in checks.items() if outcome in wanted}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_mergeway_mcp_meets_what_a_revision_requires_of_a_server_with_tools_only(
    measure: Measure, expected_failures: Mapping[str, Any], revision: str
) -> None:
    argv = ["-m", "mergeway_mcp.main", "--root", str(CATALOGUE)]
    results = await measure([*argv, "--transport", "http", "--http-listen", "127.0.0.1:0"], revision)
    chosen = {name: checks for name, checks in results.items() if name in TOOLS_ONLY[revision]}
    # A scenario that checked nothing, or is gone from the suite, would pass unseen.
    assert {name for name, checks in chosen.items() if "SUCCESS" in checks.values()} == TOOLS_ONLY[revision]
    assert outcomes(chosen, *FAILED) == set(expected_failures["mergeway-mcp"][revision])
    # The suite holds every message, refusals included, against the schema of the revision.
    fit = [checks["wire-schema-valid"] for checks in results.values() if "wire-schema-valid" in checks]
    assert len(fit) >= 20
    assert set(fit) == {"SUCCESS"}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_of_everything_loses_nothing_behind_mcpkit(
    measure: Measure, expected_failures: Mapping[str, Any], revision: str
) -> None:
    ours = await measure([str(HERE / "serve.py"), "mcpkit"], revision)
    fastmcp = await measure([str(HERE / "serve.py"), "fastmcp"], revision)
    assert outcomes(ours, *FAILED) == set(expected_failures["everything"][revision])
    assert outcomes(fastmcp, "SUCCESS") - outcomes(ours, "SUCCESS") == set()
    assert len(outcomes(ours, "SUCCESS")) >= 50

"""The register of error codes, and what follows from a code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragit_mcp.errors import ERRORS, ConfigError, RagitError, SnapshotError

# Contract A15 and C: code, category, retryable, exit code.
CONTRACT = """
SNAPSHOT_REF_INVALID invalid_input 0 2
SNAPSHOT_REF_AMBIGUOUS invalid_input 0 2
SNAPSHOT_NOT_INDEXED not_ready 0 3
SNAPSHOT_MANIFEST_INVALID corrupt_or_incompatible 0 4
SNAPSHOT_SCHEMA_UNSUPPORTED corrupt_or_incompatible 0 4
SNAPSHOT_STORE_UNAVAILABLE not_ready 0 3
INGEST_BASE_NOT_INDEXED not_ready 0 3
INGEST_BASE_NOT_ANCESTOR invalid_input 0 2
INGEST_CANDIDATES_DIRTY not_ready 0 3
INGEST_STORE_WRITE_UNVERIFIED transient 1 3
INGEST_RECOVERY_REQUIRED not_ready 0 3
STORE_WRITE_BUSY transient 1 3
STORE_WRITE_LOCK_STALE not_ready 0 3
STORE_REBUILD_UNREBUILDABLE not_ready 0 3
STORE_REBUILD_VERIFICATION_FAILED corrupt_or_incompatible 0 4
STORE_REBUILD_PROMOTION_FAILED transient 1 3
REPOSITORY_STATE_CHANGED transient 1 3
MCP_INVALID_INPUT invalid_input 0 2
MCP_REMOTE_EMBEDDING_CACHE_MISS not_ready 0 3
MCP_INTERNAL_ERROR transient 1 1
"""


@pytest.mark.parametrize("row", CONTRACT.split("\n")[1:-1])
def test_a_code_of_the_contract_has_its_category_and_exit_code(row: str) -> None:
    code, category, retryable, exit_code = row.split()
    error = RagitError(code, "What happened.")
    assert (error.category, error.retryable, error.exit_code) == (category, retryable == "1", int(exit_code))


def test_a_code_beyond_the_contract_ends_with_exit_1() -> None:
    known = {row.split()[0] for row in CONTRACT.split("\n")[1:-1]}
    assert {facts.exit_code for code, facts in ERRORS.items() if code not in known} == {1}


def test_the_payload_has_the_members_of_the_contract_in_their_order() -> None:
    error = SnapshotError(
        "SNAPSHOT_NOT_INDEXED", "Not indexed.", details={"resolvedSha": None}, recovery="git status"
    )
    assert list(error.payload().items()) == [
        ("code", "SNAPSHOT_NOT_INDEXED"),
        ("category", "not_ready"),
        ("message", "Not indexed."),
        ("retryable", False),
        ("details", {"resolvedSha": None}),
        ("recovery", {"command": "git status"}),
    ]


def test_every_code_says_what_helps() -> None:
    assert all(ConfigError(code, "x").payload()["recovery"]["command"] for code in ERRORS)


def test_a_code_that_is_not_registered_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        RagitError("NO_SUCH_CODE", "x")


def test_reading_documents_and_configuration_loads_nothing_heavy_and_nothing_that_writes() -> None:
    program = (
        "import sys, ragit_mcp.corpus, ragit_mcp.config, ragit_mcp.errors\n"
        "heavy = {'numpy', 'apsw', 'tokenizers', 'httpx', 'yaml', 'mcp', 'fastmcp', 'ragit_mcp.config.editing'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")

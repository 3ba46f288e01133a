"""Every recorded validation, through the command line: exit code and findings."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

#: Starting a process for every case would take long and show nothing new.
EVERY_NTH_AS_PROCESS = 12


def summary(findings: list[dict[str, str]]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(finding.get(key, "") for key in ("phase", "type", "id", "file"))
        for finding in ({name.lower(): value for name, value in finding.items()} for finding in findings)
    )


def check(outcome: Any, recorded: dict[str, Any]) -> None:
    assert outcome.code == recorded["exit_code"], outcome
    if outcome.code == 0:
        assert json.loads(outcome.out) == {"status": "validation succeeded"}
    elif "findings" in recorded:
        assert summary(json.loads(outcome.out)) == summary(recorded["findings"])
    else:
        # The configuration did not load: one line, and nothing for programs to misread.
        assert outcome.out == ""
        assert outcome.err.startswith("mergeway-cli: ")
        assert outcome.err.count("\n") == 1


def test_the_command_line_finds_what_was_recorded(
    vector_case: Any, materialise: Callable[[Any], Any], cli: Callable[..., Any]
) -> None:
    if vector_case.validate is None:
        pytest.skip("no validation was recorded for this case")
    place = materialise(vector_case)
    check(cli("--root", place.root, "--format", "json", "validate"), vector_case.validate)


def test_a_sample_of_processes_finds_what_was_recorded(
    vector_case: Any, materialise: Callable[[Any], Any], cli_process: Callable[..., Any]
) -> None:
    if vector_case.validate is None:
        pytest.skip("no validation was recorded for this case")
    if zlib.crc32(vector_case.name.encode()) % EVERY_NTH_AS_PROCESS:
        pytest.skip("not in the sample")
    place = materialise(vector_case)
    check(cli_process("--root", place.root, "--format", "json", "validate"), vector_case.validate)

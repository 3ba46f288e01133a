"""Loading and object_get peak at no more than twice the records; memory is no matter of the clock, so a test holds it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]


@pytest.mark.slow
def test_a_small_repository_loads_and_answers_within_twice_its_records(
    run_module: Run, tmp_path: Path
) -> None:
    assert_within_twice(run_module, tmp_path, records=2_000, files=100)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_a_hundred_thousand_records_load_and_answer_within_twice_their_size(
    run_module: Run, tmp_path: Path
) -> None:
    assert_within_twice(run_module, tmp_path, records=100_000, files=1_000)


def assert_within_twice(run_module: Run, folder: Path, *, records: int, files: int) -> None:
    root = str(folder / "repository")
    run_module("records", root, "--records", str(records), "--files", str(files))
    found = json.loads(run_module("loading", "memory", root))
    assert found["loading"] <= 2 * found["records"]
    assert found["object_get"] <= 2 * found["records"]

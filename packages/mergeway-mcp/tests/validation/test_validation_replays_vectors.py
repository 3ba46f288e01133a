"""Every recorded validation, run in process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository import RepositoryError
from mergeway_mcp.repository.validation import validate


def test_validation_finds_what_was_recorded(vector_case: Any, materialise: Callable[[Any], Any]) -> None:
    if vector_case.validate is None:
        pytest.skip("no validation was recorded for this case")
    place = materialise(vector_case)
    recorded = Counter(
        (finding["phase"], finding["type"], finding.get("id", ""), finding["file"])
        for finding in vector_case.validate.get("findings", ())
    )
    config = place.root / "mergeway.yaml"
    try:
        report = validate(str(place.root), config=str(config) if config.exists() else None)
    except RepositoryError:
        assert vector_case.validate == {"exit_code": 1}
        return
    found = Counter((finding.phase, finding.type, finding.id, finding.file) for finding in report.findings)
    assert found == recorded
    assert bool(found) == (vector_case.validate["exit_code"] == 1)

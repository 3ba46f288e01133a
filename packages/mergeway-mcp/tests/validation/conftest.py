"""Small repositories of one entity, validated on the spot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository.validation import Finding, validate


@pytest.fixture
def findings_of(
    write_repository: Callable[[Mapping[str, str | bytes]], Path],
) -> Callable[..., list[Finding]]:
    """Validates files by name; `mergeway.yaml` gets the version line in front."""

    def run(files: Mapping[str, str], **options: object) -> list[Finding]:
        written: dict[str, str | bytes] = dict(files)
        written["mergeway.yaml"] = f"mergeway: {{version: 1}}\n{files['mergeway.yaml']}"
        return list(validate(str(write_repository(written)), **options).findings)  # type: ignore[arg-type]

    return run


@pytest.fixture
def faulty_paths(findings_of: Callable[..., list[Finding]]) -> Callable[[str, str], list[str]]:
    """Where one record `id: a` with one more field is wrong: `faulty_paths("{type: integer}", "7.0")` is `["f"]`."""

    def run(declaration: str, value: str) -> list[str]:
        found = findings_of({
            "mergeway.yaml": "entities:\n"
            f"  T: {{identifier: id, include: [t.yaml], fields: {{id: string, f: {declaration}}}}}\n",
            "t.yaml": f"id: a\nf: {value}\n",
        })
        assert {(finding.type, finding.id, finding.file) for finding in found} <= {("T", "a", "t.yaml")}
        return [finding.message.partition(":")[0] for finding in found]

    return run

"""Validation of a whole repository: everything that is wrong with its records, in one deterministic report.

report = validate("path/to/root")
for finding in report.findings:
    ...

Loading a repository stops at the first fault and asks no more of records than serving them needs. Validation goes on,
and holds them to what their fields declare. `lint` looks at the configuration alone, for what loading accepts and
validation or serving would stumble over later.
"""

from __future__ import annotations

from .findings import MAX_FINDINGS, PHASES, Finding, Phase, Report
from .lint import LintFinding, Severity, lint
from .pipeline import validate

__all__ = [
    "MAX_FINDINGS",
    "PHASES",
    "Finding",
    "LintFinding",
    "Phase",
    "Report",
    "Severity",
    "lint",
    "validate",
]

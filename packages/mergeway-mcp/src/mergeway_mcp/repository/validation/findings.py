"""What validation reports, and the list it grows in."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Phase = Literal["format", "schema", "references"]

#: In the order they run.
PHASES: Final[tuple[Phase, ...]] = ("format", "schema", "references")

#: A report ends here. Whoever has this many faults mends them by the pattern, not one by one.
MAX_FINDINGS: Final = 10_000


class Finding(NamedTuple):
    """One fault of a record or a file.

    Attributes:
        phase: What kind of fault it is.
        type: Entity whose record it is.
        id: Identifier text of the record; empty when it has none, or when the fault is the whole file's.
        file: Path from the root, with `(item N)` or `(inline N)` where it holds several records; for a malformed
            include, the include as written.
        message: What is wrong and how to mend it. Quotes nothing but names from the configuration.
    """

    phase: Phase
    type: str
    id: str
    file: str
    message: str


class Report(NamedTuple):
    """The outcome of a validation.

    Attributes:
        findings: In order of phase, entity name, load order and field.
        notes: What an operator should know beside them, one sentence each: phases that did not run, records that are
            valid here and that the server will not serve.
        entities: Number of entities configured.
        records: Number of records looked at.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    entities: int
    records: int


class Enough(Exception):
    """No further finding is wanted."""


class Findings:
    """A list of findings that says when it is long enough."""

    def __init__(self, *, fail_fast: bool) -> None:
        """Start empty.

        Args:
            fail_fast: One finding is enough.
        """
        self._limit = 1 if fail_fast else MAX_FINDINGS
        self._found: list[Finding] = []
        self.truncated = False

    def add(self, finding: Finding) -> None:
        """Take a finding.

        Raises:
            Enough: It was the last one wanted.
        """
        self._found.append(finding)
        if len(self._found) >= self._limit:
            self.truncated = self._limit > 1
            raise Enough

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self._found)

    def of(self, wanted: frozenset[Phase], *, stage: Phase) -> tuple[Finding, ...]:
        """The findings to show: all when the stage was asked for, else those that carry an asked-for phase."""
        return tuple(finding for finding in self._found if stage in wanted or finding.phase in wanted)

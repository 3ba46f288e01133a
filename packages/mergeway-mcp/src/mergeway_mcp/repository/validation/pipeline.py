"""Runs the phases of a validation one after the other.

Phases build on each other, so one that finds something is the last to run. *format* always runs, and asking for
*references* asks for *schema* as well. What a phase finds is reported only if it was asked for; when one that was not
asked for ends the run, a note says so.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

from mergeway_mcp.repository.config import load_configuration
from mergeway_mcp.repository.errors import RepositoryError
from mergeway_mcp.repository.freshness import Disk, FileMoved, Look
from mergeway_mcp.repository.reading import FileSystem
from mergeway_mcp.repository.schema import Configuration

from .findings import MAX_FINDINGS, PHASES, Enough, Finding, Findings, Phase, Report
from .format_phase import load_records
from .records import LoadedEntity
from .references_phase import check_references
from .schema_phase import IdIndex, check_records

_MAX_ATTEMPTS: Final = 5
_MAX_NOTES: Final = 100


def validate(
    root: str,
    *,
    config: str | None = None,
    phases: Collection[Phase] = (),
    fail_fast: bool = False,
    system: FileSystem | None = None,
) -> Report:
    """Validate a repository.

    Args:
        root: Its folder.
        config: Entry file; None looks for `mergeway.yaml`, then `mergeway.yml`, in the root.
        phases: What to report; none means all.
        fail_fast: Stop at the first finding.
        system: Calls to the disk and the clock, for tests.

    Raises:
        RepositoryError: The configuration cannot be loaded, or files keep changing while they are read.
    """
    wanted = frozenset(phases) or frozenset(PHASES)
    if "references" in wanted:
        wanted |= {"schema"}
    root = os.path.abspath(root)
    entry = None if config is None else os.path.abspath(config)
    for _ in range(_MAX_ATTEMPTS):
        look = Look(Disk(system if system is not None else FileSystem(), None))
        try:
            return _Run(load_configuration(root, look, entry=entry), wanted, fail_fast=fail_fast).report(look)
        except RepositoryError as error:
            raise error.presented(root, None) from None
        except FileMoved:
            continue
    raise RepositoryError("files keep changing while they are read; try again when the writer is done")


class _Run:
    """One validation of one state of the disk."""

    def __init__(self, configuration: Configuration, wanted: frozenset[Phase], *, fail_fast: bool) -> None:
        self._configuration = configuration
        self._wanted = wanted
        self._fail_fast = fail_fast
        self._notes: list[str] = []
        self._loaded: list[LoadedEntity] = []
        self._index: IdIndex = {}

    def report(self, look: Look) -> Report:
        last: Phase = (
            "references"
            if "references" in self._wanted
            else "schema"
            if "schema" in self._wanted
            else "format"
        )
        for phase in PHASES[: PHASES.index(last) + 1]:
            findings = Findings(fail_fast=self._fail_fast)
            try:
                self._run(phase, look, findings)
            except Enough:
                if findings.truncated:
                    self._notes.append(
                        f"the report ends at {MAX_FINDINGS} findings; mend these and run again"
                    )
            if findings:
                return self._stopped(findings, phase, last)
        return self._finished(())

    def _run(self, phase: Phase, look: Look, findings: Findings) -> None:
        match phase:
            case "format":
                self._loaded = load_records(self._configuration, look, findings)
            case "schema":
                self._index = check_records(self._loaded, findings, self._notes)
            case "references":
                check_references(self._loaded, self._configuration.entities, self._index, findings)

    def _stopped(self, findings: Findings, phase: Phase, last: Phase) -> Report:
        shown = findings.of(self._wanted, stage=phase)
        if not shown:
            self._notes = [
                f"phase {last} did not run, because phase {phase} found faults; run without --phase to see them"
            ]
        return self._finished(shown)

    def _finished(self, findings: tuple[Finding, ...]) -> Report:
        notes = self._notes
        if len(notes) > _MAX_NOTES:
            notes = [*notes[:_MAX_NOTES], f"{len(notes) - _MAX_NOTES} more notes are left out"]
        records = sum(len(records) for _, records in self._loaded)
        return Report(findings, tuple(notes), len(self._configuration.entities), records)

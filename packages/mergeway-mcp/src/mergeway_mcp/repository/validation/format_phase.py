"""Phase *format*: can every file that an include matches be read as records of its entity?

Stricter than loading: folders and dangling links that a pattern matches are faults here. Two faults that belong to
phase *schema* by their nature come to light here and carry that name: several records in a file that is identified by
its path, and a path too short for a derived field.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from mergeway_mcp.repository.errors import RepositoryError, display_path, printable
from mergeway_mcp.repository.freshness import Look
from mergeway_mcp.repository.globs import BadPattern, parse_pattern
from mergeway_mcp.repository.identity import derived_value
from mergeway_mcp.repository.records import FormatFault, RawRecords, is_json_name, read_records
from mergeway_mcp.repository.schema import PATH_IDENTIFIER, Configuration, Entity, Include

from .findings import Finding, Findings, Phase
from .records import LoadedEntity, Record


def load_records(configuration: Configuration, look: Look, findings: Findings) -> list[LoadedEntity]:
    """Read all records of all entities, in order of their names.

    Args:
        configuration: Of the repository.
        look: Through which files are read.
        findings: Takes what is wrong.

    Raises:
        Enough: No more findings are wanted.
        FileMoved: A file changed while it was read; start over.
    """
    return [
        LoadedEntity(entity, list(_Reader(configuration.root, entity, look, findings).records()))
        for entity in configuration.entities.values()
    ]


class _Reader:
    """Reads the records of one entity."""

    def __init__(self, root: str, entity: Entity, look: Look, findings: Findings) -> None:
        self._root = root
        self._entity = entity
        self._look = look
        self._findings = findings
        self._derived = [
            (field.name, field.source) for field in entity.fields.values() if field.source is not None
        ]

    def records(self) -> Iterator[Record]:
        for include in self._entity.includes:
            for path in self._expand(include):
                yield from self._file(path, include.selector)
        config = self._label(self._entity.file)
        for number, fields in enumerate(self._entity.inline_data, start=1):
            yield Record(config, number, True, fields)

    def _expand(self, include: Include) -> list[str]:
        try:
            pattern = parse_pattern(self._root, include.path)
            paths = pattern.expand(lambda folder: self._look.folder(folder).names)
        except BadPattern as fault:
            self._report(include.path, fault.reason)
            return []
        if not pattern.segments and not os.path.lexists(pattern.base):
            return []  # a pattern without special characters matches what is there, which is nothing
        return paths

    def _file(self, path: str, selector: str) -> Iterator[Record]:
        label = self._label(path)
        try:
            entry = self._look.file(path)
        except RepositoryError as fault:
            self._report(label, fault.reason)
            return
        if entry.kind == "folder":
            self._report(label, "this is a folder; make the include match files only")
        elif entry.kind == "missing":
            self._report(label, "the link leads nowhere; remove it or restore what it points at")
        elif entry.kind == "fault":
            self._report(label, entry.reason)
        else:
            data = self._look.content(entry)
            try:
                raw = read_records(data, self._entity.name, selector, json_syntax=is_json_name(path))
            except FormatFault as fault:
                self._report(label, _placed(fault))
                return
            yield from self._named(raw, label, display_path(self._root, path) or path)

    def _named(self, raw: RawRecords, label: str, relative: str) -> Iterator[Record]:
        by_path = self._entity.identifier.field == PATH_IDENTIFIER
        if by_path and raw.multiple:
            self._report(
                label,
                "holds several records, which its path cannot tell apart; split the file or identify by a field",
                phase="schema",
            )
            return
        if (by_path or self._derived) and label != relative:
            self._report(label, "the path is not valid UTF-8, so it cannot become a value; rename the file")
            return
        values = {}
        for name, source in self._derived:
            value = derived_value(source, relative)
            if value is None:
                self._report(
                    label,
                    f"{name}: the path has too few segments to derive this field from; move the file deeper",
                    phase="schema",
                )
                return
            values[name] = value
        for number, fields in enumerate(raw.records, start=1):
            # A new map: aliases may share the one that was read with other records.
            completed = {**fields, **values} if values and fields is not None else fields
            yield Record(label, number if raw.multiple else 0, False, completed)

    def _report(self, label: str, message: str, *, phase: Phase = "format") -> None:
        self._findings.add(Finding(phase, self._entity.name, "", label, message))

    def _label(self, path: str) -> str:
        return printable(display_path(self._root, path) or path)


def _placed(fault: FormatFault) -> str:
    where = []
    if fault.line is not None:
        where.append(f"line {fault.line}" + ("" if fault.column is None else f", column {fault.column}"))
    if fault.item is not None:
        where.append(f"item {fault.item}")
    return ": ".join((*where, fault.reason))

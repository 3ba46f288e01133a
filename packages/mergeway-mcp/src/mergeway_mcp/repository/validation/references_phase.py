"""Phase *references*: does every reference lead to exactly one record?

Only fields of the record itself are followed, as the repository format has it; references inside properties are
checked when the configuration is loaded, against the names of entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mergeway_mcp.repository.identity import clean_path_id, id_text
from mergeway_mcp.repository.schema import PATH_IDENTIFIER, Entity, Field

from .findings import Finding, Findings
from .records import LoadedEntity
from .schema_phase import IdIndex


def check_references(
    loaded: list[LoadedEntity], entities: Mapping[str, Entity], index: IdIndex, findings: Findings
) -> None:
    """Check the references of all records.

    Args:
        loaded: Entities in order of their names.
        entities: All of them by name.
        index: Their records by identifier.
        findings: Takes what is wrong.

    Raises:
        Enough: No more findings are wanted.
    """
    for entity, _ in loaded:
        targets = [
            (field, _Target(field, entities, index))
            for field in entity.fields.values()
            if field.reference_types
        ]
        if not targets:
            continue
        for identifier, record in index[entity.name].items():
            for field, target in targets:
                for path, value in _values(field, record.fields or {}):
                    fault = target.fault(value)
                    if fault:
                        findings.add(
                            Finding("references", entity.name, identifier, record.label, f"{path}: {fault}")
                        )


def _values(field: Field, record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    value = record.get(field.name)
    if value is None:
        value = field.default
    if value is None:
        return
    if field.repeated:
        yield from ((f"{field.name}[{position}]", entry) for position, entry in enumerate(value))
    else:
        yield field.name, value


class _Target:
    """The records that a reference may lead to: those of each union member and of all that extend it."""

    def __init__(self, field: Field, entities: Mapping[str, Entity], index: IdIndex) -> None:
        self._type = field.type.strip()
        names: dict[str, None] = {}
        for member in field.reference_types:
            for name in (member, *entities[member].descendants):
                names[name] = None
        self._holders = [
            (name, index[name], entities[name].identifier.field == PATH_IDENTIFIER) for name in names
        ]

    def fault(self, value: Any) -> str:
        """Why a value is no good reference, or nothing."""
        text = id_text(value) or ""
        found = [
            name
            for name, holders, by_path in self._holders
            if text in holders or (by_path and clean_path_id(text) in holders)
        ]
        if not found:
            return f"refers to a record of {self._type} that does not exist; correct the id or add the record"
        if len(found) > 1:
            return f"refers to records of several entities ({', '.join(found)}); rename all but one of them"
        return ""

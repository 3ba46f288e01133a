"""Phase *schema*: has every record an identifier of its own, and are its fields what they are declared to be?

A record takes its identifier, and bars later ones from it, only when nothing else is wrong with it.
"""

from __future__ import annotations

from typing import Any

from mergeway_mcp.repository.identity import fits_type, id_text
from mergeway_mcp.repository.schema import PATH_IDENTIFIER, Entity, Field
from mergeway_mcp.repository.values import NotJson, to_json
from mergeway_mcp.repository.yaml import Timestamp

from .field_values import field_faults
from .findings import Finding, Findings
from .patterns import search
from .records import LoadedEntity, Record

IdIndex = dict[str, dict[str, Record]]
"""The records of each entity by their identifiers."""


def check_records(loaded: list[LoadedEntity], findings: Findings, notes: list[str]) -> IdIndex:
    """Check all records.

    Args:
        loaded: Entities in order of their names.
        findings: Takes what is wrong.
        notes: Takes what is right here and will not be served.

    Returns:
        The valid records by entity and identifier.

    Raises:
        Enough: No more findings are wanted.
    """
    index: IdIndex = {}
    for entity, records in loaded:
        index[entity.name] = _EntityCheck(entity, findings, notes).run(records)
    _check_trees(loaded, index, findings)
    return index


class _EntityCheck:
    """Checks the records of one entity."""

    def __init__(self, entity: Entity, findings: Findings, notes: list[str]) -> None:
        self._entity = entity
        self._findings = findings
        self._notes = notes
        self._holders: dict[str, Record] = {}
        self._unique: dict[str, dict[str, Record]] = {
            field.name: {} for field in entity.fields.values() if field.unique and not field.repeated
        }

    def run(self, records: list[Record]) -> dict[str, Record]:
        for record in records:
            self._record(record)
        return self._holders

    def _record(self, record: Record) -> None:
        if record.fields is None:
            self._report(record, "", "the file is empty; write the record or remove the file")
            return
        name = self._entity.identifier.field
        identifier = record.file if name == PATH_IDENTIFIER else id_text(record.fields.get(name))
        faults = 0
        if identifier is None:
            faults += 1
            self._report(record, "", f"{name}: the identifier is missing, or is no text, number or date")
        elif self._entity.identifier.pattern:
            outcome = search(self._entity.identifier.pattern, identifier)
            if outcome != "matches":
                faults += 1
                self._report(record, identifier, _PATTERN_FAULTS[outcome].format(name=name))
        for field in self._entity.fields.values():
            if field.name == name and identifier is None:
                continue
            faults += self._field(field, record, identifier or "")
        if identifier is None:
            return
        holder = self._holders.get(identifier)
        if holder is not None:
            self._report(
                record, identifier, f"the id is taken by {holder.label}; give one of the two another id"
            )
        elif not faults:
            self._holders[identifier] = record
            self._note_unservable(record, identifier)

    def _field(self, field: Field, record: Record, identifier: str) -> int:
        fields = record.fields or {}
        faults = 0
        for message in field_faults(field, fields, from_json_schema=bool(self._entity.json_schema)):
            faults += 1
            self._report(record, identifier, message)
        value = fields.get(field.name)
        if field.name in self._unique and value is not None:
            holder = self._unique[field.name].setdefault(_comparable(value), record)
            if holder is not record:
                faults += 1
                self._report(
                    record, identifier, f"{field.name}: must be unique, but {holder.label} has the same value"
                )
        return faults

    def _note_unservable(self, record: Record, identifier: str) -> None:
        """Note what the server refuses although validation, as the recorded reference defines it, does not."""
        entity = self._entity
        declared = entity.fields.get(entity.identifier.field)
        if declared is not None and not fits_type(identifier, declared.type):
            self._notes.append(
                f"{record.label}: valid, but mergeway-mcp cannot load the repository: the id of this {entity.name} "
                f"is outside the range of {declared.type} identifiers"
            )
            return
        try:
            to_json(record.fields)
        except NotJson as fault:
            self._notes.append(
                f"{record.label}: valid, but mergeway-mcp cannot return this {entity.name}: it {fault.reason}"
            )

    def _report(self, record: Record, identifier: str, message: str) -> None:
        self._findings.add(Finding("schema", self._entity.name, identifier, record.label, message))


_PATTERN_FAULTS = {
    "malformed": "{name}: the pattern of the identifier is no RE2 expression; correct it in the configuration",
    "differs": "{name}: the id does not match the pattern of the identifier",
}


def _check_trees(loaded: list[LoadedEntity], index: IdIndex, findings: Findings) -> None:
    """Report identifiers that two entities of one inheritance tree share, on the entity later in name order."""
    taken: dict[str, dict[str, tuple[str, Record]]] = {}
    for entity, _ in loaded:
        if not entity.ancestors and not entity.descendants:
            continue
        tree = taken.setdefault(entity.tree, {})
        for identifier, record in index[entity.name].items():
            other, holder = tree.setdefault(identifier, (entity.name, record))
            if other != entity.name:
                message = (
                    f"the id is taken by {holder.label} of {other}; "
                    "ids are shared by all entities that extend each other"
                )
                findings.add(Finding("schema", entity.name, identifier, record.label, message))


def _comparable(value: Any) -> str:
    """The text by which two values count as the same."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Timestamp):
        return value.go_text()
    if isinstance(value, int | float):
        return id_text(value) or repr(value)
    import json  # only unique objects need it

    try:
        return json.dumps(to_json(value), sort_keys=True)
    except NotJson:
        return repr(value)

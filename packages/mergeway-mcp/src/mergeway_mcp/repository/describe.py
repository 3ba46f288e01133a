"""An entity's schema as replies show it: the member names and the nulls of the documented interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .schema import Entity, Field
from .values import to_json

# Where tools that write would put a record; the interface states it, this engine never writes.
_WRITE: Final = {"Template": "{id}.yaml", "Format": "yaml"}


def describe_entity(entity: Entity) -> dict[str, Any]:
    """Everything the configuration says about an entity, ready for JSON.

    Raises:
        NotJson: A default or an inline record holds what JSON cannot.
    """
    return {
        "Name": entity.name,
        "Source": to_json(entity.file),
        "Description": entity.description,
        "Extends": entity.extends,
        "Ancestors": _list(entity.ancestors),
        "Descendants": _list(entity.descendants),
        "JSONSchema": entity.json_schema,
        "Identifier": {
            "Field": entity.identifier.field,
            "Generated": entity.identifier.generated,
            "Pattern": entity.identifier.pattern,
        },
        "Include": [{"Path": include.path, "Selector": include.selector} for include in entity.includes]
        or None,
        "Fields": _fields(entity.fields) or None,
        "FieldOrder": _list(entity.field_order),
        "InlineData": [to_json(record) for record in entity.inline_data] or None,
        "Write": dict(_WRITE),
    }


def _fields(fields: Mapping[str, Field]) -> dict[str, Any]:
    return {name: _field(field) for name, field in fields.items()}


def _field(field: Field) -> dict[str, Any]:
    described: dict[str, Any] = {
        "Name": field.name,
        "Type": field.type,
        "ReferenceTypes": _list(field.reference_types),
        "Required": field.required,
        "Repeated": field.repeated,
        "Format": field.format,
        "Enum": _list(field.enum),
        "Default": to_json(field.default),
        "Properties": None if field.properties is None else _fields(field.properties),
        "Unique": field.unique,
        "Pattern": field.pattern,
        "Description": field.description,
        "PropertyOrder": _list(field.property_order),
    }
    if field.source is not None:
        described["source"] = {
            field.source.kind: True if field.source.kind == "path" else field.source.segment
        }
    return described


def _list(values: Sequence[str] | None) -> list[str] | None:
    return list(values) if values else None

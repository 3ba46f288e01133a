"""Holds one value to what its field declares.

Faults are sentences that begin with the path of the value (`owner`, `steps[2].minutes`, positions from 0) and never
quote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mergeway_mcp.repository.identity import id_text
from mergeway_mcp.repository.schema import Field
from mergeway_mcp.repository.yaml import Timestamp

from .patterns import search
from .text_formats import TEXT_FORMATS


def field_faults(
    field: Field, record: Mapping[str, Any], *, prefix: str = "", from_json_schema: bool = False
) -> Iterator[str]:
    """What is wrong with a field of a record. Fields that are absent or null take their default.

    Args:
        field: Its declaration.
        record: The fields of the record, or the properties of an object.
        prefix: Path of the object, with its dot.
        from_json_schema: The declaration comes from a JSON Schema file.
    """
    path = prefix + field.name
    value = record.get(field.name)
    is_default = False
    if value is None:
        value = field.default
        if value is None:
            if field.required:
                yield f"{path}: is required but missing; add it"
            return
        if from_json_schema and _holds_number(value):
            # Defaults of a JSON Schema keep their JSON numbers, which the recorded reference takes for no number.
            yield f"{path}: a number in a default of a JSON Schema does not stand in for a value; write it out"
            return
        is_default = True
    for fault in _value_faults(field, value, path, from_json_schema=from_json_schema):
        yield f"{fault} (this is the field's default)" if is_default else fault


def _value_faults(field: Field, value: Any, path: str, *, from_json_schema: bool) -> Iterator[str]:
    if not field.repeated:
        fault = _single_fault(field, value, path, from_json_schema=from_json_schema)
        if fault is not None:
            yield fault
        return
    if not isinstance(value, list):
        yield f"{path}: must be a list, because the field is repeated"
        return
    for position, entry in enumerate(value):
        fault = _single_fault(field, entry, f"{path}[{position}]", from_json_schema=from_json_schema)
        if fault is not None:
            yield fault


def _single_fault(field: Field, value: Any, path: str, *, from_json_schema: bool) -> str | None:
    if field.reference_types:
        if id_text(value) is None:
            return f"{path}: must be the id of a record of {field.type.strip()}: text, a number or a date"
        return None
    if field.type == "object":
        if not isinstance(value, dict):
            return f"{path}: must be a map of properties"
        for inner in (field.properties or {}).values():
            for fault in field_faults(inner, value, prefix=f"{path}.", from_json_schema=from_json_schema):
                return fault  # of an object the first fault counts
        return None
    if field.type in {"string", "enum"}:
        return _text_fault(field, value, path)
    if _is_of_type(field.type, value):
        return None
    return f"{path}: must be {_TYPE_NAMES[field.type]}, not {kind_of(value)}"


def _text_fault(field: Field, value: Any, path: str) -> str | None:
    if not isinstance(value, str):
        remedy = "" if isinstance(value, dict | list) or value is None else "; put it in quotes"
        return f"{path}: must be text, not {kind_of(value)}{remedy}"
    if field.type == "enum" and field.enum and value not in field.enum:
        return f"{path}: is none of the values that the enum lists"
    if field.pattern:
        outcome = search(field.pattern, value)
        if outcome == "malformed":
            return f"{path}: the pattern of this field is no RE2 expression; correct it in the configuration"
        if outcome == "differs":
            return f"{path}: does not match the pattern of the field"
    if field.format in TEXT_FORMATS:
        holds, description = TEXT_FORMATS[field.format]
        if not holds(value):
            return f"{path}: must be {description}"
    return None


def _is_of_type(name: str, value: Any) -> bool:
    match name:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, bool)


_TYPE_NAMES: Final = {
    "integer": "an integer (without a decimal point)",
    "number": "a number",
    "boolean": "true or false",
}


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "text"
        case Timestamp():
            return "a date"
        case list():
            return "a list"
        case _:
            return "a map"


def _holds_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_number, value))
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Reads the fields of an entity from a JSON Schema file.

Only what has a counterpart among the native field definitions is understood; anything else that would change the
meaning is refused, the rest is ignored. References stay within the document and are followed one level a use.
"""

from __future__ import annotations

import json
from typing import Any, Final

from .declarations import MAX_PROPERTY_DEPTH, Place, reference_types
from .schema import Field

#: Fields one file may expand to. References can multiply a small file without end.
MAX_FIELDS: Final = 10_000
#: Characters that references may repeat in all: few long texts, referred to often, multiply a small file as well.
MAX_REPEATED_CHARACTERS: Final = 16 << 20

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "object", "array"})


def read_json_schema(data: bytes, place: Place) -> dict[str, Field]:
    """The fields that a JSON Schema declares, in bytewise order of their names.

    Args:
        data: The file.
        place: Of the entity, with the schema file in place of the configuration.

    Raises:
        RepositoryError: Not JSON, or a schema that no native definition could express.
    """
    document = _parse(data, place)
    if not isinstance(document, dict):
        raise place.fault("the JSON Schema must be an object")
    if document.get("type", "object") != "object":
        raise place.fault("the JSON Schema must be of type object")
    if "properties" not in document:
        raise place.fault("the JSON Schema needs properties")
    return _Reader(document).fields(document, place, 0)


def _parse(data: bytes, place: Place) -> Any:
    try:
        text = data.decode("utf-8-sig")
        value, _ = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text.lstrip(" \t\r\n"))
        # Escapes can spell half a surrogate pair, which no reply could carry.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise place.fault("the JSON Schema is not valid UTF-8") from None
    except UnicodeEncodeError:
        raise place.fault("the JSON Schema holds half a surrogate pair") from None
    except json.JSONDecodeError as error:
        raise place._replace(entity=place.entity).fault(
            f"the JSON Schema is not valid JSON (line {error.lineno}, column {error.colno})"
        ) from None
    except (ValueError, RecursionError):
        raise place.fault("the JSON Schema holds a number too large, NaN or too deep a nesting") from None
    return value


def _refuse_constant(_: str) -> None:
    raise ValueError


class _Reader:
    """One document and what is left of its budgets."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._left = MAX_FIELDS
        self._left_characters = MAX_REPEATED_CHARACTERS
        self._lengths: dict[int, int] = {}  # of what was referred to, by identity: the document outlives them

    def fields(self, schema: dict[str, Any], place: Place, depth: int) -> dict[str, Field]:
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            raise place.fault("properties must be an object")
        required = schema.get("required", [])
        if required is None:
            required = []
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise place.fault("required must be a list of names")
        if not all(name in properties for name in required):
            raise place.fault("required names something that is not a property")
        if depth > MAX_PROPERTY_DEPTH:
            raise place.fault(f"properties are nested more than {MAX_PROPERTY_DEPTH} deep")
        return {
            name: self._field(name, properties[name], place.inside(name), depth, required=name in required)
            for name in sorted(properties)
        }

    def _field(self, name: str, schema: Any, place: Place, depth: int, *, required: bool) -> Field:
        self._left -= 1
        if self._left < 0:
            raise place.fault(f"the JSON Schema expands to more than {MAX_FIELDS} fields")
        field = self._shape(name, self._resolved(schema, place), place, depth)
        return field._replace(required=required)

    def _shape(self, name: str, schema: dict[str, Any], place: Place, depth: int, nesting: int = 0) -> Field:
        base = Field(
            name,
            "",
            description=_text(schema, "description", place),
            format=_text(schema, "format", place),
            pattern=_text(schema, "pattern", place),
            default=schema.get("default"),
        )
        enum = self._enum(schema, place)
        if enum is not None:
            return base._replace(type="enum", enum=enum)
        reference = schema.get("x-reference-type")
        if reference is not None:
            if not isinstance(reference, str) or "|" in reference or not reference.strip():
                raise place.fault("x-reference-type must name one entity")
            target = reference.strip()
            references = reference_types(target, place)
            if not references:
                raise place.fault("x-reference-type must name one entity")
            return base._replace(type=target, reference_types=references)
        kind = _type(schema, place)
        if kind == "array":
            if nesting >= MAX_PROPERTY_DEPTH:
                raise place.fault(f"arrays are nested more than {MAX_PROPERTY_DEPTH} deep")
            if "items" not in schema:
                raise place.fault("an array needs items")
            item = self._shape(name, self._resolved(schema["items"], place), place, depth, nesting + 1)
            return item._replace(repeated=True, description=base.description, default=base.default)
        if kind == "object":
            properties = self.fields(schema, place, depth + 1)
            return base._replace(
                type="object", properties=properties or None, property_order=tuple(properties) or None
            )
        return base._replace(type=kind)

    def _enum(self, schema: dict[str, Any], place: Place) -> tuple[str, ...] | None:
        if schema.get("oneOf") is not None:
            choices = schema["oneOf"]
            if not isinstance(choices, list) or not choices:
                raise place.fault("oneOf must be a list of const strings")
            return tuple(_single(self._resolved(choice, place), place) for choice in choices)
        if "const" in schema:
            return (_single(schema, place),)
        entries = schema.get("enum")
        if entries is None or entries == []:
            return None
        if not isinstance(entries, list) or not all(isinstance(entry, str) and entry for entry in entries):
            raise place.fault("an enum must list non-empty strings")
        return tuple(entries)

    def _resolved(self, schema: Any, place: Place) -> dict[str, Any]:
        if not isinstance(schema, dict):
            raise place.fault("a property must be an object")
        if "$ref" not in schema:
            return schema
        pointer = schema["$ref"]
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            raise place.fault("$ref must point into the same document (#/...)")
        target: Any = self._document
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and key in target:
                target = target[key]
            elif isinstance(target, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(target):
                target = target[int(key[:9])]
            else:
                raise place.fault("$ref points at nothing")
        if not isinstance(target, dict):
            raise place.fault("$ref points at something that is no schema")
        if id(target) not in self._lengths:
            self._lengths[id(target)] = len(json.dumps(target, ensure_ascii=False))
        self._left_characters -= self._lengths[id(target)]
        if self._left_characters < 0:
            raise place.fault(
                f"the references of the JSON Schema repeat more than {MAX_REPEATED_CHARACTERS:,} characters"
            )
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return {**target, **siblings}


def _single(schema: dict[str, Any], place: Place) -> str:
    value = schema.get("const")
    if value is None:
        entries = schema.get("enum")
        value = entries[0] if isinstance(entries, list) and len(entries) == 1 else None
    if not isinstance(value, str):
        raise place.fault("only const strings and enums of one string can be choices")
    return value


def _type(schema: dict[str, Any], place: Place) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        named = [entry for entry in kind if entry != "null"]
        if len(named) != 1:
            raise place.fault("type must name exactly one type beside null")
        kind = named[0]
    if kind is None:
        if "properties" not in schema:
            raise place.fault("the type is missing (a $ref is followed one level only)")
        kind = "object"
    if not isinstance(kind, str) or kind not in _TYPES:
        raise place.fault("the type is none of string, integer, number, boolean, object and array")
    return kind


def _text(schema: dict[str, Any], key: str, place: Place) -> str:
    value = schema.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise place.fault(f"{key} must be text")
    return value.strip()

"""Reads what one configuration file declares: entities and fields, each checked by itself.

What needs other entities (parents, references, inherited fields) is settled later, in `inheritance`. Messages name
entity and field but quote no other text of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from .errors import RepositoryError
from .schema import PATH_IDENTIFIER, PRIMITIVE_TYPES, Field, Identifier, Include, Source
from .yaml import (
    Node,
    YamlError,
    decode_bool_typed,
    decode_int_typed,
    decode_text,
    decode_value,
    mapping_items,
)

ENTITY_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_-]*", re.ASCII)
FIELD_NAME: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

#: Deepest nesting of properties; replies and readers have limits of their own not far above.
MAX_PROPERTY_DEPTH: Final = 64

_UNSOURCED_TYPES: Final = frozenset({"integer", "number", "boolean", "object"})

_T = TypeVar("_T")


class Declaration(NamedTuple):
    """An entity as one file declares it, nothing inherited yet.

    Attributes:
        name: As declared.
        file: Absolute path of the declaring file.
        included: That file is an included one.
        description: Free text.
        extends: Name of the parent, or empty.
        identifier: None when it is left to the parent.
        includes: Where records are.
        inline_data: Records in the configuration itself.
        fields: Own fields by name; empty when there are none.
        field_order: As declared, repeated names repeated.
        json_schema: Path as written, or empty.
    """

    name: str
    file: str
    included: bool
    description: str
    extends: str
    identifier: Identifier | None
    includes: tuple[Include, ...]
    inline_data: tuple[dict[str, Any], ...]
    fields: dict[str, Field]
    field_order: tuple[str, ...]
    json_schema: str

    @property
    def place(self) -> Place:
        """Where faults of this entity are reported."""
        return Place(self.file, self.included, self.name)


class Place(NamedTuple):
    """Where in the configuration something is, for the message of a fault.

    Attributes:
        file: Absolute path.
        included: The file is an included one.
        entity: Entity, or None outside of any.
        path: Field and property names, outermost first.
    """

    file: str
    included: bool
    entity: str | None = None
    path: tuple[str, ...] = ()

    def inside(self, name: str) -> Place:
        """The place of a field or property inside this one."""
        return self._replace(path=(*self.path, name))

    def fault(
        self, reason: str, node: Node | None = None, *, others: tuple[str, ...] = ()
    ) -> RepositoryError:
        """A fault at this place.

        Args:
            reason: What is wrong and how to mend it.
            node: Gives line and column, when known.
            others: Further entities that are involved.
        """
        return RepositoryError(
            reason,
            file=self.file,
            entity=self.entity,
            others=others,
            place=f"field {'.'.join(self.path)}" if self.path else "",
            line=None if node is None else node.line,
            column=None if node is None else node.column,
            hidden_origin=self.included,
        )

    def decoded(self, decode: Callable[[Node], _T], node: Node) -> _T:
        """What a decoder makes of a node, its faults placed here."""
        try:
            return decode(node)
        except YamlError as error:
            raise self.yaml_fault(error, node) from None

    def yaml_fault(self, error: YamlError, node: Node | None = None) -> RepositoryError:
        """A fault of the YAML reader at this place."""
        fault = self.fault(error.reason, node)
        if error.line is None:
            return fault
        return RepositoryError(
            error.reason,
            file=self.file,
            entity=self.entity,
            place=fault.place,
            line=error.line,
            column=error.column,
            hidden_origin=self.included,
        )


def members(
    place: Place, node: Node | None, what: str, *, as_declared: bool = False
) -> list[tuple[str, Node, Node]]:
    """The members of a map as (name, key node, value node); null or absent is an empty map.

    Args:
        place: For faults.
        node: The map, or None.
        what: Its name in messages.
        as_declared: Keep repeated names and `<<` as they are, as `fields` does.

    Raises:
        RepositoryError: Not a map, or a name repeated.
    """
    if node is None or node.is_null:
        return []
    if node.kind != "mapping":
        raise place.fault(f"{what} must be a map", node)
    try:
        pairs = mapping_items(node, allow_duplicates=as_declared)
        return [(decode_text(key), key, value) for key, value in pairs if as_declared or not key.is_null]
    except YamlError as error:
        raise place.yaml_fault(error, node) from None


def member_map(place: Place, node: Node | None, what: str) -> dict[str, Node]:
    """The members of a map by name; see `members`."""
    return {name: value for name, _, value in members(place, node, what)}


def text_of(place: Place, node: Node | None) -> str:
    """The text of an optional scalar; null and absent are empty."""
    if node is None or node.is_null:
        return ""
    return place.decoded(decode_text, node)


def read_entity(name: str, node: Node, place: Place) -> Declaration:
    """Read one entity.

    Args:
        name: Its key, already checked.
        node: What it is declared as.
        place: Of the entity.

    Raises:
        RepositoryError: The declaration breaks a rule.
    """
    body = member_map(place, node, "an entity")
    extends = text_of(place, body.get("extends")).strip()
    json_schema = text_of(place, body.get("json_schema")).strip()
    identifier = _identifier(place, body.get("identifier"))
    fields, order = read_fields(place, body.get("fields"), "fields")
    includes = _includes(place, body.get("include"))
    inline = _inline_data(place, body.get("data"))
    declaration = Declaration(
        name,
        place.file,
        place.included,
        text_of(place, body.get("description")),
        extends,
        identifier,
        includes,
        inline,
        fields,
        order,
        json_schema,
    )
    _check_entity(declaration, place)
    return declaration


def _check_entity(entity: Declaration, place: Place) -> None:
    if entity.identifier is None and not entity.extends:
        raise place.fault("the identifier is missing; name the field that identifies a record, or $path")
    if entity.extends and not ENTITY_NAME.fullmatch(entity.extends):
        raise place.fault("extends must name one entity")
    if entity.json_schema and entity.fields:
        raise place.fault("has both fields and json_schema; keep one")
    if entity.json_schema and entity.extends:
        raise place.fault("json_schema cannot be combined with extends; declare fields instead")
    if not entity.fields and not entity.json_schema and not entity.extends:
        raise place.fault("needs fields or a json_schema")
    check_sources(entity.fields, entity.identifier, entity.inline_data, place)


def check_sources(
    fields: dict[str, Field],
    identifier: Identifier | None,
    inline_data: tuple[dict[str, Any], ...],
    place: Place,
) -> None:
    """Refuse derived values where there is no file to derive them from, or where they would identify.

    Raises:
        RepositoryError: They are used so.
    """
    if identifier is not None:
        if identifier.field == PATH_IDENTIFIER and inline_data:
            raise place.fault("inline data has no path, so $path cannot identify it")
        declared = fields.get(identifier.field)
        if declared is not None and declared.source is not None:
            raise place.inside(identifier.field).fault("the identifier cannot have a source; use $path")
    if inline_data:
        for field in fields.values():
            if field.source is not None:
                raise place.inside(field.name).fault("inline data has no path, so no field may have a source")


def _identifier(place: Place, node: Node | None) -> Identifier | None:
    if node is None or node.is_null:
        return None
    if node.kind == "mapping":
        body = member_map(place, node, "the identifier")
        generated = body.get("generated")
        identifier = Identifier(
            text_of(place, body.get("field")),
            generated is not None and place.decoded(decode_bool_typed, generated),
            text_of(place, body.get("pattern")),
        )
    else:
        identifier = Identifier(place.decoded(decode_text, node))
    if identifier.field != PATH_IDENTIFIER and not FIELD_NAME.fullmatch(identifier.field):
        raise place.fault("the identifier must be $path or a name of letters, digits, _ and -", node)
    return identifier


def _includes(place: Place, node: Node | None) -> tuple[Include, ...]:
    includes: dict[Include, None] = {}
    for entry in _sequence(place, node, "include"):
        if entry.kind == "mapping":
            body = member_map(place, entry, "an include")
            include = Include(
                text_of(place, body.get("path")).strip(), text_of(place, body.get("selector")).strip()
            )
        else:
            include = Include(text_of(place, entry).strip())
        if not include.path:
            raise place.fault("an include has no path", entry)
        includes[include] = None
    return tuple(includes)


def _inline_data(place: Place, node: Node | None) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            name: place.decoded(decode_value, value)
            for name, _, value in members(place, entry, "an entry of data")
        }
        for entry in _sequence(place, node, "data")
    )


def _sequence(place: Place, node: Node | None, what: str) -> Sequence[Node]:
    if node is None or node.is_null:
        return []
    if node.kind != "sequence":
        raise place.fault(f"{what} must be a list", node)
    return node.items


def read_fields(
    place: Place, node: Node | None, what: str, depth: int = 0
) -> tuple[dict[str, Field], tuple[str, ...]]:
    """Read a map of fields or properties.

    Returns:
        The fields by name (a repeated name keeps the last) and all names in order.

    Raises:
        RepositoryError: A declaration breaks a rule.
    """
    if depth > MAX_PROPERTY_DEPTH:
        raise place.fault(f"properties are nested more than {MAX_PROPERTY_DEPTH} deep", node)
    fields: dict[str, Field] = {}
    order: list[str] = []
    for name, key, value in members(place, node, what, as_declared=True):
        if not FIELD_NAME.fullmatch(name):
            raise place.fault(f"a name in {what} is not made of letters, digits, _ and -", key)
        fields[name] = _field(name, value, place.inside(name), depth)
        order.append(name)
    return fields, tuple(order)


def _field(name: str, node: Node, place: Place, depth: int) -> Field:
    if node.kind == "scalar":
        text = text_of(place, node).strip()
        if not text:
            raise place.fault("the type is missing", node)
        if text == "object":
            raise place.fault("an object needs properties", node)
        return Field(name, text, reference_types=reference_types(text, place, node), properties={})
    body = member_map(place, node, "a field")
    type_text = text_of(place, body.get("type"))
    if not type_text.strip():
        raise place.fault("the type is missing", node)
    references = reference_types(type_text, place, node)
    flags = {
        flag: flag in body and place.decoded(decode_bool_typed, body[flag])
        for flag in ("required", "repeated", "unique")
    }
    if flags["repeated"] and flags["unique"]:
        raise place.fault("a repeated field cannot be unique", node)
    if members(place, body.get("fields"), "fields", as_declared=True):
        raise place.fault("fields of an object are declared under properties", node)
    properties, order = read_fields(place, body.get("properties"), "properties", depth + 1)
    if type_text == "object" and not properties:
        raise place.fault("an object needs properties", node)
    if type_text != "object" and properties:
        raise place.fault("only an object may have properties", node)
    default = body.get("default")
    source = _source(place, body.get("source"))
    if source is not None:
        if flags["repeated"]:
            raise place.fault("a repeated field cannot have a source", node)
        if default is not None and not default.is_null:
            raise place.fault("a field with a source cannot have a default", node)
        if type_text in _UNSOURCED_TYPES:
            raise place.fault("a source gives text, which this type does not take", node)
    return Field(
        name,
        type_text,
        reference_types=references,
        required=flags["required"],
        repeated=flags["repeated"],
        unique=flags["unique"],
        format=text_of(place, body.get("format")),
        pattern=text_of(place, body.get("pattern")),
        description=text_of(place, body.get("description")),
        enum=_enum(place, body.get("enum")),
        default=None if default is None else place.decoded(decode_value, default),
        properties=properties,
        property_order=order or None,
        source=source,
    )


def reference_types(type_text: str, place: Place, node: Node | None = None) -> tuple[str, ...]:
    """The entity names of a reference type; empty for a primitive.

    Raises:
        RepositoryError: The text is neither, or a union with a blank, repeated or primitive member.
    """
    if type_text in PRIMITIVE_TYPES:
        return ()
    parts = tuple(part.strip() for part in type_text.split("|"))
    if not all(ENTITY_NAME.fullmatch(part) for part in parts):
        raise place.fault(
            "the type must be string, integer, number, boolean, enum, object, an entity name or names joined by |",
            node,
        )
    if len(set(parts)) != len(parts):
        raise place.fault("the union names an entity twice", node)
    return parts


def _enum(place: Place, node: Node | None) -> tuple[str, ...] | None:
    if node is None or node.is_null:
        return None
    entries = (entry for entry in _sequence(place, node, "enum") if not entry.is_null)
    return tuple(place.decoded(decode_text, entry) for entry in entries) or None


def _source(place: Place, node: Node | None) -> Source | None:
    body = member_map(place, node, "a source")
    given: list[Source] = []
    path = body.get("path")
    if path is not None and place.decoded(decode_bool_typed, path):
        given.append(Source("path"))
    segment, segment_rev = body.get("path_segment"), body.get("path_segment_rev")
    if segment is not None and not segment.is_null:
        given.append(Source("path_segment", place.decoded(decode_int_typed, segment)))
    if segment_rev is not None and not segment_rev.is_null:
        given.append(Source("path_segment_rev", place.decoded(decode_int_typed, segment_rev)))
    if len(given) > 1:
        raise place.fault("a source is one of path, path_segment and path_segment_rev", node)
    if given and given[0].segment < 0:
        raise place.fault("a path segment is counted from 0", node)
    return given[0] if given else None

"""What a configuration says: entities, their fields, where their records are and what identifies them.

Plain immutable tuples without behaviour that needs other modules, so that everything may import them cheaply.
Facts follow the repository format; names follow its documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

#: The identifier "field" that stands for the path of the record's file.
PATH_IDENTIFIER: Final = "$path"

#: Types that are not references. `enum` and `object` need or take more members, the rest stand alone.
PRIMITIVE_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "enum", "object"})

SourceKind = Literal["path", "path_segment", "path_segment_rev"]


class Source(NamedTuple):
    """Where a derived field takes its value from: the record's path, or one segment of it.

    Attributes:
        kind: The whole path, a segment counted from the root, or one counted from the file name.
        segment: Which one, from 0; 0 for the whole path.
    """

    kind: SourceKind
    segment: int = 0


class Field(NamedTuple):
    """One field or property.

    Attributes:
        name: As declared.
        type: The declared type text: a primitive, an entity name or a union of names.
        reference_types: Entity names of a reference in the order declared; empty for primitives.
        required: The record must have it.
        repeated: The value is a list.
        unique: No two records of the entity may share the value.
        format: Such as `email`; unchecked here.
        pattern: RE2 text; unchecked here.
        description: Free text.
        enum: Allowed texts, or None when none were given.
        default: Any value, never injected into records.
        properties: Of an object; None where replies say null, empty for other natively declared types.
        property_order: Names of the properties as declared, or None.
        source: Where a derived field comes from, or None.
    """

    name: str
    type: str
    reference_types: tuple[str, ...] = ()
    required: bool = False
    repeated: bool = False
    unique: bool = False
    format: str = ""
    pattern: str = ""
    description: str = ""
    enum: tuple[str, ...] | None = None
    default: Any = None
    properties: Mapping[str, Field] | None = None
    property_order: tuple[str, ...] | None = None
    source: Source | None = None


class Identifier(NamedTuple):
    """What names a record: a field, or `$path`.

    Attributes:
        field: Field name or `$path`; need not be a declared field.
        generated: The id is made by tools, not by people. Kept as declared.
        pattern: RE2 text the id should match; checked by validation, never by loading.
    """

    field: str
    generated: bool = False
    pattern: str = ""


class Include(NamedTuple):
    """Where records of an entity are.

    Attributes:
        path: Glob pattern relative to the repository root, or absolute.
        selector: JSONPath that picks the records inside each file; empty when the file itself is the record.
    """

    path: str
    selector: str = ""


class Entity(NamedTuple):
    """One entity with everything inherited filled in.

    Attributes:
        name: As declared.
        file: Absolute path of the configuration file that declares it.
        in_included_file: That file is an included one, not the entry file.
        description: Free text.
        extends: Name of the parent, or empty.
        ancestors: Root first.
        descendants: All levels, sorted.
        identifier: Own or inherited.
        includes: Where its records are.
        inline_data: Records written in the configuration itself; keys are text.
        fields: Inherited and own, by name.
        field_order: Inherited first; a name declared twice appears twice. None when the json_schema has none.
        json_schema: Path as written, or empty.
    """

    name: str
    file: str
    in_included_file: bool
    description: str
    extends: str
    ancestors: tuple[str, ...]
    descendants: tuple[str, ...]
    identifier: Identifier
    includes: tuple[Include, ...]
    inline_data: tuple[Mapping[str, Any], ...]
    fields: Mapping[str, Field]
    field_order: tuple[str, ...] | None
    json_schema: str

    @property
    def tree(self) -> str:
        """Name of the topmost ancestor: entities of one inheritance tree share it."""
        return self.ancestors[0] if self.ancestors else self.name


class Configuration(NamedTuple):
    """A whole configuration that loaded.

    Attributes:
        root: Absolute repository root.
        file: Absolute path of the entry file.
        entities: By name, in bytewise order of the names.
    """

    root: str
    file: str
    entities: Mapping[str, Entity]

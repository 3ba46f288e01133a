"""Reads record files: what is in them, and what each record is called.

Two steps that can be taken apart, because validation reports their faults in different phases: `read_records` gives
the raw maps of a file (*format*), `identify` their identifiers and derived fields (*schema*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .identity import derived_value, fits_type, id_text
from .schema import PATH_IDENTIFIER, Entity, Source
from .yaml import NotAMapping, Timestamp, YamlError, has_non_string_key, load_mapping, load_plain

#: Keys that a selected record loses: they say what it is, not what it holds.
_SELECTED_META_KEYS: Final = ("type", "Type", "$path")

Fields = dict[str, Any]


class RecordFault(Exception):
    """A file that holds no records as the entity needs them.

    Attributes:
        reason: What is wrong and how to mend it; quotes nothing of the file.
        item: 1-based position of the record, or None.
        line: 1-based line, or None.
        column: 1-based column, or None.
    """

    def __init__(
        self, reason: str, *, item: int | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.item = item
        self.line = line
        self.column = column


class FormatFault(RecordFault):
    """The file cannot be read as records: syntax, shape, type or selector."""


class IdentityFault(RecordFault):
    """A record has no usable identifier, or a derived field has no value."""


class RawRecords(NamedTuple):
    """What a file holds before anything is named.

    Attributes:
        records: One map a record; None for an empty file, which stands for one record without fields.
        multiple: The file is a collection (`items`, or a selector with several matches), even if it has one entry.
        read_only: The records were picked by a selector.
    """

    records: list[Fields | None]
    multiple: bool
    read_only: bool


class RecordRule(NamedTuple):
    """How one include of an entity reads its files; two equal rules read a file alike.

    Attributes:
        entity: Name of the entity.
        selector: JSONPath, or empty.
        identifier: Field that identifies, or `$path`.
        identifier_type: Declared type of that field, or empty.
        derived: Derived fields and where they come from.
    """

    entity: str
    selector: str
    identifier: str
    identifier_type: str
    derived: tuple[tuple[str, Source], ...]


def record_rule(entity: Entity, selector: str) -> RecordRule:
    """The rule by which an include of an entity reads files."""
    declared = entity.fields.get(entity.identifier.field)
    return RecordRule(
        entity.name,
        selector,
        entity.identifier.field,
        "" if declared is None else declared.type,
        tuple((field.name, field.source) for field in entity.fields.values() if field.source is not None),
    )


def is_json_name(path: str) -> bool:
    """Whether a file's name says that it is JSON, so that JSON's own escapes are valid in it."""
    return path[-5:].lower() == ".json"


def read_records(data: bytes, entity: str, selector: str, *, json_syntax: bool) -> RawRecords:
    """The raw records of a file.

    Args:
        data: The whole file.
        entity: Name that a `type` key must give.
        selector: JSONPath, or empty.
        json_syntax: The file is named .json.

    Raises:
        FormatFault: Unreadable, of the wrong shape or type, or nothing selected.
    """
    try:
        if selector:
            return _selected(load_plain(data, json_syntax=json_syntax), entity, selector)
        document = load_mapping(data, json_syntax=json_syntax)
    except NotAMapping as error:
        raise FormatFault(
            "a list or a single value where a record needs keys and values",
            line=error.line,
            column=error.column,
        ) from None
    except YamlError as error:
        raise FormatFault(error.reason, line=error.line, column=error.column) from None
    if document is None:
        return RawRecords([None], multiple=False, read_only=False)
    if "type" in document and _names_a_type(document["type"]) and document.pop("type") != entity:
        raise FormatFault(f"the key type does not name the entity {entity}; correct or remove it")
    if "items" in document:
        return RawRecords(_items(document["items"]), multiple=True, read_only=False)
    return RawRecords([document], multiple=False, read_only=False)


def _items(items: Any) -> list[Fields | None]:
    if not isinstance(items, list):
        raise FormatFault("the key items must hold a list of records")
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise FormatFault("an entry of items is not a map of fields", item=number)
        for key in item:
            if key.__class__ is not str:
                raise FormatFault("a field name in items is not text; put it in quotes", item=number)
    return items


def _selected(document: Any, entity: str, selector: str) -> RawRecords:
    from .selectors import SelectorFault, compile_selector  # only repositories with selectors pay for it

    if has_non_string_key(document):
        raise FormatFault("a key is not text, which a selector cannot read; put it in quotes")
    try:
        matches = compile_selector(selector).find(document)
    except SelectorFault as fault:
        raise FormatFault(fault.reason) from None
    if not matches:
        raise FormatFault("the selector matches nothing in this file")
    records: list[Fields | None] = []
    for number, match in enumerate(matches, start=1):
        if not isinstance(match, dict):
            raise FormatFault("the selector matches something that is not a map of fields", item=number)
        for key in ("type", "Type"):
            if key in match and _names_a_type(match[key]) and match[key] != entity:
                raise FormatFault(f"the key {key} does not name the entity {entity}", item=number)
        # A copy: one match may lie inside another, which keeps its keys.
        records.append({key: value for key, value in match.items() if key not in _SELECTED_META_KEYS})
    return RawRecords(records, multiple=len(records) > 1, read_only=True)


def _names_a_type(value: Any) -> bool:
    """Whether a `type` value claims to name the record's type: non-empty text, a number or a point in time."""
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, int | float | Timestamp) and not isinstance(value, bool)


class FileRecords:
    """The identified records of one file under one rule. Never changed once made.

    Attributes:
        path: Absolute, as matched.
        relative: From the root, with `/`.
        ids: Identifier texts in file order.
        fields: The records' fields; None for an empty file.
        multiple: The file is a collection.
        read_only: The records were picked by a selector.
    """

    __slots__ = ("_index", "fields", "ids", "multiple", "path", "read_only", "relative")

    def __init__(
        self,
        path: str,
        relative: str,
        ids: Sequence[str],
        fields: Sequence[Mapping[str, Any] | None],
        *,
        multiple: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.relative = relative
        self.ids = ids
        self.fields = fields
        self.multiple = multiple
        self.read_only = read_only
        self._index: dict[str, int] | None = None

    @property
    def index(self) -> dict[str, int]:
        """Position of the first record of each identifier; made when first asked for."""
        index = self._index
        if index is None:
            index = {}
            for position in range(len(self.ids) - 1, -1, -1):
                index[self.ids[position]] = position
            self._index = index
        return index


def identify(raw: RawRecords, rule: RecordRule, path: str, relative: str) -> FileRecords:
    """Give records their identifiers and derived fields.

    Args:
        raw: What the file holds.
        rule: How its entity identifies.
        path: Absolute path as matched.
        relative: From the root, with `/`.

    Raises:
        IdentityFault: An identifier is missing or unusable, or a path has too few segments.
    """
    records: list[Fields | None] = raw.records
    if rule.derived:
        records = _with_derived(raw.records, rule.derived, relative)
    if rule.identifier == PATH_IDENTIFIER:
        if raw.multiple:
            raise IdentityFault("a file that holds several records cannot be identified by its path")
        _require_text(relative)
        return FileRecords(path, relative, [relative], records, read_only=raw.read_only)
    ids: list[str] = []
    name = rule.identifier
    checked = rule.identifier_type in {"integer", "number"}
    for position, fields in enumerate(records):
        if fields is None:
            raise IdentityFault(f"the file is empty, so the identifier {name} is missing")
        value = fields.get(name)
        text = value if value.__class__ is str and value else id_text(value)
        if text is None:
            raise IdentityFault(
                f"the identifier {name} is missing or is no text, number or date",
                item=position + 1 if raw.multiple else None,
            )
        if checked and not fits_type(text, rule.identifier_type):
            raise IdentityFault(
                f"the identifier {name} is not of its declared type {rule.identifier_type}",
                item=position + 1 if raw.multiple else None,
            )
        ids.append(text)
    return FileRecords(path, relative, ids, records, multiple=raw.multiple, read_only=raw.read_only)


def _with_derived(
    records: list[Fields | None], derived: tuple[tuple[str, Source], ...], relative: str
) -> list[Fields | None]:
    values: Fields = {}
    for name, source in derived:
        value = derived_value(source, relative)
        if value is None:
            raise IdentityFault(f"the path has too few segments for the derived field {name}")
        values[name] = value
    _require_text(relative)
    completed: list[Fields | None] = []
    for fields in records:
        if fields is None:
            raise IdentityFault("the file is empty, so its derived fields have no record to go to")
        # A new map: aliases may share the parsed one with other records.
        completed.append({**fields, **values})
    return completed


def _require_text(relative: str) -> None:
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError:
        raise IdentityFault(
            "the path is not valid UTF-8 and cannot become a value; rename the file"
        ) from None

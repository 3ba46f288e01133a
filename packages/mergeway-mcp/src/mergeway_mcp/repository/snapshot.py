"""Answers questions about one state of the repository. Immutable, and safe to use from several threads.

All answers are ready for JSON and in a fixed order: names and identifiers bytewise, equal identifiers in the order
their records were loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from .describe import describe_entity
from .errors import (
    EntityNotAllowed,
    ObjectNotFound,
    RepositoryError,
    UnknownEntity,
    printable,
    require_argument,
)
from .freshness import FileEntry
from .identity import clean_path_id, fits_type, id_text
from .records import FileRecords
from .schema import PATH_IDENTIFIER, Configuration, Entity
from .values import NotJson, to_json

#: Files whose names end so are listed as record files; others are read, but not listed.
_LISTED_ENDINGS: Final = (".yaml", ".yml", ".json")


class EntityRecords:
    """The records of one entity, file by file. Never changed once made; indexes appear when first asked for.

    Attributes:
        entity: Whose they are.
        files: In load order; a file matched twice appears twice.
        inline: Records written in the configuration that no file overrides, as a file without path.
        parts: All of them: files, then inline.
    """

    __slots__ = ("_id_set", "_order", "entity", "files", "inline", "parts")

    def __init__(self, entity: Entity, files: tuple[FileRecords, ...]) -> None:
        """Put the files of an entity together.

        Raises:
            RepositoryError: An inline record has no usable identifier.
        """
        self.entity = entity
        self.files = files
        self.inline = _inline_records(entity, files) if entity.inline_data else None
        self.parts = (*files, self.inline) if self.inline is not None else files
        self._order: list[tuple[FileRecords, int]] | None = None
        self._id_set: frozenset[str] | None = None

    @property
    def holds_records(self) -> bool:
        """Whether there is any record."""
        return any(part.ids for part in self.parts)

    @property
    def count(self) -> int:
        """Number of records."""
        return sum(len(part.ids) for part in self.parts)

    @property
    def id_set(self) -> frozenset[str]:
        """All identifiers."""
        known = self._id_set
        if known is None:
            known = self._id_set = frozenset(identifier for part in self.parts for identifier in part.ids)
        return known

    @property
    def order(self) -> list[tuple[FileRecords, int]]:
        """Records by identifier, equal ones in load order, as (part, position)."""
        order = self._order
        if order is None:
            order = [(part, position) for part in self.parts for position in range(len(part.ids))]
            order.sort(key=_id_of)
            self._order = order
        return order

    def find(self, identifier: str) -> tuple[FileRecords, int] | None:
        """The first record of that identifier in load order, as (part, position)."""
        for part in self.parts:
            position = part.index.get(identifier)
            if position is not None:
                return part, position
        return None

    def parts_beside(self, other: EntityRecords) -> list[FileRecords]:
        """The parts that another state of the same entity does not have."""
        known = {id(part) for part in other.parts}
        return [part for part in self.parts if id(part) not in known]

    def shares_ids(self, parts: Iterable[FileRecords]) -> bool:
        """Whether any identifier of some other records is one of these."""
        return any(not self.id_set.isdisjoint(part.ids) for part in parts)


def _id_of(entry: tuple[FileRecords, int]) -> str:
    # Text compares by code point, which is the order of its UTF-8 bytes.
    return entry[0].ids[entry[1]]


def _inline_records(entity: Entity, files: Sequence[FileRecords]) -> FileRecords:
    field = entity.identifier.field
    declared = entity.fields.get(field)
    ids: list[str] = []
    fields: list[Mapping[str, Any]] = []
    for number, record in enumerate(entity.inline_data, start=1):
        text = id_text(record.get(field))
        if text is None or (declared is not None and not fits_type(text, declared.type)):
            raise RepositoryError(
                f"the identifier {field} of an inline record is missing or not of its type",
                file=entity.file,
                entity=entity.name,
                item=number,
                hidden_origin=entity.in_included_file,
            )
        ids.append(text)
        fields.append(record)
    wanted = frozenset(ids)
    taken = {identifier for file in files for identifier in file.ids if identifier in wanted}
    kept: list[int] = []
    for position, identifier in enumerate(ids):
        if identifier not in taken:
            taken.add(identifier)
            kept.append(position)
    return FileRecords("", "", [ids[at] for at in kept], [fields[at] for at in kept], multiple=True)


class Snapshot:
    """One state of a repository, as one kind of client may see it."""

    def __init__(
        self,
        configuration: Configuration,
        records: Mapping[str, EntityRecords],
        allowed: Collection[str] | None,
        entries: Sequence[FileEntry],
    ) -> None:
        """Put a state together.

        Args:
            configuration: As loaded.
            records: By entity name.
            allowed: Names that may be seen; None means all.
            entries: Every file the state was made from.
        """
        self.configuration = configuration
        self._records = records
        self._allowed = allowed
        self._entries = entries
        self._token: str | None = None

    @property
    def state_token(self) -> str:
        """A short digest of the state, for cursors that must not outlive it.

        The same as long as the files the answers rest on keep their status, also across restarts.
        """
        if self._token is None:
            import hashlib  # 4 ms of import; only paging needs it

            digest = hashlib.blake2b(digest_size=12)
            for stamp in sorted(repr(entry.stamp) for entry in self._entries):
                digest.update(stamp.encode("utf-8", "surrogatepass"))
            self._token = digest.hexdigest()
        return self._token

    def entity_names(self) -> list[str]:
        """Names of the entities that may be seen, in bytewise order."""
        return [
            name for name in self.configuration.entities if self._allowed is None or name in self._allowed
        ]

    def entity_schema(self, name: str) -> dict[str, Any]:
        """What the configuration says about an entity; blanks around the name do not matter.

        Raises:
            InvalidArgument: The name is empty.
            UnknownEntity: There is no such entity.
            EntityNotAllowed: It may not be seen.
            RepositoryError: A default or an inline record holds what JSON cannot.
        """
        require_argument("entity", name)
        entity = self._visible(name.strip())
        try:
            return describe_entity(entity)
        except NotJson as fault:
            raise self._fault(f"a default or an inline record {fault.reason}", entity, entity.file) from None

    def objects(self, name: str, *, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """The records of exactly this entity without their fields, by identifier.

        Args:
            name: Entity, without blanks around it.
            start: First to return.
            stop: First not to return; None means all.

        Raises:
            InvalidArgument: The name is empty.
            UnknownEntity: There is no such entity.
            EntityNotAllowed: It may not be seen.
            RepositoryError: The name has blanks around it.
        """
        require_argument("entity", name)
        entity = self._exact(name)
        order = self._records[entity.name].order
        return [_reference(entity.name, part, at, listed=True) for part, at in order[start:stop]]

    def object_count(self, name: str) -> int:
        """Number of records of exactly this entity.

        Raises:
            EngineError: As for `objects`.
        """
        require_argument("entity", name)
        return self._records[self._exact(name).name].count

    def get(self, name: str, identifier: str, *, fields: Collection[str] | None = None) -> dict[str, Any]:
        """One record with its fields: the first of that identifier in load order.

        Args:
            name: Entity, without blanks around it.
            identifier: Compared as text; path identifiers are cleaned first.
            fields: Names of the top-level fields to return; None means all, unknown ones are ignored.

        Raises:
            InvalidArgument: An argument is empty.
            UnknownEntity: There is no such entity.
            EntityNotAllowed: It may not be seen.
            ObjectNotFound: No record has that identifier.
            RepositoryError: The record cannot become JSON, a path identifier is absolute, or the name has blanks.
        """
        require_argument("entity", name)
        require_argument("id", identifier)
        entity = self._exact(name)
        wanted: str | None = identifier
        if entity.identifier.field == PATH_IDENTIFIER:
            wanted = clean_path_id(identifier)
            if wanted is None:
                raise self._fault(
                    "a path identifier is relative to the root; call object_list for the ids", entity
                )
        found = self._records[entity.name].find(wanted or "")
        if found is None:
            raise ObjectNotFound(entity.name, identifier)
        part, position = found
        answer = _reference(entity.name, part, position, listed=False)
        answer["fields"] = self._fields(entity, part, position, _as_set(fields))
        return answer

    def export(
        self,
        names: Iterable[str] | None = None,
        *,
        fields: Collection[str] | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """The fields of all records of some or all entities, by name and identifier.

        Args:
            names: Entities, blanks around them ignored; None or empty means all that may be seen.
            fields: Names of the top-level fields to return; None means all, unknown ones are ignored.
            start: First record to return, counted through the entities in the order of their names.
            stop: First record not to return; None means all. Without a full range, only entities within it appear.

        Raises:
            UnknownEntity: There is no such entity.
            EntityNotAllowed: It may not be seen.
            RepositoryError: A record cannot become JSON.
        """
        export: dict[str, list[dict[str, Any]]] = {}
        wanted = _as_set(fields)
        position = 0
        for entity in self._chosen(names):
            order = self._records[entity.name].order
            first, position = position, position + len(order)
            if stop is not None and first >= stop and (first > stop or order):
                break
            if start and position <= start and not (first == position == start):
                continue
            window = order[max(start - first, 0) : None if stop is None else stop - first]
            export[entity.name] = [self._fields(entity, part, at, wanted) for part, at in window]
        return export

    def export_count(self, names: Iterable[str] | None = None) -> int:
        """Number of records that `export` returns.

        Raises:
            EngineError: As for `export`.
        """
        return sum(self._records[entity.name].count for entity in self._chosen(names))

    def files(self, name: str | None = None) -> list[dict[str, str]]:
        """The YAML and JSON files behind records, relative to the root, by entity and path.

        Args:
            name: Entity, blanks around it ignored; None, empty or blank means all that may be seen.

        Raises:
            UnknownEntity: There is no such entity.
            EntityNotAllowed: It may not be seen.
        """
        name = (name or "").strip()
        names = [self._visible(name).name] if name else self.entity_names()
        listed: list[dict[str, str]] = []
        for entity in names:
            paths = {
                printable(file.relative)
                for file in self._records[entity].files
                if file.relative.lower().endswith(_LISTED_ENDINGS)
            }
            listed.extend({"type": entity, "file": path} for path in sorted(paths))
        return listed

    def _chosen(self, names: Iterable[str] | None) -> list[Entity]:
        chosen = {self._visible(name.strip()).name for name in names or ()} or self.entity_names()
        return [self.configuration.entities[name] for name in sorted(chosen)]

    def _visible(self, name: str) -> Entity:
        entity = self.configuration.entities.get(name)
        if entity is None:
            raise UnknownEntity(name)
        if self._allowed is not None and name not in self._allowed:
            raise EntityNotAllowed(name)
        return entity

    def _exact(self, name: str) -> Entity:
        entity = self._visible(name.strip())
        if entity.name != name:
            raise self._fault(
                "an entity name has no blanks around it; call entity_list for the names", entity
            )
        return entity

    def _fields(
        self, entity: Entity, part: FileRecords, position: int, wanted: frozenset[str] | None
    ) -> dict[str, Any]:
        record = part.fields[position]
        item = position + 1 if part.multiple else None
        if record is None:
            raise self._fault("the file is empty, so there are no fields to return", entity, part.path)
        if wanted is not None:
            record = {name: record[name] for name in record if name in wanted}
        try:
            fields: dict[str, Any] = to_json(record)
        except NotJson as fault:
            raise self._fault(f"the record {fault.reason}", entity, part.path or entity.file, item) from None
        return fields

    def _fault(
        self, reason: str, entity: Entity, file: str | None = None, item: int | None = None
    ) -> RepositoryError:
        error = RepositoryError(reason, file=file, entity=entity.name, item=item)
        return error.presented(self.configuration.root, self._allowed)


def _as_set(names: Collection[str] | None) -> frozenset[str] | None:
    # A caller may name very many, and each is asked for once a field of every record.
    return None if names is None else frozenset(names)


def _reference(entity: str, part: FileRecords, position: int, *, listed: bool) -> dict[str, Any]:
    reference: dict[str, Any] = {"type": entity, "id": part.ids[position]}
    if part.path:
        reference["file"] = printable(part.path)
        if part.read_only:
            reference["readOnly"] = True
    else:
        reference["inline"] = True
        if listed:
            # The interface tells this in lists only.
            reference["readOnly"] = True
    return reference

"""One function a command: from options to an answer."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mergeway_mcp.repository import (
    EngineError,
    ObjectNotFound,
    Repository,
    RepositoryError,
    Snapshot,
)
from mergeway_mcp.repository.config import ENTRY_NAMES
from mergeway_mcp.repository.errors import display_path
from mergeway_mcp.repository.schema import Configuration, Entity, Field

from .answers import EXIT_FAILURE, EXIT_OK, Answer, CommandFailure
from .arguments import PROGRAM, Options

if TYPE_CHECKING:
    from mcpkit.terminal.screen import Screen, Tone


def validate(options: Options) -> Answer:
    """`validate`: what is wrong with the repository."""
    from mergeway_mcp.repository.validation import (
        validate as run_validation,
    )  # other commands need none of it

    try:
        report = run_validation(
            _root(options),
            config=_entry(options),
            phases=options.phase,  # type: ignore[arg-type]  # the parser takes only names of phases
            fail_fast=options.fail_fast,
        )
    except RepositoryError as error:
        raise CommandFailure(f"validate: {error.message}") from None

    def draw(screen: Screen) -> None:
        screen.table(
            ["FILE", "ENTITY", "ID", "PHASE", "FINDING"],
            [
                ((finding.file, "name"), finding.type, finding.id, (finding.phase, "faint"), finding.message)
                for finding in report.findings
            ],
        )
        screen.line()
        screen.line((f"Validation failed: {_count(len(report.findings), 'finding')}.", "bad"))

    def draw_success(screen: Screen) -> None:
        looked_at = f"{_count(report.records, 'record')} of {_count(report.entities, 'entity', 'entities')}"
        screen.line(("Validation succeeded", "good"), f": {looked_at}.")

    if not report.findings:
        return Answer({"status": "validation succeeded"}, draw_success, notes=report.notes)
    return Answer(
        [finding._asdict() for finding in report.findings],
        draw,
        EXIT_FAILURE,
        [_capitalised(finding._asdict()) for finding in report.findings],
        report.notes,
    )


def config_lint(options: Options) -> Answer:
    """`config lint`: what is wrong with the configuration beside what keeps it from loading."""
    from mergeway_mcp.repository.validation import lint

    found = lint(_configuration(options))
    errors = sum(finding.severity == "error" for finding in found)

    def draw(screen: Screen) -> None:
        screen.table(
            ["FILE", "ENTITY", "FIELD", "SEVERITY", "FINDING"],
            [
                (
                    (finding.file, "name"),
                    finding.type,
                    finding.field,
                    (finding.severity, _SEVERITY_TONES[finding.severity]),
                    finding.message,
                )
                for finding in found
            ],
        )
        screen.line()
        screen.line(f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}.")

    if not found:
        return Answer(
            {"status": "configuration is valid"},
            lambda screen: screen.line(("The configuration is valid.", "good")),
        )
    return Answer(
        [finding._asdict() for finding in found],
        draw,
        EXIT_FAILURE if errors else EXIT_OK,
        [_capitalised(finding._asdict()) for finding in found],
    )


def entity_list(options: Options) -> Answer:
    """`entity list`: the names of the entities."""
    entities = _configuration(options).entities

    def draw(screen: Screen) -> None:
        screen.table(
            ["ENTITY", "EXTENDS", "IDENTIFIER", "DESCRIPTION"],
            [
                ((entity.name, "name"), entity.extends, entity.identifier.field, entity.description)
                for entity in entities.values()
            ],
        )

    return Answer(list(entities), draw)


def entity_show(options: Options) -> Answer:
    """`entity show`: how an entity is declared."""
    from mergeway_mcp.repository.describe import describe_entity
    from mergeway_mcp.repository.values import NotJson

    configuration = _configuration(options)
    entity = _entity(configuration, options.name)
    try:
        data = describe_entity(entity)
    except NotJson as fault:
        raise CommandFailure(f"entity {entity.name}: a default or an inline record {fault.reason}") from None
    return Answer(data, partial(_draw_entity, configuration=configuration, entity=entity))


def _draw_entity(screen: Screen, *, configuration: Configuration, entity: Entity) -> None:
    screen.line((entity.name, "name"), f"  {entity.description}" if entity.description else "")
    pattern = f" matching {entity.identifier.pattern}" if entity.identifier.pattern else ""
    facts = [
        ("declared in", display_path(configuration.root, entity.file) or ""),
        ("identifier", f"{entity.identifier.field}{pattern}"),
        ("extends", " < ".join(reversed(entity.ancestors))),
        ("extended by", ", ".join(entity.descendants)),
        ("json schema", entity.json_schema),
        *(
            ("records in", " ".join(filter(None, (include.path, include.selector))))
            for include in entity.includes
        ),
        ("inline data", _count(len(entity.inline_data), "record") if entity.inline_data else ""),
    ]
    for label, text in facts:
        if text:
            screen.line((f"{label:<12}", "faint"), text)
    if entity.fields:
        screen.line()
        screen.table(
            ["FIELD", "TYPE", "RULES", "DESCRIPTION"],
            [
                ((path, "name"), _type_of(field), _rules_of(field), field.description)
                for path, field in _walk_fields(entity.fields.values())
            ],
        )


def _walk_fields(fields: Iterable[Field], prefix: str = "") -> Iterable[tuple[str, Field]]:
    for field in fields:
        yield prefix + field.name, field
        yield from _walk_fields((field.properties or {}).values(), f"{prefix}{field.name}.")


def _type_of(field: Field) -> str:
    name = " | ".join(field.reference_types) or field.type
    return f"list of {name}" if field.repeated else name


def _rules_of(field: Field) -> str:
    rules = [name for name in ("required", "unique") if getattr(field, name)]
    if field.enum:
        rules.append(f"one of {', '.join(field.enum)}")
    if field.default is not None:
        rules.append("has a default")
    if field.format:
        rules.append(f"format {field.format}")
    if field.pattern:
        rules.append(f"pattern {field.pattern}")
    if field.source is not None:
        kind = field.source.kind.replace("_", " ")
        rules.append(f"from {kind}" if field.source.kind == "path" else f"from {kind} {field.source.segment}")
    return "; ".join(rules)


class _Row(NamedTuple):
    """A record in a listing."""

    reference: dict[str, Any]
    fields: dict[str, Any]


def list_records(options: Options) -> Answer:
    """`list`: ids of the records of an entity and of those that extend it."""
    snapshot = _snapshot(options)
    entity = _entity(snapshot.configuration, options.type or "")
    rows = _rows(snapshot, entity, with_fields=bool(options.filter))
    for condition in options.filter:
        key, _, wanted = condition.partition("=")
        rows = [row for row in rows if _reads(row.fields, key, wanted)]

    def draw(screen: Screen) -> None:
        if not rows:
            screen.line("No records.")
            return
        root = snapshot.configuration.root
        screen.table(
            ["ID", "ENTITY", "FILE"],
            [
                (
                    (row.reference["id"], "name"),
                    row.reference["type"],
                    display_path(root, row.reference["file"]) or ""
                    if "file" in row.reference
                    else "(inline)",
                )
                for row in rows
            ],
        )

    return Answer([row.reference["id"] for row in rows], draw)


def _rows(snapshot: Snapshot, entity: Entity, *, with_fields: bool) -> list[_Row]:
    """The records of an entity and its descendants by id, equal ids in the order of the entities' names."""
    rows: list[_Row] = []
    for name in (entity.name, *entity.descendants):
        references = snapshot.objects(name)
        fields: Sequence[dict[str, Any]] = (
            snapshot.export([name])[name] if with_fields else [{}] * len(references)
        )
        rows.extend(map(_Row, references, fields))
    return sorted(rows, key=lambda row: row.reference["id"])


def _reads(fields: dict[str, Any], key: str, wanted: str) -> bool:
    """Whether a field reads as a condition wants it to."""
    value: Any = fields
    if key in fields:
        value = fields[key]
    else:
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return not wanted
    if isinstance(value, list):
        return any(_text_of(entry) == wanted for entry in value) or (not value and not wanted)
    return _text_of(value) == wanted


def _text_of(value: Any) -> str | None:
    from mergeway_mcp.repository.identity import id_text

    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else id_text(value)


def get(options: Options) -> Answer:
    """`get`: one record."""
    snapshot = _snapshot(options)
    entity = _entity(snapshot.configuration, options.type or "")
    for name in (entity.name, *entity.descendants):
        try:
            record = snapshot.get(name, options.id)
            break
        except ObjectNotFound:
            continue
        except EngineError as error:
            raise CommandFailure(error.message) from None
    else:
        raise CommandFailure(
            f"{entity.name} has no record {options.id}; run {PROGRAM} list --type {entity.name} for the ids there are"
        )

    def draw(screen: Screen) -> None:
        from .documents import to_yaml_text

        file = display_path(snapshot.configuration.root, record["file"]) if "file" in record else "(inline)"
        screen.line((f"{record['type']} {record['id']}", "name"), (f"  {file}", "faint"))
        if record["fields"]:
            screen.verbatim(to_yaml_text(record["fields"]))

    return Answer(record, draw)


def export(options: Options) -> Answer:
    """`export`: the fields of all records."""
    snapshot = _snapshot(options)
    entities = snapshot.configuration.entities
    names = sorted({_entity(snapshot.configuration, name).name for name in options.names} or entities)
    return Answer({
        name: [row.fields for row in _rows(snapshot, entities[name], with_fields=True)] for name in names
    })


def files(options: Options) -> Answer:
    """`files`: the files that hold records."""
    snapshot = _snapshot(options)
    name = None if options.type is None else _entity(snapshot.configuration, options.type).name
    listed = snapshot.files(name)
    grouped: dict[str, list[str]] = {}
    for entry in listed:
        grouped.setdefault(entry["type"], []).append(entry["file"])

    def draw(screen: Screen) -> None:
        if not listed:
            screen.line("No files.")
        elif options.group:
            for entity, paths in grouped.items():
                screen.line((entity, "name"))
                for path in paths:
                    screen.line("  ", path)
        else:
            screen.table(["ENTITY", "FILE"], [((entry["type"], "name"), entry["file"]) for entry in listed])

    return Answer(grouped if options.group else listed, draw)


COMMAND_FUNCTIONS: Final[dict[str, Callable[[Options], Answer]]] = {
    "validate": validate,
    "entity list": entity_list,
    "entity show": entity_show,
    "list": list_records,
    "get": get,
    "export": export,
    "files": files,
    "config lint": config_lint,
}


_SEVERITY_TONES: Final[dict[str, Tone]] = {"error": "bad", "warning": "warning"}


def _capitalised(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding with the member names it has in JSON, which are those of the recorded reference."""
    return {"ID" if name == "id" else name.capitalize(): value for name, value in finding.items()}


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _root(options: Options) -> str:
    try:
        root = os.path.abspath(options.root)
    except OSError:  # the working directory was removed
        raise CommandFailure(
            f"the working directory is gone; give --root an absolute path to the folder with {ENTRY_NAMES[0]}"
        ) from None
    if not os.path.isdir(root):
        problem = "is not a folder" if os.path.exists(root) else "does not exist"
        raise CommandFailure(
            f"the root {options.root} {problem}; give --root the folder with {ENTRY_NAMES[0]}"
        )
    return root


def _entry(options: Options) -> str:
    """The entry file: the one named, else `mergeway.yaml` in the root, else `mergeway.yml` if only that exists."""
    root = _root(options)
    if options.config is not None:
        if not os.path.exists(options.config):
            raise CommandFailure(
                f"the configuration {options.config} does not exist; --config is relative to the working folder"
            )
        return os.path.abspath(options.config)
    for name in ENTRY_NAMES:
        path = os.path.join(root, name)
        if os.path.lexists(path):
            return path
    raise CommandFailure(
        f"there is no {ENTRY_NAMES[0]} in {options.root or os.curdir}; create one, or name the repository with --root or --config"
    )


def _repository(options: Options) -> Repository:
    return Repository(_root(options), config=_entry(options))


def _configuration(options: Options) -> Configuration:
    return _repository(options).load_config()


def _snapshot(options: Options) -> Snapshot:
    try:
        return _repository(options).snapshot()
    except RepositoryError as error:
        raise CommandFailure(
            f"{error.message} (run {PROGRAM} validate for everything that is wrong)"
        ) from None


def _entity(configuration: Configuration, name: str) -> Entity:
    entity = configuration.entities.get(name)
    if entity is not None:
        return entity
    near = difflib.get_close_matches(name[:100], configuration.entities, n=1)
    hint = f"did you mean {near[0]}?" if near else f"run {PROGRAM} entity list for the names there are"
    raise CommandFailure(f"there is no entity {name}; {hint}")

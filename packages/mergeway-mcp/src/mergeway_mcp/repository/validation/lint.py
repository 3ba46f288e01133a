"""Looks at a configuration that loads, for what will go wrong later or was probably not meant.

Errors make records invalid or the repository unservable as soon as there is something to apply them to: patterns,
includes and selectors that cannot be read, defaults that do not fit their field. Warnings are about what has no
effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from mergeway_mcp.repository.errors import RepositoryError, display_path, printable
from mergeway_mcp.repository.freshness import Disk, Look
from mergeway_mcp.repository.globs import BadPattern, parse_pattern
from mergeway_mcp.repository.reading import FileSystem
from mergeway_mcp.repository.schema import Configuration, Entity, Field
from mergeway_mcp.repository.selectors import SelectorFault, compile_selector

from .field_values import field_faults
from .patterns import compile_pattern
from .text_formats import TEXT_FORMATS

Severity = Literal["error", "warning"]


class LintFinding(NamedTuple):
    """Something about the configuration.

    Attributes:
        severity: `error` or `warning`.
        type: Entity.
        field: Path of field and property names, `identifier`, or `include`.
        file: Configuration file, from the root.
        message: What is wrong and what to do. Quotes nothing.
    """

    severity: Severity
    type: str
    field: str
    file: str
    message: str


def lint(configuration: Configuration, *, system: FileSystem | None = None) -> tuple[LintFinding, ...]:
    """Look at a configuration.

    Args:
        configuration: As loaded.
        system: Calls to the disk, for tests.

    Returns:
        What was found, in order of entity and declaration.
    """
    look = Look(Disk(system if system is not None else FileSystem(), None))
    found: list[LintFinding] = []
    for entity in configuration.entities.values():
        file = printable(display_path(configuration.root, entity.file) or entity.file)
        # What is inherited is reported where it is declared.
        inherited = {name for parent in entity.ancestors for name in configuration.entities[parent].fields}
        own = {name: field for name, field in entity.fields.items() if name not in inherited}
        for severity, field, message in (
            *_identifier(entity),
            *_fields(own, "", from_json_schema=bool(entity.json_schema)),
            *_includes(configuration.root, entity, look),
        ):
            found.append(LintFinding(severity, entity.name, field, file, message))
    return tuple(found)


_Remark = tuple[Severity, str, str]


def _identifier(entity: Entity) -> Iterator[_Remark]:
    pattern = entity.identifier.pattern
    if pattern and not entity.ancestors and compile_pattern(pattern) is None:
        yield "error", "identifier", "the pattern is no RE2 expression; every record will be invalid"


def _fields(fields: Mapping[str, Field], prefix: str, *, from_json_schema: bool) -> Iterator[_Remark]:
    for field in fields.values():
        path = prefix + field.name
        if field.pattern:
            if compile_pattern(field.pattern) is None:
                yield "error", path, "the pattern is no RE2 expression; every value will be invalid"
            if field.type not in {"string", "enum"}:
                yield "warning", path, f"a pattern has no effect on type {field.type}"
        if field.format and field.type in {"string", "enum"} and field.format not in TEXT_FORMATS:
            yield "warning", path, f"the format has no effect; known are {', '.join(TEXT_FORMATS)}"
        if field.type == "enum" and not field.enum:
            yield "warning", path, "the enum lists no values, so it takes any text"
        if field.default is not None:
            for fault in field_faults(field, {}, prefix=prefix, from_json_schema=from_json_schema):
                yield "error", path, f"the default does not fit: {fault}"
        if field.properties:
            if _has_reference(field.properties):
                yield "warning", path, "references inside properties are not checked against records"
            yield from _fields(field.properties, f"{path}.", from_json_schema=from_json_schema)


def _has_reference(properties: Mapping[str, Field]) -> bool:
    return any(field.reference_types for field in properties.values())


def _includes(root: str, entity: Entity, look: Look) -> Iterator[_Remark]:
    matched: dict[str, int] = {}
    for number, include in enumerate(entity.includes, start=1):
        if include.selector:
            try:
                compile_selector(include.selector)
            except SelectorFault as fault:
                yield "error", "include", f"the selector of include {number} cannot be read: {fault.reason}"
        try:
            paths = parse_pattern(root, include.path).expand(lambda folder: look.folder(folder).names)
            paths = [path for path in paths if look.file(path).kind not in {"missing", "folder"}]
        except BadPattern as fault:
            yield "error", "include", f"include {number} cannot be evaluated: {fault.reason}"
            continue
        except RepositoryError as fault:
            yield "error", "include", f"include {number}: {fault.reason}"
            continue
        if not paths:
            yield "warning", "include", f"include {number} matches no file"
        if include.selector:
            continue
        again = sum(path in matched for path in paths)
        if again:
            first = min(matched[path] for path in paths if path in matched)
            yield (
                "warning",
                "include",
                f"include {number} matches files that include {first} matches too; their records count twice",
            )
        for path in paths:
            matched.setdefault(path, number)

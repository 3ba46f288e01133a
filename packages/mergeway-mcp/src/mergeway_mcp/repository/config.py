"""Loads the configuration of a repository: the entry file, what it includes, and the JSON Schemas it names.

Everything is read through a `Look`, so that the caller can tell later, from file status alone, whether any of it has
changed.
"""

from __future__ import annotations

import os
from typing import Final

from .confinement import Confinement
from .declarations import ENTITY_NAME, Declaration, Place, check_sources, member_map, members, read_entity
from .errors import RepositoryError, display_path, in_words
from .freshness import Look
from .globs import BadPattern, parse_pattern
from .inheritance import resolve
from .json_schema import read_json_schema
from .reading import ReadFault
from .schema import Configuration
from .yaml import Node, YamlError, compose, decode_int_typed, decode_text

#: Names of the entry file, in order of preference.
ENTRY_NAMES: Final = ("mergeway.yaml", "mergeway.yml")
SUPPORTED_VERSION: Final = 1

#: Files one configuration may be made of, repeated ones counted again, and how deep they may include each other.
MAX_CONFIG_FILES: Final = 1_000
MAX_INCLUDE_DEPTH: Final = 64


def load_configuration(
    root: str, look: Look, *, entry: str | None = None, confinement: Confinement | None = None
) -> Configuration:
    """Load and check a whole configuration.

    Args:
        root: Absolute repository root.
        look: Through which files are read.
        entry: Absolute path of the entry file; None looks for `mergeway.yaml`, then `mergeway.yml`, in the root.
        confinement: Refuses what leaves the root, or None.

    Raises:
        RepositoryError: There is none, or it breaks a rule.
    """
    loader = _Loader(root, look, confinement)
    path = entry if entry is not None else _find_entry(root, look)
    loader.load(path, ())
    declarations = {
        name: loader.with_json_schema(loader.declarations[name]) for name in sorted(loader.declarations)
    }
    for declaration in declarations.values():
        loader.check_include_paths(declaration)
    order = {
        name: (declaration.field_order or None)
        if not declaration.json_schema
        else (tuple(declaration.fields) or None)
        for name, declaration in declarations.items()
    }
    return Configuration(root, path, resolve(declarations, order))


def _find_entry(root: str, look: Look) -> str:
    for name in ENTRY_NAMES:
        path = os.path.join(root, name)
        if look.file(path).kind not in {"missing", "folder"}:
            return path
    raise RepositoryError(
        f"no {ENTRY_NAMES[0]} or {ENTRY_NAMES[1]} in this folder; create one or correct the root", file=root
    )


class _Loader:
    """One loading of a configuration."""

    def __init__(self, root: str, look: Look, confinement: Confinement | None) -> None:
        self._root = root
        self._look = look
        self._confinement = confinement
        self._loaded = 0
        self.declarations: dict[str, Declaration] = {}

    def load(self, path: str, chain: tuple[str, ...]) -> None:
        """Read one file: first what it includes, then its own entities."""
        place = Place(path, included=bool(chain))
        self._loaded += 1
        if self._loaded > MAX_CONFIG_FILES:
            raise place.fault(f"the configuration includes more than {MAX_CONFIG_FILES} files")
        if len(chain) >= MAX_INCLUDE_DEPTH:
            raise place.fault(f"includes are nested more than {MAX_INCLUDE_DEPTH} deep")
        try:
            document = compose(self._read(path, place))
        except YamlError as error:
            raise place.yaml_fault(error) from None
        body = member_map(place, document, "the configuration")
        _check_version(place, body.get("mergeway"))
        for pattern in _include_patterns(place, body.get("include")):
            for included in self._expand(place, pattern):
                if included in chain or included == path:
                    raise place.fault("the file is included by itself, directly or through others")
                self.load(included, (*chain, path))
        self._declare(place, body.get("entities"))

    def _declare(self, place: Place, node: Node | None) -> None:
        for name, key, value in sorted(members(place, node, "entities"), key=lambda member: member[0]):
            if not ENTITY_NAME.fullmatch(name):
                raise place.fault(
                    "an entity name must begin with a capital letter and hold only letters, digits, _ and -",
                    key,
                )
            declaration = read_entity(name, value, place._replace(entity=name))
            earlier = self.declarations.get(name)
            if earlier is not None:
                where = declaration.place._replace(included=declaration.included or earlier.included)
                raise where.fault(
                    "the entity is defined twice, first in "
                    + in_words(display_path(self._root, earlier.file) or earlier.file),
                    key,
                )
            self.declarations[name] = declaration

    def with_json_schema(self, declaration: Declaration) -> Declaration:
        """The declaration with the fields of its JSON Schema, if it names one."""
        if not declaration.json_schema:
            return declaration
        path = os.path.normpath(os.path.join(os.path.dirname(declaration.file), declaration.json_schema))
        place = declaration.place._replace(file=path)
        self._require_written_inside(path, place)
        fields = read_json_schema(self._read(path, place), place)
        check_sources(fields, declaration.identifier, declaration.inline_data, place)
        return declaration._replace(fields=fields)

    def check_include_paths(self, declaration: Declaration) -> None:
        """Under confinement, refuse data includes that are written to leave the root before anything is read."""
        if self._confinement is None:
            return
        for include in declaration.includes:
            try:
                pattern = parse_pattern(self._root, include.path)
            except BadPattern:
                continue  # reported when it is evaluated
            self._require_written_inside(pattern.base, declaration.place)

    def _expand(self, place: Place, text: str) -> list[str]:
        try:
            pattern = parse_pattern(os.path.dirname(place.file), text)
            self._require_written_inside(pattern.base, place)
            paths = pattern.expand(lambda folder: self._look.folder(folder).names)
        except BadPattern as error:
            raise place.fault(f"include: {error.reason}") from None
        except RepositoryError as error:
            raise place.fault(f"include {error.reason}") from None
        if not pattern.segments:
            paths = [path for path in paths if self._look.file(path).kind != "missing"]
        if not paths:
            raise place.fault("an include matches no file")
        return paths

    def _read(self, path: str, place: Place) -> bytes:
        try:
            entry = self._look.file(path)
        except RepositoryError as error:
            raise place.fault(error.reason) from None
        if entry.kind == "file":
            # Kept: a file may be included twice, or be data as well.
            return self._look.content(entry, keep=True)
        reasons = {"missing": "the file does not exist", "folder": "this is a folder where a file is needed"}
        raise place.fault(reasons.get(entry.kind, entry.reason))

    def _require_written_inside(self, path: str, place: Place) -> None:
        if self._confinement is None:
            return
        try:
            self._confinement.require_written_inside(path)
        except ReadFault as fault:
            raise place.fault(f"a path {fault.reason}") from None


def _check_version(place: Place, node: Node | None) -> None:
    if node is None or node.is_null:
        raise place.fault(f"the block mergeway with version: {SUPPORTED_VERSION} is missing")
    version = member_map(place, node, "mergeway").get("version")
    if version is None or version.is_null:
        raise place.fault(f"mergeway.version is missing; write version: {SUPPORTED_VERSION}")
    if place.decoded(decode_int_typed, version) != SUPPORTED_VERSION:
        raise place.fault(f"mergeway.version is not supported; only {SUPPORTED_VERSION} is", version)


def _include_patterns(place: Place, node: Node | None) -> list[str]:
    if node is None or node.is_null:
        return []
    if node.kind != "sequence":
        raise place.fault("include must be a list of paths", node)
    return [place.decoded(decode_text, entry) for entry in node.items]
